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
sed 's/$/ slots=1/' "$hosts/names" >"$hosts/slots"

# launch openmpi|mpich args...: runs assay on all hosts, rank 0 on node0. What it
# says goes to $tmp/out and $tmp/err, to files that no orphan can hold open.
launch() {
	local mpi=$1 command
	shift
	command="timeout -k 5 200 mpirun.openmpi --hostfile $hosts/slots -np $count --map-by node --enable-recovery \
		--mca pml ob1 --mca btl self,tcp --mca plm_rsh_agent $hosts/rsh"
	[ "$mpi" = openmpi ] || command="timeout -k 5 200 mpiexec.hydra -disable-auto-cleanup -f $hosts/names \
		-ppn 1 -np $count -launcher ssh -launcher-exec $hosts/rsh"
	TMPDIR=$tmp OMPI_MCA_btl_tcp_if_include=eth0 "$hosts/rsh" node0 \
		"export TMPDIR=$tmp; $command $ASSAY $*" >"$tmp/out" 2>"$tmp/err" </dev/null &
	launcher=$!
}

# until FILE PATTERN: waits for a line, at most two minutes.
until_line() {
	for _ in $(seq 1200); do
		grep -q "$2" "$1" 2>/dev/null && return 0
		sleep 0.1
	done
	fail "no line with '$2' in $1: $(tail -n 3 "$1")"
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
	for pid in $("$cluster/hosts" pids "$hosts" 0); do
		kill -9 "$pid" 2>/dev/null
	done
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
