# 128 hosts, and one of them is cut off in the middle of a run: it alone is lost, the
# launcher that waits for it is stopped, the exit code is that of the verdict, and on all
# others nothing is left.
count=${NODES:-128}
. "$(dirname "$0")/../cluster/lib.sh"
victim=$((count * 3 / 5)) dir=$tmp/run

hold $victim
start=$SECONDS
: >"$tmp/err"
TMPDIR=$tmp "$hosts/rsh" node0 "exec '$source_dir/scripts/cluster/launch' --launcher openmpi --assay '$ASSAY' \
	--rsh '$hosts/rsh' --limit 1200 '$hosts/names' -- run --out '$dir' --only inventory,jitter --budget quick \
	--lost-after 60 --set jitter.seconds=0.05" >"$tmp/out" 2>"$tmp/err" </dev/null &
launch=$!
begun() { grep -q "phase cards on $count nodes" "$tmp/err" || ! kill -0 $launch 2>/dev/null; }
wait_until 900 begun
echo "$count nodes: in the phase of the cards after $((SECONDS - start)) s"
"$cluster/hosts" cut "$hosts" $victim
wait $launch
code=$?
echo "ended after $((SECONDS - start)) s"
case $(sed -n 's/^  "overall": "\([A-Z]*\)".*/\1/p' "$dir/scorecard.json") in
REJECT) want=1 ;; INCOMPLETE) want=2 ;; *) want=none ;;
esac
[ $code = $want ] || fail "exit $code, not $want: $(tail -n 3 "$tmp/err")"
[ "$(grep -c "was lost in phase" "$tmp/err")" = 1 ] || fail "lost: $(grep "was lost" "$tmp/err" | head -n 5)"
grep -q "node$victim was lost in phase cards: silent" "$tmp/err" || fail "not lost: $(tail -n 3 "$tmp/err")"
grep -q "node$victim was not reached" "$tmp/err" || fail "it is not said who was not reached"
expect 0 "$ASSAY" verify "$dir"
for n in $(seq 0 $((count - 1))); do
	[ $n != $victim ] || continue
	[ "$(count "$dir" node$n jitter measured)" = 3 ] || fail "jitter of node$n"
	[ -z "$("$cluster/hosts" pids "$hosts" $n)" ] || fail "processes are left on node$n"
done
