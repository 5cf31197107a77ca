# Messages between four hosts under both MPIs: large and small, past a rank that dies,
# stops or is cut off; and each misfit of launcher and module said once.
. "$(dirname "$0")/lib.sh"
ring=$(dirname "$ASSAY")/ring

# begin MPI args of ring...: on all hosts; output in $tmp/out, and what is said of a
# loss in $tmp/log.
begin() {
	local mpi=$1
	shift
	: >"$tmp/log"
	ASSAY=$ring launch $mpi --log "$tmp/log" "$@"
}
# Kills what is left on the hosts, by the hosts it is on.
clear_hosts() {
	local n pid
	for n in 0 1 2 3; do
		for pid in $("$cluster/hosts" pids "$hosts" $n); do kill -9 "$pid" 2>/dev/null; done
	done
	wait $launcher 2>/dev/null
}
lines() { [ "$(cat "$tmp/out" "$tmp/log" | grep -c "$1")" = "$2" ]; }

# survivors WHAT VICTIM: the other three notice that one, and nobody else, and end.
survivors() {
	# Little room in the sockets: much is still to be written when it dies.
	[ $1 != choke ] || export OMPI_MCA_btl_tcp_sndbuf=8192 OMPI_MCA_btl_tcp_rcvbuf=8192
	begin $mpi $1 $2
	unset OMPI_MCA_btl_tcp_sndbuf OMPI_MCA_btl_tcp_rcvbuf
	[ $1 != cut ] || { until_line "$tmp/out" "rank $2: pid"; "$cluster/hosts" cut "$hosts" $2; }
	wait_until 60 lines "^rank [0-9]: lost $2, 0 faults" 3 || fail "$mpi $1 $2: $(cat "$tmp/out" "$tmp/log")"
	clear_hosts
	[ $1 != cut ] || "$cluster/hosts" join "$hosts" $2
	echo "$mpi $1 $2: $(sed -n 's/.*longest poll //p' "$tmp/log" | tr '\n' ' ')"
}

for mpi in openmpi mpich; do
	begin $mpi ring
	wait $launcher
	lines '^rank [0-9] of 4: ring ok' 4 || fail "$mpi ring: $(cat "$tmp/out" "$tmp/err")"
	begin $mpi flood 0
	wait $launcher
	lines 'flood [0-9]* messages' 1 || fail "$mpi flood: $(cat "$tmp/out" "$tmp/err")"
	grep flood "$tmp/out"
	# Both kinds of end under both, each with every end: tests/full/comm.sh.
	case ${ASSAY_FULL:-}$mpi in
	openmpi) ends="kill:2 choke:1 cut:3" ;;
	mpich) ends="kill:0 stop:1" ;;
	*) ends="kill:2 kill:0 stop:1 choke:1 cut:3" ;;
	esac
	for end in $ends; do survivors ${end%:*} ${end#*:}; done
done

# --- misfits, on this host ----------------------------------------------------

# misfit SENTENCE command...: exit 3, and one rank says so.
misfit() {
	local says=$1
	shift
	expect 3 timeout -k 5 60 "$@"
	[ "$(printf '%s\n' "$out$err" | grep -c '^assay: ')" = 1 ] || fail "not one sentence: $out $err"
	case $out$err in *"$says"*) ;; *) fail "not said: \"$says\": $out $err" ;; esac
}
open="mpirun.openmpi --oversubscribe -np 4"
hydra="mpirun.mpich -np 4"
modules=$(dirname "$ASSAY")
misfit "was built for openmpi and cannot be started by mpiexec" $hydra "$ring" --module "$modules/assay_comm_openmpi.so" hello
misfit "was built for mpich and cannot be started by mpirun (Open MPI)" $open "$ring" --module "$modules/assay_comm_mpich.so" hello
cp "$ring" "$tmp/ring"
misfit "there is no module for its MPI ($tmp/assay_comm_openmpi.so, $tmp/../lib/assay/assay_comm_openmpi.so)" $open "$tmp/ring" hello
misfit "there is no module for its MPI ($tmp/assay_comm_mpich.so" $hydra "$tmp/ring" hello
misfit "--nodes 5, but mpirun (Open MPI) started 4 ranks" $open "$ring" --nodes 5 hello
misfit "--nodes 5, but mpiexec (Hydra) started 4 ranks" $hydra "$ring" --nodes 5 hello

# The one file alone, as a site builds it, in the places where it is looked for.
mkdir -p "$tmp/site/bin" "$tmp/site/lib/assay"
cp "$ring" "$tmp/site/bin/ring"
for mpi in openmpi mpich; do
	expect 0 "$source_dir/scripts/cluster/build-comm" --out "$tmp/site/lib/assay" mpicc.$mpi
done
expect 0 $open "$tmp/site/bin/ring" ring
expect 0 $hydra "$tmp/site/bin/ring" ring
expect 3 "$source_dir/scripts/cluster/build-comm" no-mpicc
prints "no no-mpicc here"

# A binding to a core is not passed on to what measures.
expect 0 mpirun.openmpi --oversubscribe --bind-to core -np 2 "$ring" hello
prints " $(nproc) CPUs"
