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
echo 'no json' >>l
expect 3 "$ASSAY" ledger show --ledger l; says "l:6"; one_line

# A real run is judged as it is added, and added once.
"$ASSAY" run --budget quick --only inventory --out run >/dev/null 2>&1 </dev/null
expect 0 "$ASSAY" ledger add run --ledger m; prints "added; nodes: 1"
expect 0 "$ASSAY" ledger add run --ledger m; prints "nothing was added"
[ "$(wc -l <m)" = 1 ] || fail "added twice"
expect 0 "$ASSAY" ledger show --ledger m; prints "runs: 1"
