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

# Every row, from a run that has the figure: who pays, by what unit, with which interval; the
# better rate is shown, the others stand in the JSON for comparing like with like.
make_run=$(dirname "$ASSAY")/tests/exam/make_run
cluster() { # what the nodes said > directory
	cat >"$tmp/cluster.json" && rm -rf "$1" && "$make_run" "$tmp/cluster.json" "$1" || fail "make_run $1"
}
head='"nodes": 4, "cards": 2, "profile": "a100-sxm4-80gb", "storage": "/s", "points": ["depth=16", "depth=64"], "seed": 7,
	"noise": {"card": 0.01, "window": 0.001, "rho": 0.5}'
node='"card_name": "NVIDIA A100-SXM4-80GB", "gemm_bf16_tflops": {"value": 270, "varies": "card"}'
tcp='"group_allreduce_busbw_gbs": {"value": 2.5, "stats": {"ci_lo": 2.4, "ci_hi": 2.6}}, "net_tcp_gbps": {"value": 20, "varies": 0.02}'
cluster "$tmp/all" <<-JSON
	{$head, "healthy": {$node, $tcp, "training_card_tflops": {"value": 200, "stats": {"ci_lo": 190, "ci_hi": 210}},
	"membw_triad_gbs": {"value": 1780, "varies": "card"},
	"collective_nodes_ring_busbw_gbs": {"value": 90, "stats": {"ci_lo": 80, "ci_hi": 100}},
	"rdma_write_gbps": {"value": 192, "varies": 0.004}, "rdma_nic_write_gbps": 194,
	"storage_all_read_gbs": {"value": 40, "stats": {"ci_lo": 38, "ci_hi": 42}},
	"storage_all_read_iops": [18000, 31000]}}
JSON
cluster "$tmp/rdma" <<-JSON
	{$head, "rails": 2, "healthy": {$node, $tcp, "rdma_write_gbps": {"value": 192, "varies": 0.004}, "rdma_nic_write_gbps": 194}}
JSON
cluster "$tmp/tcp" <<-JSON
	{$head, "healthy": {$node, "net_tcp_gbps": {"value": 20, "varies": 0.02}}}
JSON
quote 24.60 CNY >"$tmp/q2.json" && sed -i 's/"gpus": 8/"gpus": 2/' "$tmp/q2.json"
for run in all rdma tcp; do
	expect 0 "$ASSAY" report "$tmp/$run" --profile thousand-card --quote "$tmp/q2.json" --terminal --json "$tmp/$run.out" \
		--csv "$tmp/$run.csv" --markdown "$tmp/$run.md" --html "$tmp/$run.html"
	printf '%s\n' "$out" | tr -s ' \n' ' ' >"$tmp/$run.txt"
done
LC_ALL=C.UTF-8 expect 0 "$ASSAY" --lang zh report "$tmp/all" --profile thousand-card --quote "$tmp/q2.json" --terminal
prints "节点间单向带宽" && prints "训练步"
python3 - "$tmp" "$source_dir/configs/schemas/scorecard.schema.json" <<'PYTHON' || fail "every row of prices"
import csv, json, sys
t = sys.argv[1]
card = {r: json.load(open(f"{t}/{r}.out")) for r in ("all", "rdma", "tcp")}
lines = {r: {x["name"]: x for x in c["prices"]["lines"]} for r, c in card.items()}
hour, node, cluster = 12.3, 12.3 * 2, 12.3 * 8
def tokens(rate): return hour * 6 * 70e9 * 1e9 / (3.6e15 * rate)
def near(a, b): assert abs(a / b - 1) < 1e-9, (a, b)
def row(run, name, price, rate, of, fallback, ends=None):
    x = lines[run][name]
    near(x["value"], price(rate if rate else x["rate"]))
    assert (x["of"], x["fallback"]) == (of, fallback), x
    if ends: near(x["lo"], price(ends[1])); near(x["hi"], price(ends[0]))
    else: assert x["lo"] is None or x["lo"] < x["value"] < x["hi"], x
row("all", "trained_tflops_hour", lambda r: hour / r, 200, "card", False, (190, 210))
row("all", "tflops_hour", lambda r: hour / r, None, "card", True)
row("all", "trained_1e9_tokens", tokens, 200, "card", False, (190, 210))
row("all", "1e9_tokens", tokens, None, "card", True)
row("all", "memory_gbs_hour", lambda r: hour / r, None, "card", False)
row("all", "nccl_gbs_hour", lambda r: node / r, 90, "node", False, (80, 100))
row("all", "rdma_gbs_hour", lambda r: node / (r / 8), None, "node", True)
row("all", "ring_gbs_hour", lambda r: node / r, 2.5, "node", True, (2.4, 2.6))
row("all", "tcp_gbs_hour", lambda r: node / (r / 8), None, "node", True)
row("all", "storage_gbs_hour", lambda r: cluster / r, 40, "cluster", False, (38, 42))
row("all", "kiops_hour", lambda r: cluster / (r / 1000), 31000, "cluster", False)
assert len(lines["all"]) == 11 and lines["all"]["kiops_hour"]["lo"] is None
row("rdma", "rdma_gbs_hour", lambda r: node / (2 * r / 8), None, "node", False)
row("tcp", "tcp_gbs_hour", lambda r: node / (r / 8), None, "node", False)
row("rdma", "1e9_tokens", tokens, None, "card", False)
shown = {"all": "over NCCL (collective_nodes_ring_busbw_gbs)", "rdma": "RDMA between two (rdma_write_gbps x 2 adapters)", "tcp": "TCP between two (net_tcp_gbps)"}
for run, words in shown.items():
    text, html = open(f"{t}/{run}.txt").read(), open(f"{t}/{run}.html").read()
    md = open(f"{t}/{run}.md").read().replace("\\", "")
    for page in (text, html, md):
        for k, w in shown.items(): assert (w in page) == (k == run), (run, k)
        assert "1,000 IOPS of shared storage" in page or run != "all"
    assert "3.17 CNY (no interval), simulated" in text or run != "all"
rows = {(r["metric"], r["stat"]): r for r in csv.DictReader(open(f"{t}/all.csv", newline=""))}
near(float(rows["price_nccl_gbs_hour", "hi"]["value"]), node / 80)
assert rows["price_nccl_gbs_hour", "value"]["unit"] == "CNY"
try:
    import jsonschema
    for c in card.values(): jsonschema.validate(c, json.load(open(sys.argv[2])))
except ImportError:
    pass
PYTHON
expect 0 "$ASSAY" compare "$tmp/all" "$tmp/rdma" --quote "$tmp/q2.json" --quote "$tmp/q2.json" --json "$tmp/c.json"
python3 - "$tmp/c.json" <<'PYTHON' || fail "like is not compared with like"
import json, sys
f = {x["metric"]: x["cells"] for x in json.load(open(sys.argv[1]))["figures"]}
for name in ("rdma_gbs_hour", "tflops_hour", "1e9_tokens", "tcp_gbs_hour"):
    assert all(c["value"] > 0 for c in f[f"price_{name}_cny"]), name
for name in ("nccl_gbs_hour", "trained_tflops_hour", "trained_1e9_tokens"):
    assert sum((c or {}).get("value") is not None for c in f[f"price_{name}_cny"]) == 1, name
PYTHON

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
