# Two machines as two nodes: the probe between them over soft-RoCE, with what can be
# wrong in a fabric. The rail is an interface of its own (soft-RoCE takes no
# VLAN), so that texts get through whatever happens to it. Parts may be named; both machines go through the same ones.
. "$(dirname "$0")/rdma_lib.sh"
# Else eth0 answers for rail0, and takes what is meant for it.
echo 1 >/proc/sys/net/ipv4/conf/all/arp_ignore
echo 2 >/proc/sys/net/ipv4/conf/all/arp_announce
ip link add link eth0 name rail0 type macvlan mode bridge && ip addr add "10.88.0.$((VM_RANK + 1))/24" dev rail0 && ip link set rail0 up || die "no rail0"
soft_roce rail0

# pair NAME [NAME=VALUE...]: our end; node0's has the readings.
pair() {
	local name=$1 output=$1.1
	shift
	[ "$VM_RANK" = 1 ] || output=$name
	end "$VM_RANK" "${VM_PEERS%% *}" "$output" "$@" || say "$name: exit $?"
	say "$name is over"
}
second() { [ "$VM_RANK" = 0 ] || "$@" || die "$*"; }
packets() { cat /sys/class/infiniband/rxe0/ports/1/hw_counters/rcvd_pkts; }
came() { [ "$(packets)" -gt "$1" ]; }

clean() { pair clean; }

# The second says that its GIDs are of the older RoCE: soft-RoCE has the newer one alone.
type() {
	local at
	echo "IB/RoCE v1" >/run/older
	for at in /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/[01]; do
		second mount --bind /run/older "$at"
	done
	pair type
	for at in /sys/class/infiniband/rxe0/ports/1/gid_attrs/types/[01]; do
		second umount "$at"
	done
}

# The second has link-local addresses only.
family() {
	second ip addr flush dev rail0 scope global
	pair family
	second ip addr add 10.88.0.2/24 dev rail0
	until_true 20 has_gid || die "no GID again"
}

mtu() {
	second ip link set rail0 mtu 600
	pair mtu
	second ip link set rail0 mtu 1500
}

loss() {
	second tc qdisc add dev rail0 root netem loss 3%
	pair loss
	second tc qdisc del dev rail0 root
}

# The second's way out is slow; 16 KiB wait at most, or answers would come too late.
slow() {
	second tc qdisc add dev rail0 root tbf rate 4mbit burst 16kb latency 400ms
	pair slow sizes=4096 depth=4
	second tc qdisc del dev rail0 root
}

down() {
	if [ "$VM_RANK" = 1 ]; then
		local before
		before=$(packets)
		{
			until_true 60 came $((before + 3000))
			ip link set rail0 down
		} &
	fi
	pair down seconds=4
}

for part in ${*:-clean type family mtu loss slow down}; do
	$part
done
