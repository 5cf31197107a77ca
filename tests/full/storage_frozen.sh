# Storage that stops answering: whatever waits for it cannot be killed. The run ends
# all the same, by its deadline or when it is told to, says what happened, and lets
# nothing linger once the storage is back.
. "$(dirname "$0")/../storage/lib.sh"
least="--set storage.size=64M --set storage.runtime_s=0.5 --set storage.ramp_s=0 --set storage.depths=8 --set storage.pairs=0 --set storage.hold_s=0"
# A minute and three times what is planned, then TERM, KILL and giving up: of the
# child, and of the guard that would clean up.
deadline_s=150
declare -A pid started

start() { # NAME: begins a run on $tmp/NAME
	"$assay" probe storage --storage "$tmp/$1" $least >"$tmp/$1.readings" 2>"$tmp/$1.err" </dev/null &
	pid[$1]=$!
	started[$1]=$SECONDS
}
stopped() { # NAME: its run is at an end
	case $(sed -n 's/^State:[[:space:]]*//p' "/proc/${pid[$1]}/status" 2>/dev/null) in Z* | '') return 0 ;; esac
	return 1
}
# await NAME SECONDS: its exit is in $code; waits no longer than that after its start.
await() {
	if WAIT_LEAST=0 wait_until $((started[$1] + $2 - SECONDS)) stopped "$1"; then
		wait "${pid[$1]}"
		code=$?
		echo "$1: exit $code after $((SECONDS - started[$1])) s"
		parts_done=$((parts_done + 1))
	else
		fail "$1: still there after $((SECONDS - started[$1])) s, in $(cat "/proc/${pid[$1]}/wchan"); of ours: $(ours)"
		code=none
	fi
}
written() { [ -n "$(find "$tmp/$1" -name data -size +1M 2>/dev/null)" ]; }
freeze() { # NAME: while it is written
	start "$1"
	wait_until 30 written "$1" || fail "$1: nothing was written"
	frozen+=("$tmp/$1")
	fsfreeze -f "$tmp/$1" || fail "$1: not frozen"
}
told='all(r["outcome"] == "measured" or r["reason"]["text"] for r in readings)'

icy=no fuse=no
if loop_at "$tmp/ice" ext4 "$tmp/ice.img" 3G && loop_at "$tmp/snow" ext4 "$tmp/snow.img" 3G &&
	fsfreeze -f "$tmp/ice" 2>"$tmp/.mount" && fsfreeze -u "$tmp/ice"; then
	icy=yes
else
	without "freezing ext4 on loop devices: $(why_not)"
fi
if [ -x "$CHEAT" ] && [ -c /dev/fuse ] && cheat_at "$tmp/hang" mode=hang,after=1500 && cheat_at "$tmp/dead" mode=dead,after=1500; then
	fuse=yes
else
	without "FUSE"
fi

# All at once, for all they do is wait.
[ $fuse = no ] || { start hang; start dead; }
[ $icy = no ] || { freeze snow; freeze ice; }
if [ $icy = yes ]; then
	# Told to end: within the seconds that killing and giving up take.
	kill -TERM "${pid[snow]}"
	await snow $((SECONDS - started[snow] + 40))
	[ "$code" = 143 ] || fail "snow: exit $code"
	holds snow "$told" 'outcome("storage_read_iops") != "measured"'
fi
if [ $fuse = yes ]; then
	# fio's reads hang, all else works.
	await hang 90
	[ "$code" = 1 ] || fail "hang: exit $code"
	holds hang 'outcome("storage_read_iops") == "timed_out"' "$told" '"fio" in why("storage_read_iops")'
	# Nothing works any more, not even removing our files.
	await dead $deadline_s
	[ "$code" = 1 ] || fail "dead: exit $code"
	holds dead 'outcome("storage_read_iops") == "timed_out"' "$told"
fi
if [ $icy = yes ]; then
	await ice $deadline_s
	[ "$code" = 1 ] || [ "$code" = 2 ] || fail "ice: exit $code"
	holds ice "$told" 'outcome("storage_read_iops") in ("timed_out", "not_measured")'
fi

# The storage is back: everything that waited for it goes.
for dir in "${frozen[@]}"; do fsfreeze -u "$dir"; done
frozen=()
kill "${cheats[@]}" 2>/dev/null
wait_until 20 none_of_ours || fail "lingering: $(ours)"
# What was left on it is removed by the next run there.
if [ $icy = yes ]; then
	"$assay" run --only storage --out "$tmp/next" --storage "$tmp/ice" $least >/dev/null 2>"$tmp/next.err" </dev/null
	clean "$tmp/ice"
fi
done_or_skip
