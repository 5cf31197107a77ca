# Two nodes on shared storage at once, one with its clock hours ahead: what a killed run
# left there on each goes away before, what this one writes goes away after, and both were
# at work at the same time.
count=2
. "$(dirname "$0")/lib.sh"
path=$tmp/shared
for n in 0 1; do
	mkdir -p "$path/.assay-0123456789abcdef/node$n"
	: >"$path/.assay-0123456789abcdef/node$n/.lock"
	: >"$path/.assay-0123456789abcdef/node$n/data"
done
skew=$(dirname "$(readlink -f "$ASSAY")")/tests/cluster/skew.so
[ -e "$skew" ] || skip "not built: $skew"
on_node node1 "exec env LD_PRELOAD=$skew SKEW_S=10810 \"\$@\""
ASSAY=$tmp/rank launch openmpi run --nodes 2 --out "$tmp/run" --budget quick --only storage_all --storage "$path" \
	$(printf -- '--set storage_all.%s ' size=4M stream_size=4M write_s=1 base_s=0.2 ramp_s=0 hold_s=0.5 stream_s=0.5)
wait $launcher
expect 0 "$ASSAY" verify "$tmp/run"
for n in 0 1; do
	grep -q "left-overs of a killed run: .*/node$n" "$tmp/err" || fail "node$n did not clean up: $(tail -n 3 "$tmp/err")"
done
grep -q "storage_all: 2 nodes together" "$tmp/err" || fail "nobody said what is done: $(tail -n 3 "$tmp/err")"
[ "$(grep -c '"probe":"storage_all".*"outcome":"measured"' "$tmp/run/readings.jsonl")" -ge 5 ] ||
	fail "not measured: $(grep -o '"text":"[^"]*' "$tmp/run/readings.jsonl" | sort | uniq -c | sort -n | tail -n 3)"
[ -z "$(ls -A "$path")" ] || fail "left: $(find "$path")"
# The start was common, whatever the clocks say, and they are said to differ.
grep -q "the clock of node1 is 3 h 00 min ahead of that of node0" "$tmp/err" || fail "nothing said of the clock: $(tail -n 5 "$tmp/err")"
[ "$(grep -c "clock of node" "$tmp/err")" = 1 ] || fail "said more than once: $(grep "clock of node" "$tmp/err")"
