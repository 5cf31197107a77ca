# SIGINT and SIGTERM in the middle: journal closed, files removed, a partial
# scorecard, 130 and 143; --resume completes the run.
. "$(dirname "$0")/lib.sh"
mkdir "$tmp/store"

interrupt() { # SIGNAL DIR
	"$ASSAY" run --budget quick --only inventory,storage --out "$2" --storage "$tmp/store" --set storage.runtime_s=2 --set storage.depths=8 --set storage.size=256M --set storage.pairs=0 --set storage.hold_s=1 >"$tmp/out" 2>"$tmp/err" </dev/null &
	local pid=$!
	wait_until 30 sh -c "find '$tmp/store' -type f -size +1M | grep -q ." || fail "storage never started"
	kill -"$1" $pid
	wait $pid
	code=$?
	wait_until 10 nothing_runs "$tmp" || fail "still running: $(live_processes "$tmp")"
	no_scratch "$tmp" || fail "scratch left: $(find "$tmp" -name '.assay-*')"
}

interrupt INT "$tmp/int"
[ $code = 130 ] || fail "SIGINT: exit $code"
grep -q INCOMPLETE "$tmp/out" || fail "no partial scorecard: $(cat "$tmp/err")"
[ -s "$tmp/int/scorecard.json" ] || fail "no scorecard.json"
expect 0 "$ASSAY" verify "$tmp/int"
prints "cut"
interrupt TERM "$tmp/term"
[ $code = 143 ] || fail "SIGTERM: exit $code"
expect 0 "$ASSAY" verify "$tmp/term"

# A disk that others keep busy can be too slow for the guide: rejected, not incomplete.
resume() {
	"$ASSAY" run --resume "$tmp/int" >"$tmp/out" 2>"$tmp/err" </dev/null
	code=$?
	[ $code = 1 ] || [ $code = 2 ] || fail "resume: exit $code: $(tail -n 3 "$tmp/err")"
}

# What was not measured is tried again, with the same seed, as attempt 2.
resume
grep '"metric":"storage_read_iops"' "$tmp/int/readings.jsonl" | grep -q '"attempt":2' || fail "no second attempt"
expect 0 "$ASSAY" verify "$tmp/int"
prints "intact"
prints_not "cut"
# What is measured stays: a second resume leaves it alone.
before=$(grep -c '"metric":"storage_read_iops"' "$tmp/int/readings.jsonl")
resume
after=$(grep -c '"metric":"storage_read_iops"' "$tmp/int/readings.jsonl")
[ "$before" = "$after" ] || fail "storage ran again: $before, $after"
no_scratch "$tmp" || fail "scratch left after resume"
