# Four nodes without cards add up over TCP in groups that grow: every node with both of
# its neighbours, pairs and all of them, labelled for what it is.
. "$(dirname "$0")/lib.sh"

dir=$tmp/run
launch openmpi run --nodes $count --out "$dir" --only collective_nodes --budget quick \
	--set collective_nodes.host_size=256K --set collective_nodes.window_s=0.01
wait $launcher
expect 0 "$ASSAY" verify "$dir"
python3 - "$dir/readings.jsonl" "$count" <<-'END_OF_CHECK' || fail "nodes: $(tail -n 5 "$tmp/err")"
	import json, sys
	lines = [json.loads(line) for line in open(sys.argv[1])]
	readings = [r for r in lines if r.get("probe") == "collective_nodes"]
	of = {}
	for r in readings:
	    of.setdefault(r["metric"], []).append(r)
	n = int(sys.argv[2])
	ring, = of["cpu_collective_nodes_busbw_gbs"]
	groups, = of["cpu_collective_group_busbw_gbs"]
	wrong, = of["cpu_collective_nodes_wrong"]
	ok = ring["value"] > 0 and ring["params"]["ranks"] == n and "not NCCL" in ring["params"]["transport"]
	# Two rounds of pairs, and all.
	ok = ok and groups["params"]["groups"] == n + 1 and groups["value"] <= ring["value"] * 1.0001
	ok = ok and wrong["value"] == 0 and wrong["params"]["elements_checked"] > 0
	nodes = {r["node"]: r for r in of["cpu_collective_node_gbs"]}
	ok = ok and sorted(nodes) == [f"node{i}" for i in range(n)]
	ok = ok and all(r["subject"]["id"] == node and r["value"] > 0 for node, r in nodes.items())
	share, = of["collective_nic_share"]
	ok = ok and share["outcome"] == "not_measured" and share["reason"]["code"] == "no_driver"
	ok = ok and {r["writer"] for r in readings} == {0}
	if not ok:
	    print(json.dumps(readings, indent=1)[:4000])
	sys.exit(0 if ok else 1)
END_OF_CHECK
