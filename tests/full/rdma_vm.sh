# RDMA between two throw-away machines over soft-RoCE, with what can be wrong in a
# fabric: each fault has its finding. And the probe beside perftest, in turns, in one:
# neither bandwidth nor latency may be behind it by more than chance explains.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
vm=$source_dir/tests/vm/vm pairs=${PAIRS:-20} modules="ib_uverbs crc32_generic rdma_rxe"
[ "$(id -u)" = 0 ] || skip "needs root: the machines read this one's files"
[ -x "$TREE/tests/probes/rdma_end" ] || skip "no verbs in this build"
need_packages qemu-system-x86 busybox-static kmod cpio xz-utils iproute2 perftest >"$tmp/log" 2>&1 ||
	skip "packages for the machines cannot be had: $(tail -n 1 "$tmp/log")"
"$vm" --prepare >"$tmp/log" 2>&1 || skip "$(tail -n 1 "$tmp/log")"
end=$(realpath "$TREE/tests/probes/rdma_end")
parts=${PARTS:-clean family mtu loss slow down}

mkdir "$tmp/two" "$tmp/turns"
"$vm" -n 2 -c 1 -t 300 -m "$modules macvlan sch_netem sch_tbf" -s "$tmp/two" -- env RDMA_END="$end" \
	bash "$source_dir/tests/vm/guests/rdma_pair.sh" $parts || { cat "$tmp"/two/*.err; fail "two machines: exit $?"; }
python3 "$source_dir/tests/vm/judge_rdma.py" "$tmp/two" $parts || fail "what came out of two machines"

"$vm" -p -t $((60 + 45 * pairs)) -m "$modules dummy" -s "$tmp/turns" -- env RDMA_END="$end" PAIRS="$pairs" \
	bash "$source_dir/tests/vm/guests/rdma_perftest.sh" || fail "the machine of perftest: exit $?"
python3 "$source_dir/tests/vm/judge_turns.py" "$tmp/turns/ratios.txt" "$pairs" || fail "the probe is behind perftest"
