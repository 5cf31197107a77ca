# RDMA for real in the small: both ends of the probe over soft-RoCE in one throw-away
# machine. Emulated, so that every figure is only asked to be there.
. "$(dirname "$0")/../cli/lib.sh"
vm=$source_dir/tests/vm/vm
[ "$(id -u)" = 0 ] || skip "needs root: the machine reads this one's files"
[ -x "$TREE/tests/probes/rdma_end" ] || skip "no verbs in this build"
for tool in qemu-system-x86_64 busybox rdma; do
	command -v $tool >/dev/null || skip "$tool is not installed (qemu-system-x86, busybox-static, iproute2)"
done
"$vm" --prepare >"$tmp/log" 2>&1 || skip "$(tail -n 1 "$tmp/log")"
mkdir "$tmp/loop"
"$vm" -p -t 100 -m "ib_uverbs crc32_generic rdma_rxe dummy" -s "$tmp/loop" -- \
	env RDMA_END="$(realpath "$TREE/tests/probes/rdma_end")" bash "$source_dir/tests/vm/guests/rdma_loop.sh" whole >"$tmp/log" 2>&1 ||
	{ cat "$tmp/log" "$tmp"/loop/*.err; fail "the machine: exit $?"; exit 1; }
python3 "$source_dir/tests/vm/judge_rdma.py" "$tmp/loop" whole || fail "what came out of the machine"
