# RDMA between two throw-away machines over soft-RoCE, with what can be wrong in a
# fabric: each fault has its finding. And the probe beside perftest, in turns, in one:
# neither bandwidth nor latency may be behind it by more than chance explains.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
. "$source_dir/tests/vm/rdma_host.sh"
pairs=${PAIRS:-20} parts=${PARTS:-clean type family mtu loss slow down}
need_packages $machine_packages perftest >"$tmp/log" 2>&1 ||
	skip "packages for the machines cannot be had: $(tail -n 1 "$tmp/log")"
"$vm" --prepare >"$tmp/log" 2>&1 || skip "$(tail -n 1 "$tmp/log")"

machines two rdma_pair.sh $parts -- -n 2 -c 1 -t 300 -m "$modules macvlan sch_netem sch_tbf" &&
	{ python3 "$source_dir/tests/vm/judge_rdma.py" "$tmp/two" $parts || fail "what came out of two machines"; }
machines turns rdma_perftest.sh -- -p -t $((90 + 45 * pairs)) -m "$modules dummy" &&
	{ python3 "$source_dir/tests/vm/judge_turns.py" "$tmp/turns/ratios.txt" "$pairs" || fail "the probe is behind perftest"; }
