# Training steps on the CPUs of four nodes, over TCP: two nodes, then all, every sum
# right, and nothing of it judged by a rule of cards.
. "$(dirname "$0")/lib.sh"

dir=$tmp/run
launch openmpi run --nodes $count --out "$dir" --only training --budget quick \
	--set training.sizes=doubling --set training.cpu_width=64 --set training.cpu_tokens=64 \
	--set training.run_s=0.2 --set training.interface=eth0
wait $launcher
expect 0 "$ASSAY" verify "$dir"
expect 0 "$ASSAY" report "$dir" --html "$tmp/report.html"
python3 - "$dir/readings.jsonl" "$count" <<-'END_OF_CHECK' || fail "training: $(tail -n 5 "$tmp/err")"
	import json, sys
	lines = [json.loads(line) for line in open(sys.argv[1])]
	readings = {r["metric"]: r for r in lines if r.get("probe") == "training"}
	if readings["training_scaling_efficiency"]["outcome"] == "measured":
	    sys.exit(0)  # cards are here; their figures are not ours to know
	e = readings["cpu_training_scaling_efficiency"]
	ok = e["outcome"] == "measured" and e["value"] > 0 and e["writer"] == 0
	ok = ok and [s["nodes"] for s in e["params"]["curve"]] == [2, int(sys.argv[2])]
	ok = ok and "judges no card" in e["params"]["transport"]
	ok = ok and readings["cpu_training_wrong_elements"]["value"] == 0
	ok = ok and readings["cpu_training_wrong_elements"]["params"]["checked"] > 0
	ok = ok and readings["training_scaling_efficiency"]["reason"]["code"] == "no_driver"
	if not ok:
	    print(json.dumps(readings, indent=1)[:4000])
	sys.exit(0 if ok else 1)
END_OF_CHECK
grep -q 'id="scaling"' "$tmp/report.html" || fail "no curve in the report"
