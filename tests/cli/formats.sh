# JUnit XML and Markdown of a run, read by parsers that are not ours.
. "$(dirname "$0")/lib.sh"
"$(dirname "$ASSAY")/tests/perf/make_journal" 2 8 120 "$tmp/run" >/dev/null || fail "make_journal"
expect 0 "$ASSAY" report "$tmp/run" --junit "$tmp/j.xml" --markdown "$tmp/m.md" --json "$tmp/s.json"
python3 - "$tmp" <<'PYTHON' || fail "JUnit"
import json, sys
import xml.etree.ElementTree as xml
root = xml.parse(sys.argv[1] + "/j.xml").getroot()
card = json.load(open(sys.argv[1] + "/s.json"))
stage = {r["id"]: r for r in card["rule_results"]}
want = [f for f in card["findings"] if stage[f["rule"]]["stage"] == card["stage"]]
cases = list(root.iter("testcase"))
assert root.tag == "testsuites" and len(cases) == len(want) == int(root.get("tests")), (len(cases), len(want))
assert len(root) == len(card["criteria"])
for suite in root:
    assert int(suite.get("tests")) == len(suite.findall("testcase"))
    assert int(suite.get("skipped")) == len(suite.findall("testcase/skipped"))
    assert int(suite.get("failures")) == len(suite.findall("testcase/failure"))
skipped = [f for f in want if f["verdict"] not in ("pass", "warn", "fail")]
assert len(list(root.iter("skipped"))) == len(skipped) > 0
for s in root.iter("skipped"):
    assert ": " in s.get("message"), s.get("message")
fails = [f for f in want if f["verdict"] == "fail" and stage[f["rule"]]["required"]]
assert len(list(root.iter("failure"))) == len(fails)
PYTHON
head -n 1 "$tmp/m.md" | grep -q '^# SIMULATED' || fail "the verdict is not first: $(head -n 1 "$tmp/m.md")"
/usr/bin/python3 -c 'import markdown_it' 2>/dev/null || skip "no python3-markdown-it"
/usr/bin/python3 - "$tmp" <<'PYTHON' || fail "Markdown"
import json, sys
from markdown_it import MarkdownIt
text = open(sys.argv[1] + "/m.md", encoding="utf-8").read()
tokens = MarkdownIt("commonmark").enable("table").parse(text)
kinds = [t.type for t in tokens]
assert kinds[0] == "heading_open" and "table_open" in kinds and "html_block" not in kinds
words = "".join(c.content for t in tokens if t.children for c in t.children)
card = json.load(open(sys.argv[1] + "/s.json"))
for c in card["criteria"]:
    assert c["id"] + " " + c["title"] in words
assert card["run_digest"] in words
assert not [c for t in tokens if t.children for c in t.children if c.type in ("html_inline", "link_open", "image")]
PYTHON
