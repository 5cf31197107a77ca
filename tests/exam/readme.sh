# The table of the catalogue in README.md is that of the catalogue.
. "$(dirname "$0")/../cli/lib.sh"
build=$(cd "$(dirname "$ASSAY")" && pwd)
[ -x "$build/tests/exam/make_run" ] || skip "not built: make_run"
expect 0 "$source_dir/scripts/exam" --build "$build" --counts
printf '%s\n' "$out" >"$tmp/counts"
sed -n '/^| what is planted /,/^[^|]/p' "$source_dir/README.md" | grep '^|' >"$tmp/readme"
diff "$tmp/counts" "$tmp/readme" || fail "the table is old: scripts/exam --counts write"
kinds=$(sed -n 's/^| all | \([0-9]*\) .*/\1/p' "$tmp/counts")
[ "${kinds:-0}" -ge 60 ] || fail "$kinds kinds of faults on doubles, fewer than 60"
