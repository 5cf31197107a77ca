# Eight nodes meet each other: a slow port is named as its node, a slow cable as the
# cable once it was read again, and nobody else. A child that dies ends its pair.
count=8
. "$(dirname "$0")/lib.sh"
command -v tc >/dev/null || skip "needs tc (iproute2)"

at() {
	nsenter -t "$(cat "$hosts/init.$1")" -n tc "${@:2}" 2>"$tmp/tc"
}
# One way: what goes out of DEV on HOST, in Mb/s.
shape() { # HOST DEV RATE
	at "$1" qdisc replace dev "$2" root tbf rate "$3mbit" burst 64kb latency 200ms
}
# A sound port is as fast as its shaper, and so slow that a processor which others want as
# well moves the bytes of all pairs at once.
sound=160 slow=30
sound_node() {
	shape "node$1" eth0 $sound && shape switch "v$1" $sound
}
# A cable of their own between two hosts, and a slow one: what they send to each
# other takes it, and nothing else does.
cable() {
	local one two
	one=$(cat "$hosts/init.node$1") two=$(cat "$hosts/init.node$2")
	ip link add cable netns "$one" type veth peer name cable netns "$two"
	nsenter -t "$one" -n ip link set cable up
	nsenter -t "$two" -n ip link set cable up
	nsenter -t "$one" -n ip route add "10.88.0.$(($2 + 1))/32" dev cable src "10.88.0.$(($1 + 1))"
	nsenter -t "$two" -n ip route add "10.88.0.$(($1 + 1))/32" dev cable src "10.88.0.$(($2 + 1))"
	shape "node$1" cable $slow && shape "node$2" cable $slow
}
for node in $(seq 0 7); do
	sound_node $node || skip "this kernel cannot shape: $(cat "$tmp/tc")"
done
shape node5 eth0 $slow && shape switch v5 $slow || skip "this kernel cannot shape: $(cat "$tmp/tc")"

# named KIND NODE [PEER]: by bandwidth, and nobody else.
named() {
	python3 - "$dir/scorecard.json" "$@" <<-'END' || fail "blame: $(grep -A5 'between nodes' "$tmp/out"; grep -v PMIX "$tmp/err" | tail -n 5)"
		import json, sys
		card, kinds, ends = json.load(open(sys.argv[1])), sys.argv[2].split("|"), set(sys.argv[3:])
		found = [l for l in card["localised"] if l["metric"] == "net_tcp_gbps" and l["identified"]]
		said = [l["explanations"][0] for l in found]
		ok = said and all(e["kind"] in kinds and {e[k] for k in ("node", "peer") if k in e} == ends for e in said)
		if not ok:
		    print(json.dumps(card["localised"], indent=1)[:3000])
		sys.exit(0 if ok else 1)
	END
}

net="--set net.seconds=0.4 --set net.ramp_s=0.1 --set net.pings=50"
dir=$tmp/run
launch openmpi run --nodes 8 --out "$dir" --only inventory,net --budget quick --pairs all $net
wait $launcher
expect 0 "$ASSAY" verify "$dir"
both=$(grep '"metric":"net_tcp_gbps".*"outcome":"measured"' "$dir/readings.jsonl" | grep -o '"id":"node[^"]*"' | sort -u | wc -l)
[ "$both" = 56 ] || fail "$both pairs and ways of 56: $(grep -m 1 '"outcome":"[nft]' "$dir/readings.jsonl")"
grep -q "28 of 28 pairs" "$tmp/err" || fail "no plan of pairs: $(cat "$tmp/err")"
grep -q "together and up to" "$tmp/err" || fail "the plan has no pairs: $(grep 'are there' "$tmp/err")"
named "node|nic" node5
grep -q "node5" "$tmp/out" || fail "the terminal does not name it"
sound_node 5

# One cable, both ways: both ends are sound with all others.
cable 2 6 || fail "no cable: $(cat "$tmp/tc")"
dir=$tmp/cable
launch mpich run --nodes 8 --out "$dir" --only inventory,net --budget quick $net
wait $launcher
expect 0 "$ASSAY" verify "$dir"
named link node2 node6
grep -q "pairs are read again, pass 1 of at most 3" "$tmp/err" || fail "nothing was read again: $(cat "$tmp/err")"
[ "$(grep '"metric":"net_tcp_gbps"' "$dir/readings.jsonl" | grep -c '"id":"node2|node6"')" -ge 2 ] ||
	fail "the cable was read once"
grep -q "of the pairs were read again" "$tmp/out" || fail "the terminal does not say that pairs were read again"

# The child of the node that does not speak for the pair: the other one need not wait.
count=4
dir=$tmp/broken
launch openmpi run --nodes 4 --out "$dir" --only inventory,net --budget quick $net
until_line "$tmp/err" "6 of 6 pairs"
child=$(child_on 3)
kill -SEGV "$child" || fail "no child on node3"
wait $launcher
expect 0 "$ASSAY" verify "$dir"
grep -q "on node3: net was ended by a signal" "$tmp/err" || fail "not told: $(grep -v PMIX "$tmp/err" | tail -n 5)"
broken=$(grep '"outcome":"failed"' "$dir/readings.jsonl" | grep -c "on node3: net was ended by a signal")
[ "$broken" = 6 ] || fail "$broken readings of the pair, both ways of two figures and one of two"
[ "$(grep -c '"outcome":"timed_out"' "$dir/readings.jsonl")" = 0 ] || fail "somebody waited in vain"
