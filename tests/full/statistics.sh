# The operating characteristics of the fluctuation rule at their full count.
. "$(dirname "$0")/../cli/lib.sh"
ASSAY_FULL=1 "$TREE/tests/unit/test_stats_oc" >"$tmp/log" 2>&1 || { tail -n 40 "$tmp/log"; fail "test_stats_oc"; }
grep -E '%|OK' "$tmp/log" | tail -n 40
