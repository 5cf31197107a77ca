# A whole run on this machine: plan, measure, journal, judge, print, verify.
. "$(dirname "$0")/lib.sh"
quick="--budget quick --only inventory,jitter"

expect 0 "$ASSAY" run --dry-run $quick --out "$tmp/dry"
prints "inventory"
prints "jitter"
[ ! -e "$tmp/dry" ] || fail "--dry-run wrote"

expect 2 "$ASSAY" run $quick --out "$tmp/a run"
prints "INCOMPLETE"
prints "run digest"
for f in run.json readings.jsonl scorecard.json; do [ -s "$tmp/a run/$f" ] || fail "$f is missing"; done
no_scratch "$tmp" || fail "scratch left behind"
expect 0 "$ASSAY" verify "$tmp/a run"
prints "intact"
expect 2 "$ASSAY" score "$tmp/a run"
prints "INCOMPLETE"
expect 0 "$ASSAY" report "$tmp/a run" --json "$tmp/card.json" --csv "$tmp/card.csv"
[ -z "$out" ] || fail "report to files also prints"
expect 3 "$ASSAY" report "$tmp/a run" --json - --csv -
python3 - "$tmp/card.json" "$tmp/card.csv" "$tmp/a run/readings.jsonl" "$source_dir/configs/schemas" <<'PY' || fail "reports do not parse"
import csv, json, sys
card = json.load(open(sys.argv[1]))
assert card["overall"] == "INCOMPLETE", card["overall"]
assert card["findings"], "no findings"
rows = list(csv.DictReader(open(sys.argv[2], newline="")))
assert rows and all(None not in r for r in rows)
lines = [json.loads(l) for l in open(sys.argv[3])]
assert lines[0]["kind"] == "start" and lines[-1]["kind"] == "end"
readings = [l for l in lines if "metric" in l]
assert lines[-1]["readings"] == len(readings)
assert all(r["outcome"] == "measured" or r["reason"]["code"] for r in readings)
skipped = [r for r in readings if r["probe"] == "gemm"]
assert skipped and all(r["outcome"] == "not_measured" and r["reason"]["code"] == "not_selected_only" for r in skipped)
try:
    import jsonschema
except ImportError:
    sys.exit(0)
jsonschema.validate(card, json.load(open(sys.argv[4] + "/scorecard.schema.json")))
PY
# The same journal judged by another profile, and with the overrides of a folder.
expect 2 "$ASSAY" score "$tmp/a run" --profile h100-sxm5-80gb
prints "profile h100"
mkdir -p "$tmp/conf/profiles"
echo '{"v":1,"name":"mine","extends":"thousand-card","rules":[{"id":"x","criterion":"1","metric":"nonsense","max":1}]}' >"$tmp/conf/profiles/mine.json"
expect 3 "$ASSAY" score "$tmp/a run" --config-dir "$tmp/conf" --profile mine
says "mine.json:1:"
says "nonsense"
printf 'key,name\n"unclosed,1\n' >"$tmp/conf/accelerators.csv"
expect 3 "$ASSAY" score "$tmp/a run" --config-dir "$tmp/conf"
says "accelerators.csv:2:"
one_line
rm "$tmp/conf/accelerators.csv"
echo '{"v":1, "name": "broken"' >"$tmp/conf/profiles/broken.json"
expect 3 "$ASSAY" score "$tmp/a run" --config-dir "$tmp/conf" --profile broken
says "broken.json:2:1"
# A line that is no reading, and a figure that cannot be.
cp -r "$tmp/a run" "$tmp/garbled"
sed -i '4s/.*/not json at all/' "$tmp/garbled/readings.jsonl"
expect 1 "$ASSAY" verify "$tmp/garbled"
prints "ALTERED"
cp -r "$tmp/a run" "$tmp/nojson"
echo '{"v":1,' >"$tmp/nojson/run.json"
expect 3 "$ASSAY" score "$tmp/nojson"
says "run.json"
one_line
# An altered figure is seen, whoever altered it.
cp -r "$tmp/a run" "$tmp/altered"
sed -i '3s/"attempt":1/"attempt":2/' "$tmp/altered/readings.jsonl"
expect 1 "$ASSAY" verify "$tmp/altered"
prints "ALTERED"
# The directory is not ours to overwrite.
expect 3 "$ASSAY" run $quick --out "$tmp/a run"
says "a run"
