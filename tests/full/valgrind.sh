# The unit tests of parsing, judging and printing under valgrind.
. "$(dirname "$0")/../cli/lib.sh"
command -v valgrind >/dev/null || apt-get -qq -y install valgrind >/dev/null 2>&1 || skip "valgrind cannot be had"
for t in base json journal rundir attempts profile rules verdict coverage cards report; do
	[ -x "$TREE/tests/unit/test_$t" ] || continue
	valgrind -q --error-exitcode=9 --leak-check=full "$TREE/tests/unit/test_$t" >"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log"; fail "$t"; }
done
