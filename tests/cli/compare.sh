# assay compare: offers that are built in, a run beside them, every form of output.
. "$(dirname "$0")/lib.sh"
"$(dirname "$ASSAY")/tests/perf/make_journal" 4 8 120 "$tmp/vendor-a" >/dev/null || fail "make_journal"
"$(dirname "$ASSAY")/tests/perf/make_journal" 2 8 120 "$tmp/vendor-b" >/dev/null || fail "make_journal"
for f in "$source_dir"/configs/offers/*.json; do
	expect 0 "$ASSAY" compare "$tmp/vendor-a" "$f"
	expect 0 "$ASSAY" compare "$tmp/vendor-a" "$(basename "$f" .json)"
	prints "declared by a vendor or a guide, not measured"
done
expect 0 "$ASSAY" compare "$tmp/vendor-a" "$tmp/vendor-b" guide-class-1 --terminal \
	--html "$tmp/c.html" --json "$tmp/c.json" --csv "$tmp/c.csv"
prints "different sizes: vendor-a has 4 nodes, vendor-b has 2"
prints "gemm_fp16_tflops (higher is better)"
printf '%s\n' "$out" | awk 'length($0) > 80 { bad = 1; print } END { exit bad }' || fail "wider than 80 columns"
python3 - "$tmp" <<'PYTHON' || fail "the files do not agree"
import csv, json, sys
d = json.load(open(sys.argv[1] + "/c.json"))
assert [c["name"] for c in d["columns"]] == ["vendor-a", "vendor-b", "guide-class-1"]
rows = list(csv.DictReader(open(sys.argv[1] + "/c.csv", newline="")))
cells = [(f["metric"], k, c) for f in d["figures"] for k, c in enumerate(f["cells"]) if c]
assert len(rows) == len(cells) > 20
for r, (metric, k, c) in zip(rows, cells):
    assert r["metric"] == metric and r["name"] == d["columns"][k]["name"]
    assert float(r["value"]) == c["value"] and r["stand"] == c["stand"] and r["origin"] == c["origin"]
assert {c["origin"] for _, _, c in cells} == {"simulated", "declared"}
PYTHON
if /usr/bin/python3 -c 'import html5lib' 2>/dev/null; then
	/usr/bin/python3 -c '
import html5lib, sys
html5lib.HTMLParser(strict=True).parse(open(sys.argv[1], encoding="utf-8").read())' "$tmp/c.html" || fail "the page is no correct HTML"
fi
grep -q 'class="interval"' "$tmp/c.html" || fail "no intervals in the page"
expect 3 "$ASSAY" compare "$tmp/vendor-a" nobody
says "nobody is neither a run directory nor an offer"
expect 3 "$ASSAY" compare "$tmp/vendor-a"
expect 3 "$ASSAY" compare "$tmp/vendor-a" "$tmp"
says "run.json"
expect 3 "$ASSAY" compare "$tmp/vendor-a" guide-class-1 --json - --csv -
says "only one report"
