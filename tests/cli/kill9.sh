# kill -9 of assay, of a guard, of fio: no orphan, nothing left behind.
. "$(dirname "$0")/lib.sh"
mkdir "$tmp/store"
short="--set storage.size=512M --set storage.pairs=0 --set storage.hold_s=1"

start() { # DIR
	"$ASSAY" run --budget quick --only storage $short --out "$1" --storage "$tmp/store" >"$tmp/out" 2>"$tmp/err" </dev/null &
	pid=$!
	disown $pid # bash would report the kill
	wait_until 40 fio_runs || fail "fio never started: $(cat "$tmp/err")"
}
gone() { case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$pid/status" 2>/dev/null) in Z* | '') return 0 ;; esac; return 1; }
fio_runs() { [ -n "$(fio_pids)" ]; }
fio_pids() {
	local p
	for p in $(live_processes "$tmp/store"); do
		[ "$(cat "/proc/$p/comm" 2>/dev/null)" = fio ] && echo "$p"
	done
}
child_with() { # PID WORD: a descendant whose command line has the word
	local p
	for p in $(pgrep -P "$1" 2>/dev/null); do
		tr '\0' ' ' <"/proc/$p/cmdline" 2>/dev/null | grep -q -- "$2" && echo "$p"
		child_with "$p" "$2"
	done
}
clean_afterwards() {
	wait_until 20 nothing_runs "$tmp/store" || fail "$1: still running: $(live_processes "$tmp/store")"
	wait_until 20 no_scratch "$tmp/store" || fail "$1: scratch left"
}

start "$tmp/a"
kill -9 $pid
wait_until 20 gone
clean_afterwards "kill -9 of assay"
expect 0 "$ASSAY" verify "$tmp/a"
prints "cut"

start "$tmp/b"
kill -9 $(child_with $pid --guard | head -n 1)
wait_until 60 gone
clean_afterwards "kill -9 of the guard"
grep -q '"code":"guard_lost"' "$tmp/b/readings.jsonl" || fail "no guard_lost reading"
expect 0 "$ASSAY" verify "$tmp/b"

start "$tmp/c"
kill_fio() { local p; p=$(fio_pids); [ -n "$p" ] && kill -9 $p 2>/dev/null; }
wait_until 30 kill_fio || fail "no fio to kill"
wait_until 60 gone
clean_afterwards "kill -9 of fio"
grep -E '"outcome":"(failed|not_measured)"' "$tmp/c/readings.jsonl" | grep -qi 'fio' || fail "no word of fio's end"
! grep '"metric":"storage_read_iops"' "$tmp/c/readings.jsonl" | grep '"value":0[,}]' | grep -q . || fail "a killed fio reads as 0"

# Both at once: what is left is swept by the next start, and only that.
start "$tmp/d"
guards=$(child_with $pid --guard)
kill -9 $pid $guards
wait_until 20 gone
wait_until 20 nothing_runs "$tmp/store" || fail "both: still running: $(live_processes "$tmp/store")"
mkdir -p "$tmp/store/precious" && echo keep >"$tmp/store/precious/file"
"$ASSAY" run --budget quick --only storage $short --out "$tmp/e" --storage "$tmp/store" >/dev/null 2>"$tmp/err"
no_scratch "$tmp/store" || fail "left-overs were not swept: $(find "$tmp/store")"
[ "$(cat "$tmp/store/precious/file")" = keep ] || fail "a file of the customer is gone"
