# Eight nodes meet each other, one of them behind a slow port: it is named, and
# nobody else.
count=8
. "$(dirname "$0")/lib.sh"
command -v tc >/dev/null || skip "needs tc (iproute2)"

# Both ways: what it sends and what the switch sends to it.
shape() {
	nsenter -t "$(cat "$hosts/init.$1")" -n tc qdisc add dev "$2" root tbf rate 300mbit burst 64kb latency 50ms 2>"$tmp/tc"
}
shape node5 eth0 && shape switch v5 || skip "this kernel cannot shape: $(cat "$tmp/tc")"

dir=$tmp/run
launch openmpi run --nodes 8 --out "$dir" --only inventory,net --budget quick --pairs all
wait $launcher
expect 0 "$ASSAY" verify "$dir"
[ "$(grep -c '"metric":"net_tcp_gbps".*"outcome":"measured"' "$dir/readings.jsonl")" = 56 ] ||
	fail "$(grep -c '"metric":"net_tcp_gbps"' "$dir/readings.jsonl") readings of 56: $(tail -n 3 "$tmp/err")"
grep -q "28 of 28 pairs" "$tmp/err" || fail "no plan of pairs: $(cat "$tmp/err")"
python3 - "$dir/scorecard.json" <<-'END' || fail "blame: $(grep -A5 'between nodes' "$tmp/out")"
	import json, sys
	card = json.load(open(sys.argv[1]))
	found = [l for l in card["localised"] if l["metric"] == "net_tcp_gbps" and l["identified"]]
	named = {(e["explanations"][0]["kind"], e["explanations"][0]["node"]) for e in found}
	ok = named and all(node == "node5" and kind in ("node", "nic") for kind, node in named)
	if not ok:
	    print(json.dumps(card["localised"], indent=1)[:3000])
	sys.exit(0 if ok else 1)
END
grep -q "node5" "$tmp/out" || fail "the terminal does not name it"

# A sample of what there is to meet is said to be one.
launch mpich run --nodes 8 --out "$tmp/none" --only inventory --budget quick
wait $launcher
grep -q "pairs" "$tmp/err" && fail "pairs were measured that were not asked for"
true
