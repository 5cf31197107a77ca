# The probe and perftest in turns on one machine over soft-RoCE: PAIRS times, what was
# measured as lines "who what value" in ratios.txt. The same sizes, one queue pair,
# each end on a processor of its own.
. "$(dirname "$0")/rdma_lib.sh"
ip link add rail0 type dummy && ip addr add 10.88.0.1/24 dev rail0 && ip link set rail0 up || die "no rail0"
soft_roce rail0
device="-d rxe0 -x 1 -F"

# perf WHAT COLUMN ARG...: both ends of one program of perftest.
perf() {
	local what=$1 column=$2 server value
	shift 2
	timeout 60 taskset -c 1 "ib_$what" $device "$@" >/dev/null 2>&1 &
	server=$!
	until_true 10 grep -q ":4853 " /proc/net/tcp /proc/net/tcp6 || die "ib_$what does not listen"
	value=$(taskset -c 0 timeout 60 "ib_$what" $device "$@" 127.0.0.1 2>/dev/null |
		awk -v c="$column" '/^ *[0-9]+ +[0-9]+ +[0-9.]+/ { print $c }')
	wait $server
	echo "perftest $what ${value:-none}" >>ratios.txt
}

all_of_perftest() {
	local op
	for op in write read send; do
		perf ${op}_lat 5 -s 8 -n 400
		perf ${op}_bw 4 -s 65536 -n "$messages" --report_gbits
	done
}

ours() {
	end 1 127.0.0.1 probe.1 depth=128 pings=400 point_s=0.05 seconds=0.4 others_s=0.4 &
	end 0 127.0.0.1 probe depth=128 pings=400 point_s=0.05 seconds=0.4 others_s=0.4 || say "the probe: exit $?"
	wait
	# What was not measured, and why: outcome, reason.
	awk -F'\t' '/_latency_us|_nic_(write|read|send)_gbps/ && $3 != "measured" && !told[$6]++ { print $1 " of " $2 ": " $3 ", " $6 }' probe | while read -r line; do say "$line"; done
	awk -F'\t' '$2 == "node0|node1|rxe0" && /_latency_us/ { split($1, w, "_"); print "probe", w[2] "_lat", $4 }
		$2 == "node0|node1|rxe0" && /_nic_(write|read|send)_gbps/ { split($1, w, "_"); print "probe", w[3] "_bw", $4 }' probe >>ratios.txt
}

messages=200
for ((i = 0; i < PAIRS; i++)); do
	say "turn $((i + 1)) of $PAIRS"
	# Who is first changes from time to time.
	if [ $((i % 2)) = 0 ]; then
		ours
		all_of_perftest
	else
		all_of_perftest
		ours
	fi
done
