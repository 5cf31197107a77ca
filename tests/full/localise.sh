# Which end is bad: ten times as many clusters as in the unit test.
. "$(dirname "$0")/../cli/lib.sh"
ASSAY_FULL=1 "$TREE/tests/unit/test_localise" >"$tmp/log" 2>&1 || { tail -n 40 "$tmp/log"; fail "test_localise"; }
grep -E ' right [0-9]+ of ' "$tmp/log"
