# What depends on timing, again and again: the guard's tests twenty times, the
# kill and signal tests twice.
. "$(dirname "$0")/../cli/lib.sh"
for i in $(seq 20); do
	"$TREE/tests/unit/test_guard" >"$tmp/log" 2>&1 || { grep -v OK "$tmp/log" | tail -n 20; fail "guard, time $i"; }
done
for i in $(seq 2); do
	for t in signals kill9; do
		bash "$source_dir/tests/cli/$t.sh" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; fail "$t, time $i"; }
	done
done
