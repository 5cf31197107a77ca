# One set of options for reports: every command takes them, files are whole or not there,
# and what cannot be written is said before anything is done.
. "$(dirname "$0")/lib.sh"
"$(dirname "$ASSAY")/tests/perf/make_journal" 3 8 120 "$tmp/a" >/dev/null || fail "make_journal"
"$(dirname "$ASSAY")/tests/perf/make_journal" 2 8 120 "$tmp/b" >/dev/null || fail "make_journal"
files() {
	rm -rf "$tmp/o"
	mkdir "$tmp/o"
	expect "$@" --html "$tmp/o/x.html" --markdown "$tmp/o/x.md" --csv "$tmp/o/x.csv" --json "$tmp/o/x.json" --junit "$tmp/o/x.xml"
	[ "$(ls "$tmp/o" | tr '\n' ' ')" = "x.csv x.html x.json x.md x.xml " ] || fail "$*: $(ls "$tmp/o")"
	for f in "$tmp"/o/*; do [ -s "$f" ] || fail "$*: $f is empty"; done
}
files 2 "$ASSAY" score "$tmp/a"
prints "INCOMPLETE"
files 0 "$ASSAY" report "$tmp/a"
[ -z "$out" ] || fail "report prints beside its files"
files 0 "$ASSAY" compare "$tmp/a" "$tmp/b" guide-class-1
python3 - "$tmp/o" "$source_dir/configs/schemas" <<'PYTHON' || fail "the comparison's files"
import json, sys
import xml.etree.ElementTree as xml
d = json.load(open(sys.argv[1] + "/x.json"))
root = xml.parse(sys.argv[1] + "/x.xml").getroot()
assert [s.get("name") for s in root] == [c["name"] for c in d["columns"]]
for k, suite in enumerate(root):
    cells = [f["cells"][k] for f in d["figures"]]
    assert int(suite.get("tests")) == len(suite) == len(cells)
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped")) == sum(not c or c["origin"] == "declared" for c in cells)
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure")) == sum(bool(c) and c["origin"] != "declared" and c["verdict"] == "fail" for c in cells)
text = open(sys.argv[1] + "/x.md", encoding="utf-8").read()
assert all(c["name"].replace("-", "\\-") in text for c in d["columns"]) and "gemm\\_fp16\\_tflops" in text
try:
    import jsonschema
except ImportError:
    sys.exit(0)
jsonschema.validate(d, json.load(open(sys.argv[2] + "/comparison.schema.json")))
PYTHON
expect 2 "$ASSAY" score "$tmp/a" --json -
printf '%s' "$out" | python3 -c 'import json, sys; json.load(sys.stdin)' || fail "more than JSON on standard output"
# Bad places, before anything is judged or measured.
expect 3 "$ASSAY" score "$tmp/a" --json - --csv -; says "only one report"
expect 3 "$ASSAY" report "$tmp/a" --json "$tmp/same" --csv "$tmp/same"; says "both write"; one_line
expect 3 "$ASSAY" report "$tmp/a" --html "$tmp/none/x.html"; says "--html $tmp/none/x.html"; one_line
expect 3 "$ASSAY" report "$tmp/a" --html "$tmp/a"; says "--html"
expect 3 "$ASSAY" run --only inventory --out "$tmp/run" --html "$tmp/none/x.html"; says "--html"
[ ! -e "$tmp/run" ] || fail "it was measured all the same"
# What is no file is written to, and stays what it is.
mkfifo "$tmp/pipe"
cat "$tmp/pipe" >"$tmp/got" &
expect 0 "$ASSAY" report "$tmp/a" --markdown "$tmp/pipe"
wait
[ -p "$tmp/pipe" ] && [ -s "$tmp/got" ] || fail "the pipe was replaced"
expect 0 "$ASSAY" certificate "$tmp/a" --html "$tmp/c.html" --markdown "$tmp/c.md"
[ -s "$tmp/c.html" ] && [ -s "$tmp/c.md" ] || fail "no certificate"
