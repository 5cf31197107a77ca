# What breaks one node leaves the others a run, a scorecard, and something to resume.
# Every phase, and every way to break, under both MPIs: tests/full/loss.sh.
. "$(dirname "$0")/lib.sh"

# A rank that is well may have to wait for a processor.
args="--only inventory,jitter --budget quick --set jitter.seconds=0.2 --lost-after 5"
dir=$tmp/run

# begin MPI VICTIM: a run that is in the phase of the cards, and stays there for it.
begin() {
	rm -rf "$dir"
	hold "$2"
	launch $1 run --nodes 4 --out "$dir" $args
	until_line "$tmp/err" "phase cards"
}

# end SIGNAL I: to the rank on node I, whose pid is then $pid.
end() {
	pid=$(rank_on "$2")
	[ -n "$pid" ] && kill "$1" "$pid" || fail "no rank on node$2"
}

# lost NODE WHY: the run went on without it, and says so.
lost() {
	until_judged
	grep -q "$1 was lost in phase cards: $2" "$tmp/err" || fail "$mpi: not lost: $(grep -v PMIX "$tmp/err" | tail -n 3)"
	expect 0 "$ASSAY" verify "$dir"
	[ "$(count "$dir" "$1" jitter lost)" = 7 ] || fail "$mpi: $(count "$dir" "$1" jitter lost) lost readings of $1"
	[ "$(count "$dir" "$1" inventory measured)" -gt 10 ] || fail "$mpi: inventory of $1 is gone"
	for n in 0 1 2 3; do
		[ node$n = "$1" ] || [ "$(count "$dir" node$n jitter measured)" = 3 ] || fail "$mpi: jitter of node$n"
	done
	[ -s "$dir/scorecard.json" ] || fail "$mpi: no scorecard"
	let_go "${1#node}"
}
none_on() { [ -z "$("$cluster/hosts" pids "$hosts" "$1")" ]; }

mpi=openmpi
begin $mpi 2
end -9 2
lost node2 ""
# The children of a rank that is dead end by themselves.
wait_until 10 none_on 2 || fail "$mpi: processes are left on node2"

mpi=mpich
begin $mpi 3
"$cluster/hosts" cut "$hosts" 3
lost node3 "silent"
"$cluster/hosts" join "$hosts" 3
sweep 3

mpi=openmpi
begin $mpi 1
end -STOP 1
stopped=$pid
lost node1 "silent"
kill -9 "$stopped"

# The last of these is completed: what was lost is measured, and stays visible.
launch openmpi run --resume "$dir"
wait $launcher
expect 0 "$ASSAY" verify "$dir"
[ "$(count "$dir" node1 jitter measured)" = 3 ] || fail "not resumed: $(tail -n 3 "$tmp/err")"
[ "$(count "$dir" node1 jitter lost)" = 7 ] || fail "the loss was removed"

# Rank 0 itself stands still, longer than anybody may be silent: nobody was, and the time
# is everybody's once more. What a launcher exports need not be there on each node.
program=$ASSAY
on_node node3 'TMPDIR=/nowhere/tmp exec "$@"'
ASSAY=$tmp/rank
begin openmpi 2
ASSAY=$program
pid=$(rank_on 0)
kill -STOP "$pid"
sleep 7
kill -CONT "$pid"
until_line "$tmp/err" "rank 0 stood still for 7 s"
let_go 2
until_judged
rm -rf "/var/tmp/.assay-$(sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' "$dir/run.json")"
grep -q "/nowhere/tmp.*is kept in /var/tmp/" "$tmp/err" || fail "it is not said where the lines of node3 are kept: $(tail -n 5 "$tmp/err")"
! grep "was lost" "$tmp/err" || fail "nobody was silent"
for n in 0 1 2 3; do
	# What held node2 had no figures in it.
	[ "$(count "$dir" node$n jitter lost)" = 0 ] && { [ $n = 2 ] || [ "$(count "$dir" node$n jitter measured)" = 3 ]; } ||
		fail "rank 0 stood still: jitter of node$n"
done
expect 0 "$ASSAY" verify "$dir"

# Rank 0 dies: the others end by themselves, and the run is resumed without its node.
begin openmpi 0
end -9 0
gone() { [ -z "$(for n in 1 2 3; do rank_on $n; done)" ]; }
wait_until 30 gone || fail "without rank 0 the others live on"
end_launcher
let_go 0
expect 0 "$ASSAY" verify "$dir"
first=1 count=3
launch openmpi run --resume "$dir"
wait $launcher
for n in 1 2 3; do
	[ "$(count "$dir" node$n jitter measured)" -ge 3 ] || fail "node$n was not measured after all"
done
[ "$(count "$dir" node0 jitter measured)" = 0 ] || fail "node0 was measured by nobody"
[ -s "$dir/scorecard.json" ] || fail "no scorecard without node0"
expect 0 "$ASSAY" verify "$dir"
# What rank 0 may have had on its own disk is that node's to keep.
id=$(sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' "$dir/run.json")
for n in 1 2 3; do
	[ -z "$(ls -d "$tmp/.assay-$id/node$n"-* 2>/dev/null)" ] || fail "a spool of node$n was left"
done
first=0 count=4

# The disk of rank 0 is full: measured to the end, judged by what was saved, said, and
# completed once there is room.
mkdir "$tmp/small"
on 0 mount -t tmpfs -o size=4m small "$tmp/small"
dir=$tmp/small/run
hold 2
launch openmpi run --nodes 4 --out "$dir" $args
until_line "$tmp/err" "phase cards"
on 0 sh -c "cat /dev/zero >'$tmp/small/full'" 2>/dev/null
let_go 2
until_judged
[ "$(grep -c "No space left" "$tmp/err")" -ge 1 ] || fail "nothing is said of the full disk: $(tail -n 5 "$tmp/err")"
grep -q "could not be saved" "$tmp/err" || fail "what is missing is not said: $(tail -n 5 "$tmp/err")"
on 0 rm "$tmp/small/full"
launch openmpi run --resume "$dir"
wait $launcher
on 0 cp -r "$dir" "$tmp/saved"
expect 0 "$ASSAY" verify "$tmp/saved"
for n in 0 1 2 3; do
	[ "$(count "$tmp/saved" node$n jitter measured)" -ge 3 ] || fail "node$n: not completed: $(tail -n 3 "$tmp/err")"
done
