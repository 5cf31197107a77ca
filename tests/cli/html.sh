# assay report --html: correct HTML by a strict parser, and what a browser makes of it:
# no error on its console, its script at work, both widths and paper.
. "$(dirname "$0")/lib.sh"
tree=$(dirname "$ASSAY")
/usr/bin/python3 -c 'import html5lib' 2>/dev/null || skip "no python3-html5lib"

# A whole fleet, and a node with a slow link whose raw files are there.
"$tree/tests/perf/make_journal" 125 8 120 "$tmp/fleet" >/dev/null || fail "make_journal"
"$source_dir/scripts/exam" --build "$tree" --only slow-link --keep "$tmp/exam" >"$tmp/log" 2>&1 || fail "exam: $(tail -n 3 "$tmp/log")"
expect 0 "$ASSAY" report "$tmp/fleet" --html "$tmp/fleet.html"
expect 0 "$ASSAY" report "$tmp/exam/slow-link/run" --profile "$source_dir/tests/exam/profile.json" --html "$tmp/node.html"
[ "$(stat -c %s "$tmp/fleet.html")" -lt 3000000 ] || fail "125 x 8 take $(stat -c %s "$tmp/fleet.html") bytes"
expect 3 "$ASSAY" report "$tmp/fleet" --html - --json -
says "only one report"

cat >"$tmp/check.py" <<'PYTHON'
import html5lib, re, sys
text = open(sys.argv[1], encoding="utf-8").read()
page = html5lib.HTMLParser(strict=True, namespaceHTMLElements=False).parse(text)
ids = [e.get("id") for e in page.iter() if e.get("id")]
assert len(ids) == len(set(ids)), "an id twice"
for e in (e for e in page.iter() if isinstance(e.tag, str)):
    tag = e.tag.split("}")[-1]
    for key, value in e.attrib.items():
        assert not key.lower().startswith("on"), (e.tag, key)
        if key in ("src", "href"):
            assert value.startswith("#") and value[1:] in ids, (e.tag, value)
    if tag == "svg" and e.get("aria-hidden") != "true":
        assert e.get("role") == "img" and e.get("aria-label"), "a chart without words"
assert not re.search(r"url\(|@import|https?:", re.sub(r"<script type.*", "", text)), "reaches outside"
charts = text.count('<svg class="plot"')
assert charts >= 10
print(charts, "charts")
PYTHON
for page in fleet node; do
	expect 0 /usr/bin/python3 "$tmp/check.py" "$tmp/$page.html"
	echo "$page: $out, $(stat -c %s "$tmp/$page.html") bytes"
done
# The pairs of many nodes: each in one line of the map, values of those worth a look.
"$tree/tests/perf/make_journal" 200 0 5 "$tmp/many" 200 >/dev/null || fail "make_journal"
expect 0 "$ASSAY" report "$tmp/many" --html "$tmp/many.html"
python3 - "$tmp/many.html" <<'PYTHON' || fail "the map of many pairs"
import re, sys
page = open(sys.argv[1], encoding="utf-8").read()
paths = re.findall(r'<path class="r[0-5]" d="([^"]*)"', page)
cells = set()
for d in paths:
    x = y = 0
    for kind, a, b, n in re.findall(r"([Mm])(\d+) (\d+)h(\d+)", d):
        x, y = (int(a), int(b)) if kind == "M" else (x + int(a), y)
        for k in range(int(n)):
            assert (x + k, y) not in cells, "a cell twice"
            cells.add((x + k, y))
        x += int(n)
assert len(cells) == 200 * 199 and max(map(max, cells)) == 199, len(cells)
assert all(a != b for a, b in cells)
assert len(page) < 500000, len(page)
PYTHON
grep -q 'class="q0" d="M' "$tmp/node.html" || fail "the slow link is not in the map"
grep -q 'card 2 (GPU-[^)]*) - node[^ ]* card 6 (GPU-\|card 2 (GPU-[^)]*) - [^ ]* card 6 (GPU-' "$tmp/node.html" || fail "a link without the numbers of its cards"
grep -q '<section id="series"' "$tmp/fleet.html" && fail "a series without raw files"

browser=$(command -v chromium || command -v chromium-browser) || skip "no chromium: $failures failures before"
# browse FILE options...: what the browser prints; its console is in $tmp/console.
browse() {
	local file=$1
	shift
	HOME=$tmp timeout -k 5 60 "$browser" --headless --no-sandbox --disable-gpu --hide-scrollbars --enable-logging=stderr \
		--user-data-dir="$tmp/profile" "$@" "file://$file" 2>"$tmp/console"
}
for page in fleet node; do
	browse "$tmp/$page.html" --dump-dom >"$tmp/dom" || fail "$page: the browser ends with $?"
	! grep CONSOLE "$tmp/console" || fail "$page: the console says that"
	# The script made buttons of the heads and shows the search fields.
	grep -q '<th scope="col"[^>]*><button type="button">' "$tmp/dom" || fail "$page: tables cannot be sorted"
	grep -q '<label class="filter">' "$tmp/dom" || fail "$page: tables cannot be searched"
done
for width in 1440 390; do
	browse "$tmp/node.html" --window-size=$width,1200 --screenshot="$tmp/node-$width.png" >/dev/null || fail "node at $width"
	[ -s "$tmp/node-$width.png" ] || fail "no picture at $width"
done
browse "$tmp/fleet.html" --no-pdf-header-footer --print-to-pdf="$tmp/fleet.pdf" >/dev/null || fail "it cannot be printed"
head -c 5 "$tmp/fleet.pdf" | grep -q %PDF- || fail "no PDF"
