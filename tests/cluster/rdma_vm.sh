# RDMA for real in the small: both ends of the probe over soft-RoCE in one throw-away
# machine. Emulated, so that every figure is only asked to be there.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
. "$source_dir/tests/vm/rdma_host.sh"
need_packages $machine_packages >"$tmp/log" 2>&1 ||
	skip "packages for the machine cannot be had: $(tail -n 1 "$tmp/log")"
"$vm" --prepare >"$tmp/log" 2>&1 || skip "$(tail -n 1 "$tmp/log")"
machines loop rdma_loop.sh whole patterns -- -p -t 120 -m "$modules dummy" || exit 1
python3 "$source_dir/tests/vm/judge_rdma.py" "$tmp/loop" whole patterns || fail "what came out of the machine"
