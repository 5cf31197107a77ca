# A disk made slow by a cgroup: slow from the start is slow and no trick; fast first and
# slow later is speed that was lent.
. "$(dirname "$0")/lib.sh"

# The whole disk below $tmp, which is what a throttle is set on.
disk=$(stat -c %d "$tmp")
disk=$((disk >> 8)):$((disk & 255))
[ -e "/sys/dev/block/$disk" ] || skip "no block device below $tmp"
[ ! -e "/sys/dev/block/$disk/partition" ] || disk=$(cat "/sys/dev/block/$disk/../dev")

# group NAME: a cgroup in $group; throttle IOPS sets it.
v1=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup [^ ]*\<blkio\>.*/\1/p' /proc/mounts | head -n 1)
v2=$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)
if [ -n "$v1" ] && [ -w "$v1/blkio.throttle.read_iops_device" ]; then
	root=$v1
	throttle() { echo "$disk $1" >"$group/blkio.throttle.read_iops_device"; }
elif [ -n "$v2" ] && grep -qw io "$v2/cgroup.controllers" && echo +io >"$v2/cgroup.subtree_control" 2>/dev/null; then
	root=$v2
	throttle() { echo "$disk riops=$1" >"$group/io.max"; }
else
	skip "no cgroup that throttles block devices"
fi
group=$root/assay-test-$$
mkdir "$group" 2>/dev/null || skip "$root takes no new group"
groups+=("$group")
throttle 1000 2>/dev/null || skip "the kernel has no throttle for $disk"

# inside OUT settings...: a run in the group.
inside() {
	local name=$1 set=() one
	shift
	for one in storage.size=64M storage.runtime_s=1 storage.ramp_s=0 storage.depths=8 storage.p99_ms=2000 "$@"; do set+=(--set "$one"); done
	(
		echo 0 >"$group/cgroup.procs" || exit 99
		exec "$assay" probe storage --storage "$tmp/store" "${set[@]}"
	) >"$tmp/$name.readings" 2>"$tmp/$name.err" </dev/null
}
mkdir "$tmp/store"

# --- slow and steady
inside steady storage.pairs=3 storage.pair_s=0.3 storage.hold_s=3
code=$?
[ $code = 2 ] || fail "steady: exit $code: $(tail -n 2 "$tmp/steady.err")"
holds steady 'value("storage_data_real") == 1' '500 < value("storage_read_iops", 8) < 1200' 'value("storage_burst_signs") == 0' \
	'value("storage_cache_signs") == 0' 'value("storage_read_thirds", 8) > 0.8' 'value("storage_counter_ratio") > 0.9'
clean "$tmp/store"

# --- fast until the long run has gone half its way
hold_s=6
throttle 0
# The long run is the one whose --runtime= is its own; its start is in /proc.
long_run() {
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe" 2>/dev/null)" = "$tmp/bin/fio" ] || continue
		tr '\0' '\n' <"$p/cmdline" 2>/dev/null | grep -qx -- "--runtime=${hold_s}000ms" && echo "${p#/proc/}" && return 0
	done
	return 1
}
half_way() { # PID
	local begun now
	begun=$(sed 's/.*) //' "/proc/$1/stat" 2>/dev/null | cut -d ' ' -f 20) || return 1
	now=$(cut -d ' ' -f 1 /proc/uptime)
	python3 -c "import os, sys; sys.exit($now - ${begun:-0} / os.sysconf('SC_CLK_TCK') < $hold_s / 2)"
}
inside lent storage.pairs=0 storage.hold_s=$hold_s &
pid=$!
wait_until 60 long_run >"$tmp/fio" || fail "no long run"
fio=$(cat "$tmp/fio")
wait_until 30 half_way "${fio:-0}" || fail "the long run never got half way"
throttle 1000
wait $pid
code=$?
[ $code = 0 ] || [ $code = 2 ] || fail "lent: exit $code: $(tail -n 2 "$tmp/lent.err")"
holds lent 'value("storage_read_iops", 1) > 1000' 'value("storage_burst_signs") >= 1' 'value("storage_read_thirds", 8) < 0.5' 'value("storage_read_cv", 8) > 0.1'
clean "$tmp/store"
