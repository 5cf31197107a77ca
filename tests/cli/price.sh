# Price of delivered work, the vendor's own report, and the comparison by price and need.
. "$(dirname "$0")/lib.sh"
make=$(dirname "$ASSAY")/tests/perf/make_journal
"$make" 2 8 120 "$tmp/a" >/dev/null && "$make" 2 8 120 "$tmp/b" >/dev/null || fail "make_journal"
quote() { # price currency more
	printf '{"v": 1, "name": "q", "figures": [], "quote": {"currency": "%s", "tax": "excluded"%s, "items": [
	{"item": "node", "match": ["gn8*"], "per": "hour", "price": "%s", "gpus": 8}]}}' "$2" "${3:-}" "$1"
}
quote 98.40 CNY ', "support": {"hours": "24x7", "response_min": 30}' >"$tmp/q.json"
quote 49.20 CNY >"$tmp/half.json"
quote 20 USD >"$tmp/usd.json"

# Prices: the currency of the offer, the interval turned round, nothing without a price.
expect 2 "$ASSAY" score "$tmp/a" --profile thousand-card --quote "$tmp/q.json"
prints "a card-hour is 12.3 CNY, by the quote" && prints "1e9 tokens of a model of 70B"
expect 0 "$ASSAY" report "$tmp/a" --profile thousand-card --quote "$tmp/usd.json" --terminal --json "$tmp/usd.out" --html "$tmp/p.html"
prints "a card-hour is 2.50 USD" && grep -q 'id="prices"' "$tmp/p.html" || fail "no prices in the page"
expect 0 "$ASSAY" report "$tmp/a" --profile thousand-card --json "$tmp/none.out"
expect 0 "$ASSAY" report "$tmp/a" --profile thousand-card --quote "$tmp/q.json" --json "$tmp/cny.out"
python3 - "$tmp" "$source_dir/configs/schemas/scorecard.schema.json" <<'PYTHON' || fail "prices of delivered work"
import json, sys
t = sys.argv[1]
cny, usd, none = (json.load(open(f"{t}/{x}.out")) for x in ("cny", "usd", "none"))
assert "prices" not in none and usd["prices"]["currency"] == "USD"
p = {x["name"]: x for x in cny["prices"]["lines"]}
w = p["tflops_hour"]
assert abs(w["value"] - 12.3 / w["rate"]) < 1e-9 and w["lo"] < w["value"] < w["hi"] and w["at_least"] and w["of"] == "card"
k = p["1e9_tokens"]
assert abs(k["value"] - 12.3 * 6 * 70e9 * 1e9 / (3.6e15 * w["rate"])) < 1e-6
assert abs(p["memory_gbs_hour"]["value"] - 12.3 / p["memory_gbs_hour"]["rate"]) < 1e-12
assert {x["origin"] for x in p.values()} == {"simulated"}
f = {x["rule"]: x for x in cny["findings"]}
assert f["operations-support"]["verdict"] == "stated_only" and f["operations-support"]["value"] == 2
assert {x["rule"]: x for x in usd["findings"]}["operations-support"]["verdict"] == "stated_only"
assert f["vendor-report"]["verdict"] == "stated_only" and f["vendor-report"]["reason"]["code"] == "paper_none"
try:
    import jsonschema
    jsonschema.validate(cny, json.load(open(sys.argv[2])))
except ImportError:
    pass
PYTHON
quote 1 CNY ', "support": {"hurs": "24x7"}' >"$tmp/bad.json"
expect 3 "$ASSAY" score "$tmp/a" --quote "$tmp/bad.json"; says '"hurs" is not known here; "hours" is' && one_line
quote 1 CNY ', "support": {"response_min": "soon"}' >"$tmp/bad.json"
expect 3 "$ASSAY" score "$tmp/a" --quote "$tmp/bad.json"; says 'response_min should be a number of 0 or more' && one_line

# The vendor's own report: a file of another tool, an imported run; what is no report.
rate=$("$ASSAY" compare "$tmp/a" guide-class-1 --csv - | awk -F, '$2 == "gemm_fp16_tflops" && $3 == "value" { print $8; exit }')
report() { python3 -c '
import json, sys
print(json.dumps({"node": "v1", **{f"gemm-flops/fp16_tc_flops:{i}": float(sys.argv[1]) * 1000 for i in range(8)}}))' "$1" >"$tmp/results-summary.jsonl"; }
judged() { expect 0 "$ASSAY" report "$tmp/a" --profile thousand-card --stage period --json "$tmp/r.out" "$@"; python3 -c '
import json, sys
f = {x["rule"]: x for x in json.load(open(sys.argv[1]))["findings"]}
print(f["vendor-report"]["verdict"], f["vendor-report-holds"]["verdict"])' "$tmp/r.out"; }
same() { [ "$1" = "$2" ] || fail "verdicts \"$1\", not \"$2\""; }
report "$rate"
same "$(judged --vendor-report "$tmp/results-summary.jsonl")" "pass pass"
grep -q '8 compute rates of 8 cards (superbench)' "$tmp/r.out" || fail "what the report holds"
report "$(python3 -c "print($rate * 1.3)")"
same "$(judged --vendor-report "$tmp/results-summary.jsonl")" "pass fail"
expect 0 "$ASSAY" import "$tmp/results-summary.jsonl" --out "$tmp/theirs"
same "$(judged --vendor-report "$tmp/theirs")" "pass fail"
printf 'This is a very good cluster.\n' >"$tmp/paper.txt"
expect 3 "$ASSAY" score "$tmp/a" --vendor-report "$tmp/paper.txt"; says "paper.txt"
expect 3 "$ASSAY" score "$tmp/a" --vendor-report "$tmp/b"; says "measured by Assay itself"
expect 3 "$ASSAY" score "$tmp/a" --vendor-report "$tmp/nothing"; says "nothing"
printf '{"node": "v1", "nccl-bw/allreduce_8388608_busbw:0": 200}\n' >"$tmp/results-summary.jsonl"
same "$(judged --vendor-report "$tmp/results-summary.jsonl" 2>/dev/null)" "stated_only not_measured"

# Kept with the run: judged and priced without the originals, and compared by that price.
report "$rate"
cp -r "$tmp/a" "$tmp/kept"
expect 2 "$ASSAY" score "$tmp/kept" --profile thousand-card --quote "$tmp/q.json" --vendor-report "$tmp/theirs" \
	--vendor-report "$tmp/results-summary.jsonl" --params 7B --tokens 140B --keep-evidence
mv "$tmp/q.json" "$tmp/q.away" && mv "$tmp/theirs" "$tmp/theirs.away"
expect 0 "$ASSAY" report "$tmp/kept" --profile thousand-card --terminal --json "$tmp/kept.out"
prints "a card-hour is 12.3 CNY, by the quote" && prints "1e9 tokens of a model of 7B"
grep -q '"paper_none"' "$tmp/kept.out" && fail "the kept report is forgotten"
expect 0 "$ASSAY" compare "$tmp/kept" "$tmp/b" --csv - && prints "price_tflops_hour_cny"
mv "$tmp/q.away" "$tmp/q.json"

# Side by side: prices, the buyer's own model, and for which need.
expect 0 "$ASSAY" compare "$tmp/a" "$tmp/b" --quote "a=$tmp/q.json" --quote "b=$tmp/half.json" --params 7B --tokens 140B \
	--terminal --json "$tmp/c.json" --html "$tmp/c.html" --markdown "$tmp/c.md"
prints "Your model: 7B parameters on 140B tokens" && prints "For which need" && prints "of b will do: 8 cards"
grep -q "For which need" "$tmp/c.md" && grep -q "For which need" "$tmp/c.html" || fail "needs are not in every report"
python3 - "$tmp/c.json" "$source_dir/configs/schemas/comparison.schema.json" <<'PYTHON' || fail "comparison by price"
import json, sys
d = json.load(open(sys.argv[1]))
f = {x["metric"]: x for x in d["figures"]}
a, b = f["price_tflops_hour_cny"]["cells"]
assert f["price_tflops_hour_cny"]["unit"] == "CNY" and abs(a["value"] / b["value"] - 2) < 1e-9
assert (a["stand"], b["stand"]) == ("worse", "best")
pa, pb = f["tflops_hour_per_cny"]["cells"]
assert abs(pb["value"] / pa["value"] - 2) < 1e-9 and pb["stand"] == "best"
da, db = f["model_days"]["cells"]
assert da["lo"] < da["value"] < da["hi"] and da["value"] == db["value"]
assert abs(f["model_cost_cny"]["cells"][0]["value"] / f["model_cost_cny"]["cells"][1]["value"] - 2) < 1e-9
need = [x for x in d["parts"] if x["key"] == "need"][0]["lines"]
assert len(need) == 3 and "a needs 75 cards" in need[0]["text"] and "b: " in need[2]["text"] and "CNY" in need[2]["text"]
try:
    import jsonschema
    jsonschema.validate(d, json.load(open(sys.argv[2])))
except ImportError:
    pass
PYTHON
expect 0 "$ASSAY" compare "$tmp/a" "$tmp/b"; prints "not told apart: a: " && prints "(no prices"
expect 0 "$ASSAY" compare "$tmp/a" "$tmp/b" --quote "$tmp/q.json" --quote "$tmp/usd.json" --json "$tmp/c.json"
grep -q price_tflops_hour_usd "$tmp/c.json" || fail "currencies share a row"
expect 3 "$ASSAY" compare "$tmp/a" "$tmp/b" --quote "c=$tmp/q.json"; says "no run or offer of that name"
expect 3 "$ASSAY" compare "$tmp/a" "$tmp/b" --quote "$tmp/q.json" --quote "$tmp/q.json" --quote "$tmp/q.json"; says "3 quotes for 2"
expect 3 "$ASSAY" compare "$tmp/a" "$tmp/b" --params 70B; says "--tokens is missing"
expect 3 "$ASSAY" compare "$tmp/a" "$tmp/b" --params x --tokens 1T; says '"x" is not a number'
