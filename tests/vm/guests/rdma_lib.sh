# Sourced by the guests of RDMA: a soft-RoCE device and both ends of the probe.
. "$(dirname "$0")/lib.sh"

# soft_roce NETDEV: rxe0 on it, once its GIDs are there.
has_gid() { [ -n "$(cat /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/1 2>/dev/null)" ]; }
soft_roce() {
	rdma link add rxe0 type rxe netdev "$1" || die "no soft-RoCE on $1"
	until_true 20 has_gid || die "no GID on $1"
}

# end RANK ADDRESS OUTPUT [NAME=VALUE...]: one end of the probe.
# Each on a processor of its own: two that spin on one would wait for its time slices.
end() {
	local rank=$1 address=$2 output=$3
	shift 3
	taskset -c "$((rank % $(nproc)))" timeout -s KILL 45 "$RDMA_END" "$rank" "$address" 7100 \
		devices=rxe0 sizes=65536 qps=1 pings=200 depth=16 point_s=0.3 seconds=1 others_s=0.3 tcp_s=0 "$@" >"$output" 2>"$output.err"
}
