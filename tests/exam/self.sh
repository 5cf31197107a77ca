# scripts/exam itself: what it expects must come, and what it does not must not.
. "$(dirname "$0")/../cli/lib.sh"
build=$(cd "$(dirname "$ASSAY")" && pwd)
[ -x "$build/tests/standin/standin_tree" ] || skip "not built: standin"
catalogue=$tmp/faults
mkdir "$catalogue"
# exam CODE ARGS...: the exam of that catalogue.
exam() {
	local want=$1
	shift
	expect "$want" "$source_dir/scripts/exam" --build "$build" --faults "$catalogue" --clean 0 "$@"
}
slow='"faults": [{"kind": "slow", "card": 1, "factor": 0.8, "of": "compute"}]'
node='"title": "t", "node": "a100-8", "change": {"count": 2}'
put() { printf '{%s}\n' "$2" >"$catalogue/$1.json"; }

put found "$node, $slow, \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 0 --clean 1 --cases "$tmp/cases"
prints "detected and located 1 of 1, false alarms 0 of 2"
[ "$(cut -f 1,2 "$tmp/cases" | sort | tr '\t\n' ' ;')" = "1 clean nodes pass;found pass;" ] || fail "cases: $(cat "$tmp/cases")"
# The same catalogue as a table.
exam 0 --table
prints "| t | gemm-fp16: fail | card 1 | REJECT |"

# A finding that does not come.
put found "$node, $slow, \"expect\": [{\"rule\": \"memory-right\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 1
prints "no memory-right of 1: fail"
prints "detected and located 0 of 1"
# It comes, of another card: not located, and the other one is blamed falsely.
put found "$node, $slow, \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 0, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 1
prints "no gemm-fp16 of 0: fail"
prints "false blame: gemm-fp16 of 1: fail"
prints "detected and located 0 of 1, false alarms 1 of 1"
# It comes with other words, or with another verdict.
put found "$node, $slow, \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\", \"says\": \"hangs\"}], \"verdict\": \"REJECT\""
exam 1
prints 'that says "hangs"'
put found "$node, $slow, \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"INCOMPLETE\""
exam 1
prints "verdict REJECT, not INCOMPLETE"
# No scorecard at all.
put found "$node, $slow, \"settings\": [\"gemm.nonsense=1\"], \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 1
prints "no scorecard"
prints "nonsense"
# A healthy node that is expected to be found guilty is none.
put found "$node, \"faults\": [], \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 1
prints "verdict ACCEPT, not REJECT"

# What cannot be run yet is said and counts as neither.
put found "$node, $slow, \"skip\": \"needs more\""
exam 0 --clean 0
prints "skip  found: needs more"
prints "detected and located 0 of 0"

# Drawn figures: found where they are planted, and not where they are not.
mkdir "$catalogue/generated"
drawn() { printf '{"low": {"title": "t", "change": [{"metric": "gemm_bf16_tflops", "node": 1, "card": 0, "value": %s}], "expect": [{"rule": "gemm-bf16", "subject": "node1 card 0", "verdict": "fail"}], "verdict": "REJECT"%s}}\n' "$1" "${2:-}" >"$catalogue/generated/cards.json"; }
drawn 200
exam 0 --kind drawn --drawn 2 --cases "$tmp/cases"
prints "detected and located 1 of 1, false alarms 0 of 3"
[ "$(cut -f 1,2 "$tmp/cases" | tr '\t\n' ' ;')" = "2 drawn clusters pass;low pass;" ] || fail "cases: $(cat "$tmp/cases")"
drawn 262
exam 1 --kind drawn
prints "no gemm-bf16 of node1 card 0: fail"
prints "verdict ACCEPT, not REJECT"
# The rule that it needs, and those that nothing of this catalogue needs.
drawn 200
exam 1 --kind drawn --mutate first
prints "rule  gemm-bf16: low (REJECT becomes ACCEPT)"
prints "rule  gemm-right: nothing: UNTESTED"
prints "gemm-right is needed by no fault of the catalogue"
prints "rules in turn: 1 leave a fault unnoticed"
drawn '"fast"'
exam 1 --kind drawn
prints "not_measured"
drawn 200 ', "node": "a100-8"'
exam 3 --kind drawn
says "unknown members node"
put low "$node, $slow, \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
drawn 200
exam 3
says "two faults low"
rm -r "$catalogue/generated" "$catalogue/low.json"

# A catalogue that is wrong, and options that are.
put found "$node, $slow, \"expected\": []"
exam 3
says "expected"
put found "$node, $slow, \"expect\": [{\"rule\": \"gemm-fp16\"}], \"verdict\": \"REJECT\""
exam 3
says "an expected finding has rule, subject and verdict"
put found "$node, $slow, \"expect\": [], \"verdict\": \"REJECT\""
exam 3
says "without an expected finding"
put found "$node, $slow, \"nodes\": {\"count\": 2, \"2\": {}}, \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 3
says "no node 2 among 2"
put found "$node, $slow, \"nodes\": {\"2\": {}}, \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 3
says '"count" of its nodes'
put found "\"title\": "
exam 3
says "found.json"
put found "$node, \"faults\": [{\"kind\": \"nonsense\"}], \"expect\": [{\"rule\": \"gemm-fp16\", \"subject\": 1, \"verdict\": \"fail\"}], \"verdict\": \"REJECT\""
exam 3
says "nonsense"
exam 3 --only nobody
says "no fault nobody"
expect 3 "$source_dir/scripts/exam" --build "$tmp"
says "not there"
expect 3 "$source_dir/scripts/exam" --clean many
