# The plan of a cluster says what all nodes will do together: how long, and what they
# write.
. "$(dirname "$0")/lib.sh"
dry="$ASSAY run --dry-run --nodes 10 --cards 8 --out $tmp/run"
all="--storage $tmp --set storage_all.size=1G --set storage_all.stream_size=3G"

# One is as long as the sum says, and the sum has its bytes: of ten nodes.
expect 0 $dry --only storage_all $all
prints "for 10 nodes like this"
prints ", 40.0 GiB written in all"
prints "storage_all: all 10 nodes at once"
prints "write up to 40.0 GiB below $tmp and remove it"
whole=$(printf '%s\n' "$out" | sed -n 's/.*like this: about \(.*\), 40.0 GiB.*/\1/p')
prints "storage_all: all 10 nodes at once: $whole,"

# Each path by itself.
mkdir "$tmp/other"
expect 0 $dry --only storage_all $all --storage "$tmp/other"
prints ", 80.0 GiB written in all"
prints "below $tmp/other and remove it"
# None was named.
expect 0 $dry --only storage_all
prints ", 0 B written in all"
prints "storage_all: not here: no storage path was named"

# Pairs: a round after the other.
expect 0 $dry --only net --pairs all --set net.seconds=4 --set net.ramp_s=0.5
prints "net: 45 of 45 pairs of nodes in 9 rounds: 1 min 30 s, and up to 2 min 00 s for what is read again"
prints "about 1 min 30 s, 0 B written in all"
# What is ordered is planned, however much it is.
big="$ASSAY run --dry-run --cards 8 --out $tmp/run --storage $tmp"
expect 0 $big --nodes 10000
prints "for 10000 nodes"
prints "net: 80000 of 49995000 pairs of nodes in 16 rounds"
# The standard plan of 1,024 cards is done within half an hour.
expect 0 $big --nodes 128
minutes=$(printf '%s\n' "$out" | sed -n 's/^.*for 128 nodes like this: about \([0-9]*\) min.*/\1/p')
[ "${minutes:-99}" -lt 30 ] || fail "128 nodes take too long: $(printf '%s\n' "$out" | head -n 3)"
expect 0 $dry --only gemm
prints_not "pairs"
prints_not "nodes at once"
[ ! -e "$tmp/run" ] || fail "--dry-run wrote"
