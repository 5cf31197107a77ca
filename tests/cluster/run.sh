# A run of four nodes: everybody measures, rank 0 keeps and judges, nothing is left.
. "$(dirname "$0")/lib.sh"

quick="--only inventory,jitter --budget quick --set jitter.seconds=0.2"
for mpi in openmpi mpich; do
	dir=$tmp/run-$mpi
	launch $mpi run --nodes 4 --out "$dir" $quick
	wait $launcher
	grep -q "4 nodes are there" "$tmp/err" || fail "$mpi: $(tail -n 3 "$tmp/err")"
	grep -q "phase cards on 4 nodes" "$tmp/err" || fail "$mpi: no phase line"
	! grep -q "pairs, about" "$tmp/err" || fail "$mpi: pairs were measured that were not asked for"
	# They are containers on one machine, and a cluster of such is not what was bought.
	grep -q "REJECT" "$tmp/out" || fail "$mpi: no verdict: $(head -n 5 "$tmp/out")"
	grep -q "has it too" "$tmp/out" || fail "$mpi: nothing said of the one kernel"
	[ "$(grep -c "Assay 0" "$tmp/out")" = 1 ] || fail "$mpi: more than one voice"
	expect 0 "$ASSAY" verify "$dir"
	for n in 0 1 2 3; do
		[ "$(count "$dir" node$n jitter measured)" = 3 ] || fail "$mpi: jitter of node$n"
		[ "$(count "$dir" node$n inventory measured)" -gt 10 ] || fail "$mpi: inventory of node$n"
	done
	# Raw files of all nodes are in the run, whoever wrote them.
	[ "$(ls "$dir/raw" | wc -l)" = 4 ] || fail "$mpi: raw: $(ls "$dir/raw")"
	[ -z "$(ls -A "$tmp" | grep '^\.assay-')" ] || fail "$mpi: a spool was left"
	for n in 0 1 2 3; do
		[ -z "$("$cluster/hosts" pids "$hosts" $n)" ] || fail "$mpi: processes are left on node$n"
	done
	# The same again is refused, and nothing of it starts.
	launch $mpi run --nodes 4 --out "$dir" $quick
	wait $launcher
	grep -q "$dir" "$tmp/err" || fail "$mpi: a run directory was used twice"
	expect 0 "$ASSAY" verify "$dir"
done

# Raw files come over where the nodes do not see rank 0's directory.
launch openmpi run --nodes 4 --out /dev/shm/run $quick
until_line "$tmp/out" "run digest"
cp -r /proc/$(cat "$hosts/init.node0")/root/dev/shm/run "$tmp/far"
wait $launcher
expect 0 "$ASSAY" verify "$tmp/far"
[ "$(ls "$tmp/far/raw" | wc -l)" = 4 ] || fail "raw files did not come: $(ls "$tmp/far/raw")"

# Not the world that was asked for: one sentence, and nothing is measured.
for mpi in openmpi mpich; do
	launch $mpi run --nodes 5 --out "$tmp/five" $quick
	wait $launcher
	[ "$(grep -c "^assay: --nodes 5" "$tmp/err")" = 1 ] || fail "$mpi: $(cat "$tmp/err")"
	[ ! -e "$tmp/five" ] || fail "$mpi: something was written"
	launch $mpi run --nodes 4 --out "$tmp/word" --onl x
	wait $launcher
	[ "$(grep -c "^assay: unknown option" "$tmp/err")" = 1 ] || fail "$mpi: $(cat "$tmp/err")"
	launch $mpi run --nodes 4 --out "$tmp/word" --only nothing
	wait $launcher
	[ "$(grep -c "^assay: " "$tmp/err")" = 1 ] || fail "$mpi: $(cat "$tmp/err")"
	[ ! -e "$tmp/word" ] || fail "$mpi: something was written"
done
# One rank with an option of its own: two runs in one, which is none.
on_node node2 'exec "$@" --strict'
for mpi in openmpi mpich; do
	ASSAY=$tmp/rank launch $mpi run --nodes 4 --out "$tmp/word" $quick
	wait $launcher
	[ "$(grep -c "^assay: hello: rank 0 on node0 (without --strict) and rank 2 on node2 (--strict)" "$tmp/err")" = 1 ] ||
		fail "$mpi: $(cat "$tmp/err")"
	[ ! -e "$tmp/word" ] || fail "$mpi: something was written"
done
# No place for the run on rank 0.
launch openmpi run --nodes 4 --out "$tmp/.out/run" $quick
wait $launcher
[ "$(grep -c "^assay: .*$tmp/.out" "$tmp/err")" = 1 ] || fail "no word of the directory: $(cat "$tmp/err")"
[ "$(grep -c "^assay: " "$tmp/err")" = 1 ] || fail "more than one word: $(cat "$tmp/err")"
# Two ranks on a node.
OMPI_MCA_btl=self,tcp expect 3 timeout 60 mpirun.openmpi --oversubscribe -np 2 "$ASSAY" run --nodes 2 --out "$tmp/two" $quick
says "run on the same node"
[ ! -e "$tmp/two" ] || fail "something was written"
