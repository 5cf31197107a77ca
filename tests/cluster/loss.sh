# What breaks one node leaves the others a run, a scorecard, and something to resume.
. "$(dirname "$0")/lib.sh"

# A rank that is well may have to wait for a processor.
args="--only inventory,jitter --budget quick --set jitter.seconds=6 --lost-after 4"
dir=$tmp/run

# begin MPI: a run that has reached the cards.
begin() {
	rm -rf "$dir"
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
}

for mpi in openmpi mpich; do
	begin $mpi
	end -9 2
	lost node2 ""
	# The children of a rank that is dead end by themselves.
	for _ in $(seq 100); do
		[ -n "$("$cluster/hosts" pids "$hosts" 2)" ] || break
		sleep 0.1
	done
	[ -z "$("$cluster/hosts" pids "$hosts" 2)" ] || fail "$mpi: processes are left on node2"

	begin $mpi
	"$cluster/hosts" cut "$hosts" 3
	lost node3 "silent"
	"$cluster/hosts" join "$hosts" 3
	for p in $("$cluster/hosts" pids "$hosts" 3); do kill -9 "$p" 2>/dev/null; done

	# One MPI is enough for what MPI has no part in.
	[ $mpi = mpich ] || continue
	begin $mpi
	end -STOP 1
	stopped=$pid
	lost node1 "silent"
	kill -9 "$stopped"
done

# The last of these is completed: what was lost is measured, and stays visible.
launch openmpi run --resume "$dir"
wait $launcher
expect 0 "$ASSAY" verify "$dir"
[ "$(count "$dir" node1 jitter measured)" = 3 ] || fail "not resumed: $(tail -n 3 "$tmp/err")"
[ "$(count "$dir" node1 jitter lost)" = 7 ] || fail "the loss was removed"

# Rank 0 dies: the others end by themselves, and the run is resumed.
begin openmpi
end -9 0
for _ in $(seq 300); do
	left=$(for n in 1 2 3; do rank_on $n; done)
	[ -n "$left" ] || break
	sleep 0.1
done
[ -z "$left" ] || fail "without rank 0 the others live on"
end_launcher
expect 0 "$ASSAY" verify "$dir"
launch openmpi run --resume "$dir"
wait $launcher
for n in 0 1 2 3; do
	[ "$(count "$dir" node$n jitter measured)" -ge 3 ] || fail "node$n was not measured after all"
done
expect 0 "$ASSAY" verify "$dir"
id=$(sed -n 's/.*"id": "\([0-9a-f]*\)".*/\1/p' "$dir/run.json")
[ ! -e "$tmp/.assay-$id" ] || fail "a spool was left: $(find "$tmp/.assay-$id")"
