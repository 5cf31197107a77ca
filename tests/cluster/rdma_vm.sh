# RDMA for real in the small: both ends of the probe over soft-RoCE in one throw-away
# machine. Emulated, so that every figure is only asked to be there.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/tests/vm/rdma_host.sh"
for tool in qemu-system-x86_64 busybox rdma; do
	command -v $tool >/dev/null || skip "$tool is not installed (qemu-system-x86, busybox-static, iproute2)"
done
"$vm" --prepare >"$tmp/log" 2>&1 || skip "$(tail -n 1 "$tmp/log")"
machines loop rdma_loop.sh whole -- -p -t 90 -m "$modules dummy" || exit 1
python3 "$source_dir/tests/vm/judge_rdma.py" "$tmp/loop" whole || fail "what came out of the machine"
