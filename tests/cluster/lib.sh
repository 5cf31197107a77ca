# Sourced by the tests of runs on many hosts: four of them or $count, which are
# namespaces of this machine (hosts), and a launcher of either MPI.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
[ "$(id -u)" = 0 ] || skip "needs root for hosts of its own"
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# The module lies beside the program.
for mpi in openmpi mpich; do
	[ -e "$(dirname "$ASSAY")/assay_comm_$mpi.so" ] || skip "not built: the module for $mpi"
	command -v mpirun.$mpi >/dev/null || skip "mpirun.$mpi is not installed"
done
cluster=$tests_dir/../cluster
hosts=$tmp/hosts
mkdir "$hosts"
at_exit='"$cluster/hosts" down "$hosts"'
count=${count:-4}
"$cluster/hosts" up "$hosts" $count || skip "no namespaces to be had here"
first=0

# launch openmpi|mpich args...: runs assay on $count hosts from node$first on, which has
# rank 0. What it says goes to $tmp/out and $tmp/err, to files that no orphan can hold open.
launch() {
	local mpi=$1 command
	shift
	tail -n +$((first + 1)) "$hosts/names" | head -n "$count" >"$hosts/ranks"
	sed 's/$/ slots=1/' "$hosts/ranks" >"$hosts/slots"
	command="timeout -k 5 200 mpirun.openmpi --hostfile $hosts/slots -np $count --map-by node --enable-recovery \
		--mca pml ob1 --mca btl self,tcp --mca plm_rsh_agent $hosts/rsh"
	[ "$mpi" = openmpi ] || command="timeout -k 5 200 mpiexec.hydra -disable-auto-cleanup -f $hosts/ranks \
		-ppn 1 -np $count -launcher ssh -launcher-exec $hosts/rsh"
	# Of the last run nothing is to be read any more.
	: >"$tmp/out" 2>"$tmp/err"
	TMPDIR=$tmp OMPI_MCA_btl_tcp_if_include=eth0 "$hosts/rsh" node$first \
		"export TMPDIR=$tmp; $command $ASSAY $*" >"$tmp/out" 2>"$tmp/err" </dev/null &
	launcher=$!
}

# until FILE PATTERN: waits for a line, at most two minutes, and as long as somebody is
# there who could write it.
until_line() {
	local alive=yes
	for _ in $(seq 1200); do
		grep -q "$2" "$1" 2>/dev/null && return 0
		[ $alive = yes ] || break
		[ -n "$(jobs -pr)" ] || alive=no
		sleep 0.1
	done
	fail "no line with '$2' in $1: $(tail -n 3 "$1")"
}

# on_node NAME words...: from now on the rank of that node is started by those words, which
# have "$@" for assay and its options.
on_node() {
	local name=$1
	shift
	printf '#!/bin/sh\nset -- %s "$@"\n[ "$(hostname)" = %s ] || exec "$@"\n%s\n' "$(readlink -f "$ASSAY")" "$name" "$*" >"$tmp/rank"
	chmod +x "$tmp/rank"
}

# on I command...: on node I.
on() {
	local pid
	pid=$(cat "$hosts/init.node$1")
	shift
	nsenter -t "$pid" -m -u -i -n "$@"
}

# hold I: what opens /proc/stat on node I (jitter does) waits until it is let go, so that
# nothing is over before the test has done what it wants to do meanwhile.
hold() {
	[ -p "$tmp/hold" ] || mkfifo "$tmp/hold"
	on "$1" mount --bind "$tmp/hold" /proc/stat
}
let_go() {
	on "$1" umount -l /proc/stat
	# Open both ways, which waits for nobody.
	exec 9<>"$tmp/hold"
	cat /proc/stat >&9
	exec 9>&-
}

# Takes what is left on node I.
sweep() {
	local pid
	for pid in $("$cluster/hosts" pids "$hosts" "$1"); do kill -9 "$pid" 2>/dev/null; done
	return 0
}

# The end of the run, whatever the launcher does then: a host that is cut off can
# hold it for ever.
until_judged() {
	until_line "$tmp/out" "run digest"
	end_launcher
}

end_launcher() {
	for _ in $(seq 20); do
		kill -0 $launcher 2>/dev/null || break
		sleep 0.1
	done
	sweep $first
	wait $launcher 2>/dev/null
}

# child_on I: pid of the child that measures on node I; waits for one.
child_on() {
	local pid
	for _ in $(seq 600); do
		for pid in $("$cluster/hosts" pids "$hosts" "$1"); do
			tr '\0' '\n' <"/proc/$pid/cmdline" | sed -n 2p | grep -qx -- --child && echo "$pid" && return
		done 2>/dev/null
		sleep 0.05
	done
}

# rank_on I: pid of assay itself on node I.
rank_on() {
	local pid
	for pid in $("$cluster/hosts" pids "$hosts" "$1"); do
		[ "$(readlink /proc/$pid/exe)" = "$(readlink -f "$ASSAY")" ] &&
			tr '\0' '\n' <"/proc/$pid/cmdline" | sed -n 2p | grep -qx run && echo "$pid"
	done 2>/dev/null | head -n 1
}

# count DIR NODE PROBE OUTCOME: readings of that kind.
count() {
	grep -c "\"node\":\"$2\".*\"probe\":\"$3\".*\"outcome\":\"$4\"" "$1/readings.jsonl"
}
