# One job of PyTorch over the CPUs of two hosts, by gloo and env://: the parameters equal,
# the loss falling, three ways of parallelism; its first step is that of the cluster, and
# no rule of cards is met by it.
count=2
. "$(dirname "$0")/lib.sh"
/usr/bin/python3 -c 'import torch.distributed as d, sys; sys.exit(not d.is_gloo_available())' 2>/dev/null ||
	skip "/usr/bin/python3 has no PyTorch with gloo"

dir=$tmp/run
launch openmpi run --nodes $count --out "$dir" --only frameworks_nodes,frameworks --budget quick \
	--set frameworks_nodes.python=/usr/bin/python3 --set frameworks.python=/nowhere \
	--ordered-at "$(date -u -d '-10 min' +%FT%TZ)"
wait $launcher
expect 0 "$ASSAY" verify "$dir"
python3 - "$dir/readings.jsonl" <<-'END_OF_CHECK' || fail "frameworks: $(tail -n 5 "$tmp/err")"
	import json, sys
	lines = [json.loads(line) for line in open(sys.argv[1])]
	readings = {r["metric"]: r for r in lines if r.get("metric")}
	runs = readings["cpu_fw_nodes_pytorch_runs"]
	cards = readings["fw_nodes_pytorch_runs"]
	ok = cards["outcome"] == "measured" or (
	    runs["outcome"] == "measured" and runs["value"] == 1
	    and runs["params"]["nodes"] == 2 and runs["params"]["workers"] == 2
	    and runs["params"]["backend"] == "gloo" and runs["params"]["interface"] == "eth0"
	    and runs["params"]["loss_last"] < runs["params"]["loss_first"]
	    and readings["cpu_fw_nodes_parallel_modes"]["value"] == 3
	    and cards["reason"]["code"] == "fw_cpu_only"
	    and readings["training_engine_ratio"]["outcome"] == "unsupported"
	    and 10 <= readings["cpu_deploy_ready_min"]["value"] < 20
	    and readings["cpu_deploy_ready_min"]["params"]["step"] == "fw_nodes_pytorch_runs"
	    and readings["deploy_ready_min"]["reason"]["code"] == "deploy_no_step")
	if not ok:
	    print(json.dumps(readings, indent=1)[:6000])
	sys.exit(0 if ok else 1)
END_OF_CHECK
