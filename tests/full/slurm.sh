# Real Slurm: four nodes that are daemons of this machine, with a key, ports and folders
# of their own. A batch job and srun under both MPIs, a rank that dies, a job that is
# asked to end, and the start without an MPI.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
[ "$(id -u)" = 0 ] || skip "needs root for the daemons of Slurm"
need_packages slurm-wlm slurm-wlm-basic-plugins munge libpmix2 >"$tmp/log" || skip "Slurm cannot be had: $(tail -n 1 "$tmp/log")"
for mpi in openmpi mpich; do
	[ -e "$(dirname "$ASSAY")/assay_comm_$mpi.so" ] || skip "not built: the module for $mpi"
done

# --- the daemons --------------------------------------------------------------------

d=$tmp/slurm
mkdir -p "$d"/{state,log,tmp/sn{0..3},spool/sn{0..3}}
chmod 755 "$tmp"
base=$((20000 + $$ * 20 % 10000))
host=$(hostname -s)
at_exit='end_daemons'
end_daemons() {
	local f pid
	for f in "$d"/slurmd-*.pid "$d/ctld.pid" "$d/munge.pid"; do
		pid=$(cat "$f" 2>/dev/null) && kill "$pid" 2>/dev/null && wait_until 10 gone "$pid" || kill -9 "$pid" 2>/dev/null
	done
	# Steps that a daemon left behind.
	for pid in $(live_processes "$d"); do kill -9 "$pid" 2>/dev/null; done
}
gone() { ! kill -0 "$1" 2>/dev/null; }

head -c 1024 /dev/urandom >"$d/key"
chmod 400 "$d/key"
munged --force --key-file="$d/key" --socket="$d/munge" --pid-file="$d/munge.pid" --log-file="$d/log/munge" \
	--seed-file="$d/seed" --num-threads=2 2>"$tmp/log" || skip "munged does not start: $(tail -n 1 "$tmp/log")"
cat >"$d/slurm.conf" <<CONF
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket=$d/munge
StateSaveLocation=$d/state
SlurmdSpoolDir=$d/spool/%n
# Each node its own, or PMIx of one removes what another made.
TmpFS=$d/tmp/%n
SlurmctldPidFile=$d/ctld.pid
SlurmdPidFile=$d/slurmd-%n.pid
SlurmctldLogFile=$d/log/ctld
SlurmdLogFile=$d/log/slurmd-%n
SlurmctldPort=$base
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/builtin
MpiDefault=none
MpiParams=ports=$((base + 10))-$((base + 19))
ReturnToService=2
SwitchType=switch/none
SlurmdParameters=config_overrides
NodeName=sn[0-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((base + 1))-$((base + 4))] CPUs=4 RealMemory=1000 State=UNKNOWN
PartitionName=all Nodes=sn[0-3] Default=YES State=UP MaxTime=INFINITE
CONF
export SLURM_CONF=$d/slurm.conf
slurmctld -c -f "$SLURM_CONF" 2>"$tmp/log" || skip "slurmctld does not start: $(tail -n 1 "$tmp/log")"
for i in 0 1 2 3; do
	slurmd -c -N sn$i -f "$SLURM_CONF" 2>"$tmp/log" || skip "slurmd does not start: $(tail -n 1 "$tmp/log")"
done
idle() { [ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 4 ]; }
wait_until 60 idle || skip "the nodes of Slurm do not come up: $(sinfo -h 2>&1 | tail -n 1) $(tail -n 1 "$d/log/slurmd-sn0" "$d/log/ctld")"

# --- Assay as it is copied to a cluster, once with each module ----------------------------

# The nodes share one kernel and its name; each gets a name of its own.
for mpi in openmpi mpich; do
	home=$tmp/$mpi
	mkdir -p "$home/scripts"
	cp -r "$source_dir/scripts/cluster" "$home/scripts/"
	ln -s "$(dirname "$(readlink -f "$ASSAY")")/assay_comm_$mpi.so" "$home/"
	cat >"$home/assay" <<-RANK
		#!/bin/sh
		exec unshare --uts sh -c 'hostname "\$0" && exec "\$@"' "\$SLURMD_NODENAME" "$(readlink -f "$ASSAY")" "\$@"
	RANK
	chmod +x "$home/assay"
done
few="--only inventory,jitter --budget quick --lost-after 3"
# batch NAME options of assay run: $job is its number.
batch() {
	dir=$tmp/run-$mpi-$1 log=$tmp/job-$mpi-$1
	shift
	job=$(cd "$tmp/$mpi" && ASSAY_OUT=$dir timeout -k 5 180 sbatch --parsable --nodes=4 --output="$log" ${wait:-} \
		scripts/cluster/assay.sbatch $few "$@" 2>"$tmp/.err")
}
judged() {
	grep -q "run digest" "$log" || fail "$mpi: no scorecard: $(tail -n 5 "$log")"
	[ -s "$dir/scorecard.json" ] || fail "$mpi: no scorecard.json"
	expect 0 "$ASSAY" verify "$dir"
}
measured() { grep -c "\"node\":\"$1\".*\"probe\":\"jitter\".*\"outcome\":\"measured\"" "$dir/readings.jsonl"; }
in_log() { grep -q "$1" "$log" 2>/dev/null; }
over() { [ -z "$(squeue -h -j "$job" 2>/dev/null)" ]; }
# The pid of the rank itself on that node.
rank_on() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe")" = "$(readlink -f "$ASSAY")" ] && tr '\0' '\n' <"$p/environ" | grep -qx "SLURMD_NODENAME=$1" &&
			tr '\0' '\n' <"$p/cmdline" | sed -n 2p | grep -qx run && echo "${p#/proc/}"
	done 2>/dev/null | head -n 1
}

for mpi in openmpi mpich; do
	# The verdict is the exit code of the job: nodes with one kernel are not what was bought.
	wait=--wait batch whole --set jitter.seconds=0.2
	code=$?
	[ $code = 1 ] || fail "$mpi: sbatch --wait: exit $code: $(cat "$tmp/.err") $(tail -n 5 "$log")"
	judged
	in_log "4 nodes are there" || fail "$mpi: $(head -n 20 "$log")"
	for n in 0 1 2 3; do
		[ "$(measured sn$n)" = 3 ] || fail "$mpi: $(measured sn$n) readings of jitter on sn$n"
	done

	# A rank dies: the others finish.
	batch dies --set jitter.seconds=8
	wait_until 60 in_log "phase cards" || fail "$mpi: no phase: $(tail -n 5 "$log")"
	kill -9 "$(rank_on sn2)" || fail "$mpi: no rank on sn2"
	wait_until 120 over || fail "$mpi: the job does not end"
	judged
	in_log "sn2 was lost in phase cards" || fail "$mpi: not lost: $(tail -n 5 "$log")"
	[ "$(measured sn2)" = 0 ] && [ "$(measured sn3)" = 3 ] || fail "$mpi: jitter on sn2, sn3: $(measured sn2), $(measured sn3)"
	in_log "left" && fail "$mpi: $(grep left "$log")"

	# As Slurm does ahead of the end of a job's time.
	batch asked --set jitter.seconds=60
	wait_until 60 in_log "phase cards" || fail "$mpi: no phase: $(tail -n 5 "$log")"
	scancel --batch --signal=TERM "$job"
	wait_until 90 over || fail "$mpi: the job does not end when asked"
	judged
	in_log "cut: the run ended" || fail "$mpi: not cut: $(tail -n 5 "$log")"
	wait_until 10 nothing_runs "$dir" || fail "$mpi: left: $(live_processes "$dir")"
done

# srun alone.
for way in openmpi:pmix mpich:pmi2; do
	mpi=${way%:*} dir=$tmp/run-${way#*:} log=$tmp/.out
	expect 1 timeout -k 5 120 srun --mpi=${way#*:} -N4 --ntasks-per-node=1 "$tmp/$mpi/assay" run --nodes 4 --out "$dir" $few --set jitter.seconds=0.2
	judged
done
# Four jobs of one rank each would be no cluster.
expect 3 timeout -k 5 60 srun --mpi=none -N4 --ntasks-per-node=1 "$tmp/openmpi/assay" run --nodes 4 --out "$tmp/none"
[ "$(printf '%s\n' "$err" | grep -c '^assay: ')" = 1 ] || fail "not one sentence: $err"
[ ! -e "$tmp/none" ] || fail "something was written"
