# A node breaks, in every phase of a run and in every way, under both MPIs: the others
# finish, the scorecard comes, the node is lost with phase and last sign of life, and a
# resume completes what is missing.
. "$(dirname "$0")/../cluster/lib.sh"

quick="--budget quick --lost-after 5"
dir=$tmp/run
victim=2
mkdir "$tmp/shared"

# Options that make a phase long enough for a blow to fall into it, and the line that tells
# that it has begun.
phase() {
	case $1 in
	cards) args="--only inventory,jitter --set jitter.seconds=0.2" line="phase cards" probe=jitter ;;
	pairs) args="--only inventory,net --set net.seconds=1" line="6 of 6 pairs" probe=net ;;
	groups) args="--only inventory,group $(printf -- '--set group.%s ' seconds=1 bytes=64K silence_s=60 meet_s=60)"
		line="group: 4 nodes together" probe=group ;;
	storage) args="--only inventory,storage_all --storage $tmp/shared $(printf -- '--set storage_all.%s ' \
		size=4M stream_size=4M write_s=1 base_s=0.2 ramp_s=0 hold_s=1 stream_s=0.5)"
		line="storage_all: 4 nodes together" probe=storage_all ;;
	training) args="--only inventory,training $(printf -- '--set training.%s ' sizes=doubling cpu_width=64 \
		cpu_tokens=64 run_s=1 interface=eth0)"
		line="training: 4 nodes together" probe=training ;;
	esac
}

stopped() { case $(sed -n 's/^State:[[:space:]]*//p' "/proc/$1/status" 2>/dev/null) in T*) true ;; *) false ;; esac }
# The child that measures on the victim stands still, so that nothing is over before the
# blow: of one that is just ending the next is taken. Those of nodes together only.
stop_child() {
	for _ in $(seq 100); do
		child=$(child_on $victim)
		[ -n "$child" ] && kill -STOP "$child" 2>/dev/null || continue
		wait_until 1 stopped "$child" && return 0
	done
	fail "$name: no child on node$victim to stop"
}

# strike HOW: then $hit is what to clear away.
strike() {
	rank=$(rank_on $victim)
	case $1 in
	kill) kill -9 "$rank" ;;
	stop) kill -STOP "$rank" ;;
	cut) "$cluster/hosts" cut "$hosts" $victim ;;
	power) "$cluster/hosts" kill "$hosts" $victim ;;
	esac || fail "$name: node$victim cannot be struck"
}
alone_ends() { [ -z "$(rank_on $victim)" ] && [ -z "$(child_now)" ]; }
child_now() {
	local pid
	for pid in $("$cluster/hosts" pids "$hosts" $victim); do
		tr '\0' '\n' <"/proc/$pid/cmdline" | sed -n 2p | grep -qx -- --child && echo "$pid"
	done 2>/dev/null
}
mend() {
	# Who hears nothing of rank 0 any more ends its part, and its children.
	[ "$1" != cut ] || wait_until 60 alone_ends || fail "$name: the lost node goes on alone"
	case $1 in
	power) "$cluster/hosts" boot "$hosts" $victim ;;
	*)
		sweep $victim
		[ "$1" != cut ] || "$cluster/hosts" join "$hosts" $victim
		[ "$2" != cards ] || on $victim umount -l /proc/stat ;;
	esac
}

# Either the others end by themselves, or the launcher ends all of them: then a resume on
# the nodes that are left completes the run.
ended() { grep -q "run digest" "$tmp/out" || ! kill -0 $launcher 2>/dev/null; }
others_finish() {
	wait_until 120 ended || fail "$name: no end"
	if grep -q "run digest" "$tmp/out"; then
		end_launcher
		grep -q "node$victim was lost in phase $2" "$tmp/err" || fail "$name: not lost: $(grep -v PMIX "$tmp/err" | tail -n 3)"
		grep -q "node$victim was lost in phase $2: .*; last sign of life 2" "$tmp/err" || fail "$name: no last sign of life"
		[ "$(grep -c '"outcome":"lost"' "$dir/readings.jsonl")" -ge 1 ] || fail "$name: no lost reading"
		echo "$name: the others finished"
		return
	fi
	wait $launcher
	[ "$1" = power ] || fail "$name: the launcher ended all: $(tail -n 3 "$tmp/err")"
	sweep 0; sweep 1; sweep 3
	# Nodes 0 and 1 are in a row, which is enough of a rest.
	count=2
	launch $mpi run --resume "$dir" --lost-after 5
	until_judged
	count=4
	echo "$name: the launcher ended all, two nodes resumed"
}

# case_of MPI PHASE HOW
case_of() {
	mpi=$1 name="$1, $2, $3"
	rm -rf "$dir"
	phase "$2"
	[ "$2" != cards ] || hold $victim
	launch "$mpi" run --nodes 4 --out "$dir" $quick $args
	until_line "$tmp/err" "$line"
	[ "$2" = cards ] || stop_child
	strike "$3"
	others_finish "$3" "$2"
	expect 0 "$ASSAY" verify "$dir"
	[ -s "$dir/scorecard.json" ] || fail "$name: no scorecard"
	for n in 0 1; do
		[ "$(count "$dir" node$n inventory measured)" -gt 10 ] || fail "$name: nothing of node$n"
	done
	mend "$3" "$2"
	[ -z "$(find "$tmp/shared" -mindepth 1 ! -path "*/node$victim*" ! -name '.assay-*' 2>/dev/null)" ] ||
		fail "$name: left on shared storage: $(find "$tmp/shared" | head -n 5)"
}

for mpi in openmpi mpich; do
	for how in kill stop cut power; do
		case_of $mpi cards $how
		case_of $mpi groups $how
	done
	for in in pairs storage training; do
		case_of $mpi $in kill
		case_of $mpi $in cut
	done
	# The last of these goes on where it stopped.
	rm -rf "$tmp/shared/"
	mkdir "$tmp/shared"
	launch $mpi run --resume "$dir"
	wait $launcher
	expect 0 "$ASSAY" verify "$dir"
	[ "$(grep -c "\"probe\":\"$probe\".*\"outcome\":\"measured\"" "$dir/readings.jsonl")" -ge 1 ] ||
		fail "$mpi: nothing of $probe after a resume: $(tail -n 3 "$tmp/err")"
done

# A child that hangs: its deadline, on that node alone. The rank is well, so nobody is lost.
mpi=openmpi name="a child hangs"
rm -rf "$dir"
phase cards
hold $victim
launch $mpi run --nodes 4 --out "$dir" $quick $args
until_judged
on $victim umount -l /proc/stat
! grep -q "was lost" "$tmp/err" || fail "$name: $(grep 'was lost' "$tmp/err")"
[ "$(grep -c "\"node\":\"node$victim\".*\"probe\":\"jitter\".*\"outcome\":\"\(timed_out\|not_measured\)\"" "$dir/readings.jsonl")" -ge 3 ] ||
	fail "$name: $(grep -o '"outcome":"[a-z_]*"' "$dir/readings.jsonl" | sort | uniq -c)"
for n in 0 1 3; do
	[ "$(count "$dir" node$n jitter measured)" = 3 ] || fail "$name: jitter of node$n"
done
expect 0 "$ASSAY" verify "$dir"

# A rank that never says who it is: its node's /etc does not answer.
name="no hello"
rm -rf "$dir"
[ -p "$tmp/hold" ] || mkfifo "$tmp/hold"
on $victim mount --bind "$tmp/hold" /etc/machine-id
launch $mpi run --nodes 4 --out "$dir" $quick $args
until_line "$tmp/err" "no word within"
until_judged
on $victim umount -l /etc/machine-id
sweep $victim
grep -q "rank-$victim was lost in phase hello: no word within" "$tmp/err" || fail "$name: $(tail -n 3 "$tmp/err")"
[ -s "$dir/scorecard.json" ] || fail "$name: no scorecard"
expect 0 "$ASSAY" verify "$dir"
