# A host that lies: shims before the vendor's libraries (LD_PRELOAD) that give cards other
# names and sizes, hand out products of an earlier run or none at all, and bend the clock.
# Each is found by a source that the shim does not hold. (A shim that holds all of them and
# computes at the right pace is a host that rewrites Assay: README says so.)
. "$(dirname "$0")/lib.sh"
build=$(cd "$(dirname "$ASSAY")" && pwd)
shim=$build/tests/exam/libshim.so
[ -e "$shim" ] && [ -x "$build/tests/standin/standin_tree" ] || skip "not built: shim, standin"

# node NAME MODEL: a card of that model, and what their kernel says.
node() {
	printf '{"cards": [{"model": "%s"}], "count": 1, "memory_divisor": 8192,\n' "$2" >"$tmp/$1.json"
	printf '"costs": {"host_call_ns": 2000, "copy_ns": 1, "collective_us": 0.001}}\n' >>"$tmp/$1.json"
	ASSAY_STANDIN=$tmp/$1.json "$build/tests/standin/standin_tree" "$tmp/$1"
}
node real a100-sxm4-80gb
node gaming rtx-4090
cat >"$tmp/profile.json" <<-END
	{"v": 1, "name": "hostile", "extends": "a100-sxm4-80gb", "expect": {"rdma": false, "shared_storage": false}}
END

# judged NODE SHIM PROBES [ORDER]: a run on that node with the shim in the way. Copies are
# faster than products from some order on.
judged() {
	rm -rf "$tmp/run"
	ASSAY_STANDIN=$tmp/$1.json ASSAY_SHIM=$2 LD_PRELOAD=$shim "$ASSAY" run --profile "$tmp/profile.json" --cards 1 \
		--suite "$source_dir/configs/suites/exam.json" --set gemm.card_order=${4:-128} --lib-dir "$build/tests/standin/lib" --only "$3" \
		--sys-root "$tmp/$1" --out "$tmp/run" >"$tmp/said" 2>&1 </dev/null
	code=$?
	[ $code = 1 ] || [ $code = 2 ] || fail "$2: exit $code: $(tail -n 3 "$tmp/said")"
	python3 - "$tmp/run/scorecard.json" >"$tmp/verdicts" <<-'END'
		import json, sys
		for f in json.load(open(sys.argv[1]))["findings"]:
		    print(f["rule"], f["verdict"], (f.get("reason") or {}).get("text") or "")
	END
}
# found RULE VERDICT [TEXT]; passed RULE
found() { grep -q "^$1 $2 .*${3:-}" "$tmp/verdicts" || fail "no $1: $2 ${3:-}: $(grep "^$1 " "$tmp/verdicts")"; }
passed() { found "$1" pass; ! grep -q "^$1 fail" "$tmp/verdicts" || fail "$1 fails"; }

# NVML gives a gaming card the name of an A100: PCI and CUDA do not.
judged gaming "name=NVIDIA A100-SXM4-80GB" inventory
passed identity-name
found identity-pci fail
found sources-agree fail
found identity-units fail
# CUDA is made to say the right number of units: it is slow all the same.
judged gaming units=108 inventory,gemm
passed identity-units
found gemm-fp16 fail

# The first of equal products is taken, the others are copies of it: right, and not work.
judged real canned gemm 512
passed gemm-right
found gemm-fp16-real fail
# No product is taken at all, in no time.
judged real nothing gemm
found gemm-fp16 not_measured "no measurable time"
# Products of an earlier run, whose seed was another one.
mkdir "$tmp/kept"
judged real "replay=$tmp/kept" gemm 384
passed gemm-right
for f in "$tmp"/kept/next-*; do
	[ -s "$f" ] || fail "the shim kept nothing"
	mv "$f" "$tmp/kept/${f##*-}"
done
judged real "replay=$tmp/kept" gemm 384
found gemm-right fail

# The host's clock runs slow, so that everything seems fast: the cards' clocks do not.
judged real host_clock=0.8 gemm
found gemm-fp16 fail clock
judged real host_clock=1.25 gemm
found gemm-fp16 fail clock
