# assay claims: the statements of the two guides against each other, statements against
# runs, offers, every form of file and each that cannot be read.
. "$(dirname "$0")/lib.sh"
guides=$source_dir/configs/guide-claims.csv

# Without a run: what the guides say of themselves.
expect 1 "$ASSAY" claims "$guides"
prints "CONTRADICT OTHER FIGURES" && prints "S001 and S002: 8.57 to 15.7 times as fast on 1,000 times the cards"
printf '%s\n' "$out" | awk 'length($0) > 80 { bad = 1; print } END { exit bad }' || fail "wider than 80 columns"
expect 1 "$ASSAY" claims "$guides" --json "$tmp/g.json" --csv "$tmp/g.csv"
python3 - "$tmp" <<'PYTHON' || fail "the guides' contradictions"
import csv, json, sys
d = json.load(open(sys.argv[1] + "/g.json"))
c = {x["id"]: x for x in d["claims"]}
assert len(c) == 105 and sum(d["count"].values()) == 105
def says(i, verdict, *words):
    x = c[i]
    assert x["verdict"] == verdict, (i, x["verdict"], x["why"])
    text = " ".join(x["why"])
    for w in words: assert w in text, (i, w, text)
says("S001", "refuted", "1600 GB of states", "80 GB", "0.857 to 1.57 % efficiency")
says("S002", "contradicts", "8.57 to 15.7", "4.80 to 5.87 hours")
says("S003", "contradicts", "88.3 to 93.6 %")
says("S011", "refuted", "312 TFLOP/s at least is the rated peak")
says("S021", "contradicts", "S027", "S053", "23.9 to 34.8 % against 92 %", "15.3 %")
says("S025", "refuted", "joins 8 cards, not 1,000")
says("S038", "contradicts", "45.9 %", "5.71 and 12.1 %")
says("S041", "contradicts", ">=85")
says("S042", "contradicts", ">=90")
says("S055", "refuted", "v100")
says("S057", "not_testable", "462.1B to 577.6B tokens", "S057 and S058 go together")
says("S059", "not_testable", "MFU")
says("S061", "not_testable", "43.2 minutes", "14 to 91")
says("S077", "contradicts", "28.6 to 39.7 %", "24.6 to 33.0 %")
says("S079", "contradicts", "64.4 %")
says("S081", "not_testable", "95.6 to 388 cards")
rows = list(csv.DictReader(open(sys.argv[1] + "/g.csv", newline="")))
assert [(r["id"], r["verdict"]) for r in rows] == [(x["id"], x["verdict"]) for x in d["claims"]]
PYTHON
LC_ALL=C.UTF-8 expect 1 "$ASSAY" claims "$guides" --lang zh
prints "与自身其他数值矛盾" && prints "千卡集群…周期压缩至14-21天"

# As a page, in both languages; the JSON by its schema.
schema=$source_dir/configs/schemas/claims.schema.json
page() { # file words...: well-formed, nothing from outside, the words are there
	python3 - "$@" <<'PYTHON' || fail "page $1"
import html.parser, sys
text, words = open(sys.argv[1], encoding="utf-8").read(), sys.argv[2:]
class P(html.parser.HTMLParser):
    seen, ids, links, text = set(), set(), [], ""
    def handle_starttag(self, tag, attrs):
        a = dict(attrs)
        self.seen.add(tag)
        if "id" in a: assert a["id"] not in self.ids, a; self.ids.add(a["id"])
        if tag == "a": self.links.append(a["href"])
        assert tag not in ("img", "link", "iframe") and not any(k.startswith("on") for k in a), (tag, a)
    def handle_data(self, data): self.text += data
p = P(); p.feed(text)
assert {"main", "h1", "table", "nav"} <= p.seen and "http" not in text.replace("http-equiv", "")
for link in p.links: assert link[1:] in p.ids, link
for w in words: assert w in p.text, w
PYTHON
}
valid() { python3 -c '
import json, sys
try: import jsonschema
except ImportError: sys.exit(0)
for f in sys.argv[2:]: jsonschema.validate(json.load(open(f)), json.load(open(sys.argv[1])))' "$schema" "$@" || fail "schema: $*"; }
valid "$tmp/g.json"
expect 1 "$ASSAY" claims "$guides" --html "$tmp/g.html"
page "$tmp/g.html" "5 refuted, 8 contradict" "Contradict other figures of their own" "8.57 to 15.7 times as fast" "S081" "43.2 minutes" "of no quantity that is known"
LC_ALL=C.UTF-8 expect 1 "$ASSAY" claims "$guides" --lang zh --html "$tmp/zh.html"
page "$tmp/zh.html" "与自身其他数值矛盾" "算式" "千卡集群"

# Statements of one's own.
head=id,meaning,unit,threshold,quantity,who,card,cards,params,tokens
table() { printf '%s\n' "$head" "$@" >"$tmp/c.csv"; }
claims() { local code=$1; shift; expect "$code" "$ASSAY" claims "$tmp/c.csv" "$@"; }
table 'a,70B in 18 days,days,18,train_days,v,a100-sxm4-80gb,1000,70B,1.4T'
claims 1 && prints "an MFU of 1.21, more than the cards' peak"
table 'a,70B in 50 days,days,50,train_days,v,a100-sxm4-80gb,1000,70B,1.4T'
claims 2 && prints "an MFU of 0.436" && prints "possible, not shown"
table 'a,FP16,TFLOPS,400,,v,a100-sxm4-80gb,,,'
claims 1 && prints "more than the card's rated peak"
table 'a,FP16,TFLOPS,312,,v,a100-sxm4-80gb,,,'
claims 2 && prints "data sheet's peak"
table 'a,70B in 50 days,days,50,train_days,v,a100-sxm4-80g,1000,70B,1.4T'
claims 2 && prints 'card "a100-sxm4-80g" is not in the table of accelerators, the nearest is' && prints '"a100-sxm4-80gb"'
table 'a,70B in 18 days,days,18,train_days,v,a100-sxm4-80gb,1000,70B,1e30'
claims 1 && prints "more than the cards' peak"
table 'a,fast,-,yes,,v,,,,'
claims 2 && prints 'a column "quantity" says it'

# Against a run (made on stand-ins): 268 TFLOP/s or so on each card.
"$(dirname "$ASSAY")/tests/perf/make_journal" 2 8 120 "$tmp/run" >/dev/null || fail "make_journal"
rate=$("$ASSAY" compare "$tmp/run" guide-class-1 --csv - | awk -F, '$2 == "gemm_fp16_tflops" && $3 == "value" { print $8; exit }')
table "a,FP16 rate,TFLOPS,>=$(python3 -c "print($rate * 0.95)"),,v,,,,"
claims 0 --run "$tmp/run" && prints "16 cards: 0.0 % short" && prints SIMULATED
table "a,FP16 rate,TFLOPS,>=$(python3 -c "print($rate * 1.1)"),,v,,,,"
claims 1 --run "$tmp/run" && prints "9.1 % short" && prints_not "class 3"
table "a,FP16 rate,TFLOPS,>=$(python3 -c "print($rate * 1.4)"),,v,,,,"
claims 1 --run "$tmp/run" --json "$tmp/s.json" --terminal && prints "class 3"
python3 -c '
import json, sys
m = json.load(open(sys.argv[1]))["claims"][0]["measured"]
assert m["class_3"] and 0.27 < m["shortfall"] < 0.3 and m["subjects"] == 16 and m["origin"] == "simulated"
assert m["lo"] <= m["value"] <= m["hi"]' "$tmp/s.json" || fail "what was measured"
valid "$tmp/s.json"
table "a,FP16 <script>alert(1)</script> rate,TFLOPS,>=$(python3 -c "print($rate * 1.4)"),,v&v,,,," "b,FP16 rate,TFLOPS,>=100,,v,,,," 'c,fast,-,yes,,v,,,,'
claims 1 --run "$tmp/run" --html "$tmp/s.html" --json "$tmp/s.json"
page "$tmp/s.html" "Declared and measured" "measured / declared" SIMULATED "FP16 <script>alert(1)</script> rate" "v&v" "28.6 %" "class 3" "1 of no quantity"
grep -q '<circle[^>]*class="fail"' "$tmp/s.html" && grep -q '<circle[^>]*class="best"' "$tmp/s.html" || fail "no dots"
valid "$tmp/s.json"
table "a,FP16 rate,TFLOPS,>=$(python3 -c "print($rate * 0.9)"),,v,,1000,,"
claims 2 --run "$tmp/run" && prints "measured with 16 cards, said of 1,000"
# A thousands separator is no end of the figure: 31,000 IOPS do not reach 1,500,000.
cat >"$tmp/iops.json" <<-JSON
	{"nodes": 2, "cards": 2, "profile": "a100-sxm4-80gb", "storage": "/s", "points": ["depth=16", "depth=64"], "seed": 7,
	"noise": {"card": 0, "window": 0, "rho": 0}, "healthy": {"storage_all_read_iops": [18000, 31000]}}
JSON
"$(dirname "$ASSAY")/tests/exam/make_run" "$tmp/iops.json" "$tmp/iops" || fail "make_run"
table 'a,IOPS,IOPS,">=1,500,000",read_iops,v,,,,'
claims 1 --run "$tmp/iops" && prints "97.9 % short"
table 'a,IOPS,IOPS,">=30,000",read_iops,v,,,,'
claims 0 --run "$tmp/iops"
for figure in '"1500,5"' '1 500 000' '>=1e400' '≥４００'; do
	table "a,IOPS,IOPS,$figure,read_iops,v,,,,"
	claims 3 && says 'is no figure; write >=300' && one_line
done
table 'a,speed of light,TFLOPS,>=1,gemm_fp4_tflopz,v,,,,'
claims 3 && says 'quantity "gemm_fp4_tflopz" is neither' && one_line
table 'a,FP16,us,>=1,fp16_rate,v,,,,'
claims 3 && says 'a figure in "us" is no fp16_rate, which is in TFLOP/s'
table 'a,card,text,yes,card_model,v,h100-sxm5-80gb,,,'
claims 1 --run "$tmp/run" && prints "16 of 16 cards are not"
table 'a,card,text,yes,card_model,v,a100-sxm4-80gb,,,'
claims 0 --run "$tmp/run"
cp -r "$tmp/run" "$tmp/altered"
sed -i '9s/"value":[0-9.]*/"value":999/' "$tmp/altered/readings.jsonl"
claims 2 --run "$tmp/altered" && prints "the run was altered and shows nothing"

# Offers.
for o in guide-class-1 guide-class-2 guide-class-3; do
	expect 2 "$ASSAY" claims $o --json "$tmp/o.json" --html "$tmp/o.html" --terminal && valid "$tmp/o.json" && prints "needs a run that measured training_scaling_efficiency"
done
expect 0 "$ASSAY" claims guide-class-1 --run "$tmp/run" --csv - && prints "card,confirmed,card_model"
expect 0 "$ASSAY" claims "$source_dir/configs/offers/guide-class-1.json" --run "$tmp/run" --csv -

printf '{"v": 1, "name": "o", "figures": [{"metric": "gemm_fp16_tflopz", "unit": "TFLOP/s", "value": 1}]}' >"$tmp/o.json"
expect 3 "$ASSAY" claims "$tmp/o.json"; says '"gemm_fp16_tflopz" is no metric' && one_line
printf '{"v": 1, "name": "o", "figures": [{"metric": "membw_copy_gbs", "unit": "us", "value": 1}]}' >"$tmp/o.json"
expect 3 "$ASSAY" claims "$tmp/o.json"; says 'membw_copy_gbs is given in GB/s' && one_line

# Forms of files, and what cannot be read.
table 'a,卡间延迟,us,≤5,,v,,,,' 'b,"card-to-card latency
on ""two"" lines",us,<=5,,v,,,,'
cp "$tmp/c.csv" "$tmp/utf8.csv"
for form in gbk utf-16 utf-16-le; do
	python3 -c 'import sys; open(sys.argv[3], "wb").write(open(sys.argv[1]).read().encode(sys.argv[2]))' "$tmp/utf8.csv" $form "$tmp/c.csv"
	claims 2 && prints "a 卡间延迟" && prints "card-to-card"
done
sed 's/$/\r/; s/,/;/g' "$tmp/utf8.csv" >"$tmp/c.csv" && claims 2
expect 3 "$ASSAY" claims "$tmp/none.csv"; says "none.csv"
expect 3 "$ASSAY" claims "$tmp"; says "no regular file"
expect 3 "$ASSAY" claims "$tmp/utf8.csv" --run "$tmp/none"; says "none"
expect 3 "$ASSAY" claims "$tmp/utf8.csv" --quote "$tmp/q.json"; says "give --run DIR"
printf 'id,meaning,unit,treshold\nx,a,b,1\n' >"$tmp/c.csv"
claims 3 && says 'the nearest is "treshold"' && one_line
mkdir -p "$tmp/conf/claims" && printf '{"v":1,"quantitys":[]}' >"$tmp/conf/claims/default.json"
expect 3 "$ASSAY" claims "$tmp/utf8.csv" --config-dir "$tmp/conf"; says "default.json:1:8" && one_line
