# Waivers on the command line: granted with a run or after it, shown by every report,
# never silent, never for another record. And the profile that a run keeps.
. "$(dirname "$0")/lib.sh"
cat >"$tmp/p.json" <<'JSON'
{"v": 1, "name": "host", "criteria": [{"id": "1", "title": "host", "subjects": "node"}],
 "rules": [{"id": "some-cpus", "criterion": "1", "metric": "node_cpus", "unit": "1", "min": 1},
           {"id": "many-cpus", "criterion": "1", "metric": "node_cpus", "unit": "1", "min": 100000}]}
JSON
reason='one, "two" <b>=3</b>'
measure() { "$ASSAY" run --only inventory --cards 0 --profile "$tmp/p.json" "$@"; }

# Slips are said before anything is measured.
for slip in "--waive many-cpu --reason r" "--waive many-cpus" "--reason r" "--waive many-cpus --reason r --waive many-cpus --reason r" \
	"--waive many-cpus, --reason r" "--waived-by me"; do
	expect 3 measure --out "$tmp/slip" $slip
	one_line
	[ ! -e "$tmp/slip" ] || fail "$slip: something was measured"
done
expect 3 measure --out "$tmp/slip" --waive many-cpus --reason "  "

expect 1 measure --out "$tmp/plain"
expect 0 measure --out "$tmp/run" --waive many-cpus --reason "$reason" --waived-by "J. Doe" --html "$tmp/asked.html"
prints "ACCEPT with 1 waiver"
prints "without waivers REJECT"
prints "FAIL without it"
prints "J. Doe"
[ -s "$tmp/run/report.html" ] || fail "no report.html"
cmp -s "$tmp/run/report.html" "$tmp/asked.html" || fail "the page asked for is another one"
expect 0 "$ASSAY" bundle "$tmp/run" --out "$tmp/run.tar"
expect 0 "$ASSAY" verify "$tmp/run.tar"
prints "judged again: ACCEPT, byte for byte"
expect 2 measure --out "$tmp/strict" --strict --waive many-cpus --reason r
expect 3 "$ASSAY" run --resume "$tmp/run" --waive many-cpus --reason r
# One that is of no use in a run is said on its scorecard.
expect 1 measure --out "$tmp/idle" --waive some-cpus --reason r
prints "excuses nothing"

# The profile is kept: its file is not needed any more.
rm "$tmp/p.json"
expect 0 "$ASSAY" score "$tmp/run"
expect 2 "$ASSAY" score "$tmp/run" --strict
expect 0 "$ASSAY" report "$tmp/run" --html "$tmp/r.html" --markdown "$tmp/r.md" --csv "$tmp/r.csv" --json "$tmp/r.json" --junit "$tmp/r.xml"
python3 - "$tmp" "$source_dir/configs/schemas" "$reason" <<'PYTHON' || fail "a report hides the waiver"
import csv, json, sys
import xml.etree.ElementTree as xml
tmp, schemas, reason = sys.argv[1:]
card = json.load(open(tmp + "/r.json"))
assert card["overall"] == "ACCEPT" and card["overall_without_waivers"] == "REJECT" and card["waivers_used"] == 1
w, = card["waivers"]
assert w["rule"] == "many-cpus" and w["reason"] == reason and w["by"] == "J. Doe" and w["excused"] == 1 and w["decides"]
bad, = [f for f in card["findings"] if f["verdict"] == "fail"]
assert bad["waived"] == reason and isinstance(bad["value"], (int, float))
rule, = [r for r in card["rule_results"] if r["id"] == "many-cpus"]
assert rule["verdict_without_waivers"] == "fail" and rule["waived"] == 1
saved = json.load(open(tmp + "/run/scorecard.json"))
assert saved["waivers"] == card["waivers"] and saved["overall"] == "ACCEPT"
row, = [r for r in csv.DictReader(open(tmp + "/r.csv", newline="")) if r["waived"]]
assert row["verdict"] == "fail" and row["waived"] == reason and row["waived_by"] == "J. Doe" and row["value"]
skipped, = xml.parse(tmp + "/r.xml").getroot().iter("skipped")
assert "waived" in skipped.get("message") and "fail" in skipped.get("message") and reason in skipped.get("message")
page = open(tmp + "/r.html", encoding="utf-8").read()
assert "ACCEPT with 1 waiver" in page and "FAIL" in page and "<b>=3" not in page and "J. Doe" in page
text = open(tmp + "/r.md", encoding="utf-8").read()
assert "ACCEPT with 1 waiver" in text and "<b>" not in text
try:
    import jsonschema
except ImportError:
    sys.exit(0)
jsonschema.validate(card, json.load(open(schemas + "/scorecard.schema.json")))
PYTHON
expect 0 env LC_ALL=C.UTF-8 "$ASSAY" report "$tmp/run" --lang zh
prints "含 1 项豁免"
expect 0 "$ASSAY" compare "$tmp/run" "$tmp/plain"
prints "ACCEPT with 1 waiver"
prints "its verdict stands on waivers (1)"
expect 0 "$ASSAY" verify "$tmp/run"

# Granted after the run: kept beside it, for this record only.
expect 3 "$ASSAY" score "$tmp/plain" --waive some-cpus --reason r
says "all of it is good"
expect 3 "$ASSAY" score "$tmp/plain" --waive many-cpus,nobody --reason r
says "no finding of many-cpus"
[ ! -e "$tmp/plain/waivers.json" ] || fail "a slip was saved"
node=$(python3 -c 'import json,sys; print(json.load(open(sys.argv[1]))["host"])' "$tmp/plain/run.json")
expect 0 "$ASSAY" score "$tmp/plain" --waive "many-cpus,$node" --reason "later"
expect 0 "$ASSAY" score "$tmp/plain"
prints "taken because: later"
grep -q '"reason": "later"' "$tmp/plain/scorecard.json" || fail "the saved scorecard does not know it"
cp "$tmp/plain/waivers.json" "$tmp/strict/waivers.json"
expect 0 "$ASSAY" score "$tmp/strict"
says "granted for another state"
prints_not "later"
expect 1 "$ASSAY" score "$tmp/plain" --no-waivers
[ ! -e "$tmp/plain/waivers.json" ] || fail "the waiver was not dropped"
expect 1 "$ASSAY" score "$tmp/plain"
echo '{"v": 1}' >"$tmp/plain/waivers.json"
expect 3 "$ASSAY" score "$tmp/plain"
says "waivers.json"
rm "$tmp/plain/waivers.json"

# A kept profile that was touched is not believed; one may be named.
sed 's/100000/1/' "$tmp/plain/profile.json" >"$tmp/eased.json"
cp "$tmp/eased.json" "$tmp/plain/profile.json"
expect 3 "$ASSAY" score "$tmp/plain"
says "profile.json is not the profile"
one_line
expect 2 "$ASSAY" score "$tmp/plain" --profile thousand-card
