# The first node names a row of each card's product on four nodes and checks it
# itself; every node's card has its verdict under its own name. All add up round a ring,
# and begin again without one that is lost there.
. "$(dirname "$0")/lib.sh"

dir=$tmp/run
launch openmpi run --nodes $count --out "$dir" --only gemm_rows,group --budget quick --set gemm_rows.order=256 \
	$(printf -- '--set group.%s ' seconds=0.3 bytes=64K silence_s=60 meet_s=60)
wait $launcher
expect 0 "$ASSAY" verify "$dir"
python3 - "$dir/readings.jsonl" "$count" <<-'END_OF_CHECK' || fail "rows: $(tail -n 5 "$tmp/err")"
	import json, sys
	lines = [json.loads(line) for line in open(sys.argv[1])]
	readings = [r for r in lines if r.get("probe") == "gemm_rows"]
	kinds = {r["metric"]: {} for r in readings}
	for r in readings:
	    kinds[r["metric"]].setdefault(r["node"], []).append(r)
	# Cards, where there are some; else sockets in their place.
	gpus = any(r["outcome"] == "measured" for r in readings if r["metric"] == "gemm_rows_wrong")
	prefix = "" if gpus else "cpu_"
	wrong, took = kinds[prefix + "gemm_rows_wrong"], kinds[prefix + "gemm_rows_answer_ms"]
	ok = len(wrong) == len(took) == int(sys.argv[2])
	for node in wrong:
	    ok = ok and all(r["value"] == 0 and r["outcome"] == "measured" for r in wrong[node])
	    ok = ok and all(0 <= r["value"] <= 5000 for r in took[node])
	rows = {r["params"]["row"] for node in wrong for r in wrong[node]}
	ok = ok and len(rows) == sum(len(wrong[node]) for node in wrong)
	# One asks, whoever is asked.
	ok = ok and len({r["params"]["asked_by"] for node in wrong for r in wrong[node]}) == 1
	ok = ok and {r["writer"] for r in readings} == {0}
	if not ok:
	    print(json.dumps(readings, indent=1)[:4000])
	sys.exit(0 if ok else 1)
END_OF_CHECK

# figures NODES OUTCOME METRIC: of the ring of so many.
figures() {
	grep "\"metric\":\"group_allreduce_$3\"" "$dir/readings.jsonl" | grep "\"nodes\":$1[,}]" |
		grep -c "\"kind\":\"cluster\".*\"outcome\":\"$2\""
}
for metric in time_us busbw_gbs; do
	[ "$(figures 4 measured $metric)" = 1 ] || fail "group_allreduce_$metric: $(grep -v PMIX "$tmp/err" | tail -n 3)"
done
[ "$(grep -c '"metric":"group_allreduce_worst_second"' "$dir/readings.jsonl")" = 1 ] || fail "no word of the worst second"

# It may be over before the blow falls: then once more.
for _ in 1 2 3; do
	rm -rf "$dir"
	launch openmpi run --nodes $count --out "$dir" --only group --budget quick --lost-after 5 \
		$(printf -- '--set group.%s ' seconds=3 bytes=64K silence_s=60 meet_s=60)
	until_line "$tmp/err" "group: 4 nodes together"
	kill -9 "$(rank_on 2)"
	until_judged
	[ "$(figures 4 measured busbw_gbs)" = 1 ] || break
done
expect 0 "$ASSAY" verify "$dir"
grep -q "node2 was lost in phase groups" "$tmp/err" || fail "not lost: $(grep -v PMIX "$tmp/err" | tail -n 3)"
[ "$(grep -c '"metric":"group_.*"outcome":"lost".*node2 was lost in phase groups' "$dir/readings.jsonl")" -ge 1 ] ||
	fail "the loss is not on record: $(grep -o '"outcome":"[a-z_]*"' "$dir/readings.jsonl" | sort | uniq -c)"
[ "$(figures 3 measured busbw_gbs)" = 1 ] || fail "not begun again: $(grep -v PMIX "$tmp/err" | tail -n 3)"
