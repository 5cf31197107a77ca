# Both ends of the RDMA probe on one machine, over soft-RoCE on a dummy interface.
. "$(dirname "$0")/rdma_lib.sh"
ip link add rail0 type dummy && ip addr add 10.88.0.1/24 dev rail0 && ip link set rail0 up || die "no rail0"
soft_roce rail0

# pair NAME [NAME=VALUE...]
pair() {
	local name=$1
	shift
	end 1 127.0.0.1 "$name.1" "$@" &
	end 0 127.0.0.1 "$name" "$@"
	wait
}

whole() { pair whole; }

# All four at once over one device: what they carry says nothing, that they do does.
patterns() {
	timeout -s KILL 60 "$PATTERNS_FOUR" transport=rdma devices=rxe0 senders=3 qps=1 size=4096 depth=16 \
		seconds=0.2 ramp_s=0.05 silence_s=10 >patterns 2>patterns.err
}

for part in ${*:-whole}; do
	$part
done
