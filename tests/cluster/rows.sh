# The first node names a row of each card's product on four nodes and checks it
# itself; every node's card has its verdict under its own name.
. "$(dirname "$0")/lib.sh"

dir=$tmp/run
launch openmpi run --nodes $count --out "$dir" --only gemm_rows --budget quick --set gemm_rows.order=256
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
