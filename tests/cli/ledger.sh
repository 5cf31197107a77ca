# assay ledger: cards swapped, moved, returned; firmware changed and mixed; bad input.
. "$(dirname "$0")/lib.sh"
cd "$tmp" || exit 3
card() { # ID NODE PCI VBIOS [BAD]
	printf '{"id":"%s","node":"%s","pci":"%s","name":"NVIDIA A100","vbios":"%s"%s}' "$1" "$2" "$3" "$4" "${5:+,\"bad\":\"$5\"}"
}
line() { # RUN TIME DRIVER CARDS
	printf '{"v":1,"run":"%s","time":"%s","nodes":[{"name":"n1","driver":"%s"},{"name":"n2"}],"cards":[%s]}\n' "$1" "$2" "$3" "$4"
}
expect 3 "$ASSAY" ledger show; says "no run in it yet"; one_line
expect 3 "$ASSAY" ledger add; says "needs the run directory"; one_line
expect 3 "$ASSAY" ledger show x; says "takes no run directory"; one_line
expect 3 "$ASSAY" ledger look; says "the verbs are add DIR and show"; one_line
expect 3 "$ASSAY" ledger add "$tmp/nobody"; one_line

line r1 day1 550 "$(card A n1 p0 v1),$(card B n1 p1 v1 'gemm-fp16: slow'),$(card C n2 p0 v1),$(card D n2 p1 v1)" >l
expect 0 "$ASSAY" ledger show --ledger l; prints "nothing was swapped"
line r2 day2 550 "$(card A n1 p0 v1),$(card E n1 p1 v1),$(card C n2 p0 v2)" >>l
expect 0 "$ASSAY" ledger show --ledger l
prints "n1 p1: B until day2, now E: the card was swapped"
prints "D of n2 p1 is not there since day2"
prints "C: VBIOS was v1, is v2"
prints "NVIDIA A100: 2 of the cards have VBIOS v1, others v2"
prints_not "is back"
line r3 day3 570 "$(card C n1 p0 v2),$(card A n2 p0 v2),$(card B n2 p1 v2)" >>l
expect 0 "$ASSAY" ledger show --ledger l
prints "A moved: n1 p0 until day3, now n2 p0"
prints "B was bad on day1 (gemm-fp16: slow) and is back on n2 p1"
prints "n1: driver was 550, is 570"
line r4 day4 570 "$(card B n2 p1 v2 'again')" >>l
line r5 day5 570 "$(card B n2 p1 v2)" >>l
expect 0 "$ASSAY" ledger show --ledger l
prints "B was bad on day4 (again) and is still there, on n2 p1"
LC_ALL=C.UTF-8 expect 0 "$ASSAY" ledger show --ledger l --lang zh; prints "卡被更换"
# A machine under another name, a node that went, boards and steppings that are mixed, a
# clock that was set back.
node() { printf '{"name":"%s","machine_id":"%s","driver":"%s"}' "$1" "$2" "$3"; }
chip() { printf '{"id":"%s","node":"n1","name":"NVIDIA A100","vbios":"v","gsp":"g%s","board":"10de:20b2 10de:%s","revision":"%s"}' "$@"; }
nodes() { printf '{"v":1,"run":"%s","time":"%s","nodes":[%s],"cards":[%s]}\n' "$1" "$2" "$3" "$4"; }
nodes r1 2026-03-02 "$(node n1 m1 550),$(node n2 m2 550),$(node n3 m3 550)" "" >k
expect 0 "$ASSAY" ledger show --ledger k; prints "nothing was swapped"
nodes r2 2026-03-01 "$(node n1 m1 550),$(node n4 m2 570)" "$(chip A 1 1463 a1),$(chip B 1 1463 a1),$(chip C 2 147f a2)" >>k
expect 0 "$ASSAY" ledger show --ledger k
prints "run r2 of 2026-03-01 is older by the clock than the one added before it, of 2026-03-02"
prints "node n2 is n4 since 2026-03-01: the same machine-id"
prints "node n3 is not there since"
prints "nodes: 1 of them have driver 550, others 570"
prints "NVIDIA A100: 2 of the cards have GSP g1, others g2"
prints "NVIDIA A100: 2 of the cards have PCI 10de:20b2 10de:1463, others 10de:20b2 10de:147f"
prints "NVIDIA A100: 2 of the cards have PCI revision a1, others a2"
LC_ALL=C.UTF-8 expect 0 "$ASSAY" ledger show --ledger k --lang zh; prints "时钟是否被拨回"; prints "驱动为 550"
echo 'no json' >>l
expect 3 "$ASSAY" ledger show --ledger l; says "l:6"; one_line

# A real run is judged as it is added, and added once.
"$ASSAY" run --budget quick --only inventory --out run >/dev/null 2>&1 </dev/null
expect 0 "$ASSAY" ledger add run --ledger m; prints "added; nodes: 1"
expect 0 "$ASSAY" ledger add run --ledger m; prints "nothing was added"
[ "$(wc -l <m)" = 1 ] || fail "added twice"
# With cards: what the bus tells of board and stepping is kept.
standin=$(dirname "$ASSAY")/tests/standin
if [ -e "$standin/lib/libcuda.so.1" ]; then
	export ASSAY_STANDIN=$tmp/node.json
	echo '{"cards":[{"model":"h100-sxm5-80gb"}],"count":2}' >"$tmp/node.json"
	"$standin/standin_tree" "$tmp/tree" || fail "standin_tree"
	"$ASSAY" run --budget quick --only inventory --lib-dir "$standin/lib" --sys-root "$tmp/tree" --out cards >/dev/null 2>&1 </dev/null
	expect 0 "$ASSAY" ledger add cards --ledger c
	grep -q '"board":"10de:[0-9a-f]\{4\} [0-9a-f]\{4\}:[0-9a-f]\{4\}","revision":"a1"' c && grep -q '"serial":"[0-9]\{13\}"' c || fail "no board in $(cat c)"
fi
expect 0 "$ASSAY" ledger show --ledger m; prints "runs: 1"
