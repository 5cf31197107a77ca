# assay certificate: clauses from a file, both languages, two pages of paper.
. "$(dirname "$0")/lib.sh"
"$(dirname "$ASSAY")/tests/perf/make_journal" 3 8 120 "$tmp/run" >/dev/null || fail "make_journal"
sed -i 's/"vendor": "synthetic"/"vendor": "<i>A\&B<\/i>"/' "$tmp/run/run.json"
cat >"$tmp/c.json" <<'JSON'
// The contract's own numbers.
{"v": 1, "title": "Contract 7 <x>", "title_zh": "合同七",
 "clauses": [{"clause": "4.1", "title": "FP16", "title_zh": "半精度", "rule": "gemm-fp16"},
             {"clause": "4.2", "title": "RDMA", "rules": ["rdma-ports", "gemm-fp16"]},
             {"clause": "4.3", "title": "Later", "rule": "availability"}]}
JSON
expect 0 "$ASSAY" certificate "$tmp/run" --clauses "$tmp/c.json" --html "$tmp/c.html" --markdown "$tmp/c.md"
python3 - "$tmp" <<'PYTHON' || fail "the certificate"
import sys
text = open(sys.argv[1] + "/c.md", encoding="utf-8").read().replace("\\", "")
rows = {c[1].strip(): [x.strip() for x in c] for c in (l.split("|") for l in text.splitlines()) if len(c) == 6}
assert rows["4.1"][4] == "PASS" and "gemm_fp16_tflops 2" in rows["4.1"][3] and "limit >=" in rows["4.1"][3], rows["4.1"]
assert rows["4.2"][4] == "not measured" and "rdma_ports_active" in rows["4.2"][3], rows["4.2"]
assert rows["4.3"][4] == "later", rows["4.3"]
assert "run digest" in text and "For the vendor" in text and "Nothing was waived" in text
page = open(sys.argv[1] + "/c.html", encoding="utf-8").read()
assert "<x>" not in page and "<i>A" not in page and "Contract 7" in page and page.count('class="line"') == 2
PYTHON
grep -q "ALTERED" "$tmp/c.html" || fail "a changed run.json is not said"
expect 0 env LC_ALL=C.UTF-8 "$ASSAY" certificate "$tmp/run" --clauses "$tmp/c.json" --lang zh
prints "合同七"
prints "半精度"
prints "签字"
expect 0 "$ASSAY" certificate "$tmp/run" --stage period
prints "Clauses"
bad() { # TEXT SAID
	printf '%s' "$1" >"$tmp/bad.json"
	expect 3 "$ASSAY" certificate "$tmp/run" --clauses "$tmp/bad.json"
	says "bad.json"
	says "$2"
	one_line
}
bad '{' 'bad.json:1'
bad '{"v": 1, "title": "x", "clauses": []}' 'list of clauses'
bad '{"v": 2, "title": "x", "clauses": [{}]}' 'list of clauses'
bad '{"v": 1, "title": "x", "clauses": [{"clause": "1", "title": "t"}]}' 'a clause has'
bad '{"v": 1, "title": "x", "clauses": [{"clause": "1", "title": "t", "rule": "a", "rules": ["b"]}]}' 'a clause has'
bad '{"v": 1, "title": "x", "clauses": [{"clause": "1", "title": "t", "rules": [7]}]}' 'a clause has'
bad '{"v": 1, "title": "x", "clauses": [{"clause": "1", "title": "t", "rule": "gemm-fp17"}]}' 'gemm-fp16'
expect 3 "$ASSAY" certificate "$tmp/run" --clauses nowhere
one_line
expect 3 "$ASSAY" certificate
expect 3 "$ASSAY" certificate "$tmp/run" --junit x

browser=$(command -v chromium || command -v chromium-browser) || skip "no chromium: $failures failures before"
for l in en zh; do
	expect 0 env LC_ALL=C.UTF-8 "$ASSAY" certificate "$tmp/run" --lang $l --html "$tmp/$l.html"
	HOME=$tmp timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --enable-logging=stderr --user-data-dir="$tmp/browser" \
		--no-pdf-header-footer --print-to-pdf="$tmp/$l.pdf" "file://$tmp/$l.html" 2>"$tmp/console" || fail "$l: it cannot be printed"
	! grep CONSOLE "$tmp/console" || fail "$l: the console says that"
	pages=$(grep -ac '/Type */Page\b' "$tmp/$l.pdf")
	[ "$pages" = 2 ] || fail "$l: $pages pages"
done
