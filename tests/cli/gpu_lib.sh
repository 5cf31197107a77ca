# Sourced by the tests of scripts/gpu-check: a node of two slow stand-in cards, a
# stand-in torch that is faster by known factors, and how the script is called.
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v python3 >/dev/null || skip "no python3"
standin=$(dirname "$ASSAY")/tests/standin
[ -e "$standin/lib/libcuda.so.1" ] || skip "the stand-in libraries are not built"

# Slow, so that a window of small products is not a million calls.
cat >"$tmp/node.json" <<'JSON'
{"id": "gpu-check", "cards": [{"model": "h200-sxm-141gb", "is": {"memory_mib": "143771"}}], "count": 2, "achieved": 0.001,
 "memory_divisor": 4096}
JSON
export ASSAY_STANDIN=$tmp/node.json
export PYTHONPATH=$source_dir/tests/standin/python
# Assay reaches 0.97 of the best and 0.97 / 0.95 of the square product; 0.96 of the copy.
export ASSAY_STANDIN_TORCH='{"fp64": 0.035052, "fp32": 0.069072, "tf32": 0.51, "fp16": 1.02, "bf16": 1.02,
	"fp8": 2.040103, "copy_gbs": 5, "square": 0.95, "turned": 0.9}'
"$standin/standin_tree" "$tmp/tree" || fail "standin_tree"

# check NAME options...: into $tmp/NAME.
check() {
	local name=$1
	shift
	python3 "$source_dir/scripts/gpu-check" --assay "$ASSAY" --lib-dir "$standin/lib" --sys-root "$tmp/tree" \
		--out "$tmp/$name" --set gemm.card_order=256 --set gemm.window_s=0.002 --set membw.size=4194304 --set p2p.bytes=1048576 \
		--set collective.max_size=1048576 --set jitter.seconds=0.05 "$@"
}

# python 'expression': must be true; d is json.load of the file named first.
holds() {
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
sys.exit(not eval(sys.argv[2]))' "$1" "$2" || fail "$(basename "$1"): not so: $2"
}
