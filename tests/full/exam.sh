# Every rule of the default profile disabled in turn must leave a fault of the catalogue
# unnoticed, and 1,000 clean clusters of drawn figures must be blamed for nothing.
. "$(dirname "$0")/../cli/lib.sh"
build=$(cd "$(dirname "$ASSAY")" && pwd)
[ -x "$build/tests/exam/make_run" ] || skip "not built: make_run"
[ "$(id -u)" = 0 ] || skip "needs root for hosts of its own"
expect 0 "$source_dir/scripts/exam" --build "$build" --full --drawn 1000 --mutate all
printf '%s\n' "$out" | grep -v '^pass'
prints "false alarms 0 of"
# Other clean nodes than those of every day.
expect 0 "$source_dir/scripts/exam" --build "$build" --faults "$tmp" --clean 600 --seed 7
prints "false alarms 0 of 600"
printf '%s\n' "$out"
