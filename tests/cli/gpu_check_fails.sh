# What goes wrong in one step of scripts/gpu-check is said, and the others run.
. "$(dirname "$0")/gpu_lib.sh"
step() { python3 -c '
import json, sys
print(next(str(s["reason"]) for s in json.load(open(sys.argv[1])) if s["step"] == sys.argv[2]))' "$tmp/$1/steps.json" "$2"; }
reason() { case $(step "$1" "$2") in *"$3"*) ;; *) fail "$1, $2: $(step "$1" "$2") does not say: $3" ;; esac }

# Usage.
expect 3 check usage --limit dancing=3
says "with a step of: inventory"
expect 3 check usage --nonsense
expect 3 check usage --pairs 0
mkdir -p "$tmp/full/runs"
expect 3 check full
says "not there yet or is empty"
expect 3 python3 "$source_dir/scripts/gpu-check" --assay "$tmp/none" --out "$tmp/usage"
says "no program"

# No GPU: said, exit 1.
mkdir "$tmp/empty"
expect 1 check nothing --lib-dir "$tmp/empty"
prints "no GPU here that could be checked"
[ -s "$tmp/nothing/summary.txt" ] || fail "no summary without a GPU"

# As it lies in the bundle, and interrupted: what was there until then is written.
mkdir "$tmp/bundle"
cp -r "$source_dir/scripts/gpu-check" "$source_dir/scripts/gpu_check" "$source_dir/configs/accelerators.csv" "$tmp/bundle"
cat >"$tmp/bundle/assay" <<SH
#!/bin/sh
case "\$*" in *"--only gemm"*) exec sleep 600 ;; esac
exec "$ASSAY" "\$@"
SH
chmod +x "$tmp/bundle/assay"
(cd "$tmp" && exec python3 bundle/gpu-check --lib-dir "$standin/lib" --out "$tmp/cut" >"$tmp/cut.log" 2>&1) &
child=$!
wait_until 30 test -e "$tmp/cut/runs/gemm.log" || fail "gemm did not start"
kill -TERM $child
wait $child
[ $? = 130 ] || fail "interrupted, and not 130"
grep -q "1 x\|2 x NVIDIA H200" "$tmp/cut/summary.txt" || fail "no summary after an interruption"
nothing_runs "$tmp/cut/" || fail "left running: $(live_processes "$tmp/cut/")"

# A library is missing, a card is wrong, a program crashes, another hangs, torch cannot do one precision.
cp -r "$standin/lib" "$tmp/lib"
rm "$tmp/lib/libnccl.so.2"
cat >"$tmp/assay" <<SH
#!/bin/sh
case "\$*" in *"--only jitter"*) exit 139 ;; *"--only p2p"*) sleep 600 ;; esac
exec "$ASSAY" "\$@"
SH
chmod +x "$tmp/assay"
sed 's/"count"/"faults": [{"kind": "wrong", "card": 1, "what": "tile", "of": "fp16", "after": 40, "every": 1}], "count"/' "$tmp/node.json" >"$tmp/wrong.json"
ASSAY_STANDIN=$tmp/wrong.json ASSAY_STANDIN_TORCH=${ASSAY_STANDIN_TORCH%\}}', "fails": ["fp8"]}' \
	expect 1 check broken --assay "$tmp/assay" --lib-dir "$tmp/lib" --pairs 1 --limit p2p=1.5
reason broken collective "libnccl"
reason broken jitter "exit code 139"
reason broken p2p "did not end within its time limit"
reason broken gemm "failed, first gemm_fp16_tflops"
reason broken memtest None
reason broken "gemm against torch" None
prints "torch has no fp8 product here: RuntimeError: fp8 is not supported on this card"
holds "$tmp/broken/ratios.json" 'len(d["rows"]) == 11 and not any(r["name"].startswith("fp8") for r in d["rows"])'
nothing_runs "$tmp/broken/" || fail "left running: $(live_processes "$tmp/broken/")"

# torch hangs, dies, sees no card, is not there.
only="--limit jitter=0 --limit memtest=0 --limit p2p=0 --limit collective=0"
torch() { printf '%s' "${ASSAY_STANDIN_TORCH%\}}, $1}"; }
ASSAY_STANDIN_TORCH=$(torch '"hangs": ["tf32"]') expect 1 check hangs $only --pairs 1 --limit "gemm against torch=4"
reason hangs "gemm against torch" "no answer to gemm within the time limit"
reason hangs "membw against torch" None
ASSAY_STANDIN_TORCH=$(torch '"dies": ["copy"]') expect 1 check dies $only --pairs 1
reason dies "gemm against torch" None
reason dies "membw against torch" "exit code 41"
ASSAY_STANDIN_TORCH=$(torch '"no_card": true') expect 1 check blind $only
reason blind "gemm against torch" "sees no card"
PYTHONPATH= expect 1 check without $only --python "$(command -v python3)"
if ! python3 -c 'import torch' 2>/dev/null; then reason without "gemm against torch" "No module named"; fi
