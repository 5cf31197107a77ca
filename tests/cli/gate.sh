# assay gate and assay baseline on real runs of a host without a GPU, and every command of
# the workflow files in scripts/ci.
. "$(dirname "$0")/lib.sh"

quick="--budget quick --only software,inventory"
export LC_ALL=C.UTF-8
code() {
	"$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null
	echo $?
}
[ "$(code "$ASSAY" run $quick --out "$tmp/golden")" -le 2 ] || fail "no run: $(cat "$tmp/.err")"
expect 0 "$ASSAY" verify "$tmp/golden"

expect 3 "$ASSAY" gate "$tmp/golden"; says "give --baseline DIR"; one_line
expect 3 "$ASSAY" gate "$tmp/golden" --baseline "$tmp/nobody"; says "nobody"; one_line
expect 3 "$ASSAY" gate "$tmp/golden" --baseline "$tmp/golden" --tolerance "$tmp/nobody"; one_line
printf '{"v":1,"classes":[{"pattern":"*","class":"bad"}]}' >"$tmp/bad.json"
expect 3 "$ASSAY" gate "$tmp/golden" --baseline "$tmp/golden" --tolerance "$tmp/bad.json"
says "bad.json:1:19"; one_line
expect 3 "$ASSAY" baseline reject "$tmp/golden"; says "the only verb is accept"; one_line

# The runs of two sizes of one cluster, with figures that are the same.
"$(dirname "$ASSAY")/tests/perf/make_journal" 3 8 120 "$tmp/a" >/dev/null || fail "make_journal"
"$(dirname "$ASSAY")/tests/perf/make_journal" 3 8 120 "$tmp/b" >/dev/null || fail "make_journal"
expect 0 "$ASSAY" gate "$tmp/a" --baseline "$tmp/b"
prints "SAME OR BETTER"
prints "was never accepted"
expect 0 "$ASSAY" baseline accept "$tmp/b"
prints "is a baseline now"
expect 0 "$ASSAY" gate "$tmp/a" --baseline "$tmp/b"
prints_not "never accepted"
expect 0 "$ASSAY" gate "$tmp/a" --baseline "$tmp/b" --lang zh
prints "相同或更好"
expect 3 "$ASSAY" gate "$tmp/golden" --baseline "$tmp/a"; says "no figure in common"; one_line
# What it said is kept beside the run: every report of it has it, in both languages.
NCCL_IB_HCA=mlx5_9 "$ASSAY" run $quick --out "$tmp/other" >"$tmp/.out" 2>&1 </dev/null
expect 0 "$ASSAY" report "$tmp/other" --markdown -; prints_not "REGRESSED"
expect 1 "$ASSAY" gate "$tmp/other" --baseline "$tmp/golden" --junit "$tmp/gate.xml"
expect 0 "$ASSAY" report "$tmp/other" --html "$tmp/other.html" --junit "$tmp/other.xml" --terminal
prints "the gate, beside $tmp/golden: REGRESSED"
expect 0 "$ASSAY" report "$tmp/other" --markdown -; prints "REGRESSED; baselines"; prints "NCCL\_IB\_HCA"
expect 0 "$ASSAY" report "$tmp/other" --markdown - --lang zh; prints "门禁"; prints "NCCL\_IB\_HCA"
expect 0 "$ASSAY" compare "$tmp/golden" "$tmp/other" --markdown -; prints "software and gate"; prints "REGRESSED"
python3 - "$tmp/other.xml" "$tmp/gate.xml" "$tmp/other.html" <<-'END' || fail "reports of a gate"
	import sys, xml.etree.ElementTree as x
	suites = {s.get("name"): s for s in x.parse(sys.argv[1]).getroot()}
	alone = x.parse(sys.argv[2]).getroot().find("testsuite")
	assert int(suites["gate"].get("failures")) == int(alone.get("failures")) >= 1
	assert any("NCCL_IB_HCA" in c.get("name") for c in suites["gate"])
	assert suites["software"].find("testcase") is not None
	assert "REGRESSED" in open(sys.argv[3]).read()
END
# Of another record, or rubbish: said, and not shown.
cp "$tmp/other/gate.json" "$tmp/golden/gate.json"
expect 0 "$ASSAY" report "$tmp/golden" --markdown -; says "another record"; one_line; prints_not "REGRESSED"
echo rubbish >"$tmp/golden/gate.json"
expect 0 "$ASSAY" report "$tmp/golden" --markdown -; says "gate.json is left out"; one_line
rm "$tmp/golden/gate.json"

# A baseline of a later version of Assay.
cp -r "$tmp/b" "$tmp/later"
sed -i 's/"v": *1,/"v":99,/' "$tmp/later/run.json"
expect 3 "$ASSAY" gate "$tmp/a" --baseline "$tmp/later"; says "later/run.json"; one_line

# A baseline altered after the fact.
cp -r "$tmp/b" "$tmp/c"
sed -i '4s/"node":"/"node":"x/' "$tmp/c/readings.jsonl"
expect 3 "$ASSAY" gate "$tmp/a" --baseline "$tmp/c"; says "altered"; one_line
expect 3 "$ASSAY" baseline accept "$tmp/c"; says "altered"; one_line

# The workflow files, as a CI system would: each command by a shell of its own.
mkdir -p "$tmp/ci/assay" "$tmp/ci/baselines"
printf '#!/bin/sh\nexec "%s" "$@"\n' "$ASSAY" >"$tmp/ci/assay/assay"
chmod +x "$tmp/ci/assay/assay"
[ "$(code "$ASSAY" run $quick --set software.seconds=60 --out "$tmp/ci/baselines/golden")" -le 2 ] || fail "no baseline"
expect 0 "$ASSAY" baseline accept "$tmp/ci/baselines/golden"
for file in github-actions gitlab-ci; do
	rm -rf "$tmp/ci/run-now"
	sed -n 's/^ *run: //p; s/^    - \(assay.*\)/\1/p' "$source_dir/scripts/ci/$file.yml" >"$tmp/commands"
	[ "$(wc -l <"$tmp/commands")" = 5 ] || fail "$file: not five commands"
	[ "$(grep -c 'assay/assay' "$source_dir/scripts/ci/$file.yml")" = 5 ] || fail "$file: a command that no test runs"
	while read -r command; do
		(cd "$tmp/ci" && sh -c "$command") >"$tmp/.out" 2>"$tmp/.err" </dev/null ||
			fail "$file: $command: exit $? $(tail -n 3 "$tmp/.err") $(tail -n 12 "$tmp/.out")"
	done <"$tmp/commands"
	python3 -c '
import sys, xml.etree.ElementTree as x
s = x.parse(sys.argv[1]).getroot().find("testsuite")
assert int(s.get("tests")) == len(s.findall("testcase")) >= 1 and s.get("failures") == "0"' "$tmp/ci/gate.xml" || fail "$file: gate.xml"
	[ -s "$tmp/ci/report.html" ] || fail "$file: no report"
done
