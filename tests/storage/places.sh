# Real places: each file system gives figures or a clear reason, and nothing is left
# on it afterwards.
. "$(dirname "$0")/lib.sh"
short="--set storage.size=64M --set storage.runtime_s=0.5 --set storage.ramp_s=0 --set storage.depths=8 --set storage.pairs=0 --set storage.hold_s=0"
figures='value("storage_data_real") == 1'
reads='outcome("storage_read_iops", 1) == outcome("storage_read_iops", 8) == "measured"'

# look NAME DIR EXPRESSION...
look() {
	local name=$1 dir=$2
	shift 2
	probe "$name" "$dir" $short
	holds "$name" "$@"
	clean "$dir"
	[ $code = 0 ] || [ $code = 2 ] || fail "$name: exit $code: $err"
	parts_done=$((parts_done + 1))
}
fs_is() { echo "find(\"storage_fs\").get(\"value\") == \"$1\""; }
# Every figure that is missing says why.
told='all(r["outcome"] == "measured" or r["reason"]["text"] for r in readings)'
# Reads of the device are reads of fio.
counted='value("storage_counter_ratio") > 0.9'
# A loop device without its own cache, so that what is read comes from the disk.
disk_at() { # DIR TYPE [mkfs options]
	local dir=$1 type=$2 image=$tmp/$2.img device
	shift 2
	command -v "mkfs.$type" >/dev/null || { echo "no mkfs.$type" >"$tmp/.mount"; return 1; }
	truncate -s 3G "$image" && "mkfs.$type" -q "$@" "$image" >"$tmp/.mount" 2>&1 || return 1
	device=$(losetup --find --show --direct-io=on "$image" 2>"$tmp/.mount") || return 1
	mount_at "$dir" "$device"
	set -- $?
	losetup -d "$device" # goes when the mount does
	return "$1"
}

# The machine's own disk.
mkdir "$tmp/own"
case $(stat -f -c %T "$tmp/own") in
tmpfs | overlayfs) without "a disk below $tmp" ;;
*) look own "$tmp/own" "$figures" "$reads" "$told" ;;
esac
for type in ext4 xfs btrfs; do
	if disk_at "$tmp/$type" $type; then
		look $type "$tmp/$type" "$(fs_is $type)" "$figures" "$reads" "$counted" "$told" 'param("storage_fs", "kind") == "device"'
	else
		without "$type on a loop device: $(why_not)"
	fi
done

# The page cache of the image answers: the disk below did not move.
if loop_at "$tmp/cached" ext4 "$tmp/cached.img" 3G; then
	# What others read from that disk meanwhile counts too: one quiet moment of six.
	for _ in $(seq 6); do
		look cached "$tmp/cached" "$told"
		asked cached 'value("storage_counter_ratio") < 0.9' && break
	done
	holds cached 'value("storage_counter_ratio") < 0.9'
	# Too little room, however it came about.
	fallocate -l 1500M "$tmp/cached/full"
	probe full "$tmp/cached" $short
	[ $code = 2 ] || fail "full: exit $code"
	holds full 'outcomes() - {"measured"} == {"not_measured"}' 'code("storage_read_iops") == "storage_free"' \
		"'$tmp/cached' in why(\"storage_read_iops\")"
	rm "$tmp/cached/full"
	clean "$tmp/cached"
else
	without "loop devices: $(why_not)"
fi

# Memory, as such and below an image or an overlay.
memory='outcomes() - {"measured"} == {"not_measured"} and outcome("storage_read_iops") == "not_measured" and code("storage_read_iops") == "storage_ram"'
if mount_at "$tmp/memory" -t tmpfs -o size=4g assay-test; then
	look memory "$tmp/memory" "$(fs_is tmpfs)" "$memory" '"memory" in why("storage_read_iops")'
	mkdir "$tmp/memory/lower" "$tmp/memory/upper" "$tmp/memory/work"
	if mount_at "$tmp/over-memory" -t overlay -o "lowerdir=$tmp/memory/lower,upperdir=$tmp/memory/upper,workdir=$tmp/memory/work" overlay; then
		look over-memory "$tmp/over-memory" "$memory" '"tmpfs" in why("storage_read_iops")'
		umount "$tmp/over-memory"
	fi
	if loop_at "$tmp/in-memory" ext4 "$tmp/memory/image" 3G; then
		look in-memory "$tmp/in-memory" "$memory" '"tmpfs" in why("storage_read_iops")'
		umount "$tmp/in-memory"
	fi
	umount "$tmp/memory"
else
	without "tmpfs: $(why_not)"
fi
mkdir "$tmp/lower" "$tmp/upper" "$tmp/work"
if mount_at "$tmp/overlay" -t overlay -o "lowerdir=$tmp/lower,upperdir=$tmp/upper,workdir=$tmp/work" overlay; then
	look overlay "$tmp/overlay" "$(fs_is overlay)" 'param("storage_fs", "kind") == "overlay"' "$figures" "$reads" "$told"
else
	without "overlay: $(why_not)"
fi
# A program's file system: measured, and that nothing counts its reads is said.
if [ -x "$CHEAT" ] && [ -c /dev/fuse ] && cheat_at "$tmp/fuse" mode=honest,delay_us=200; then
	look fuse "$tmp/fuse" 'param("storage_fs", "kind") == "fuse"' "$figures" "$reads" "$told" 'outcome("storage_counter_ratio") == "not_measured"'
else
	without "FUSE"
fi
done_or_skip
