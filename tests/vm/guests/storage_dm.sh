# A disk below device-mapper that is slow, hangs or gives errors in the middle,
# and a clock that is stepped while a run measures. Parts may be named.
. "$(dirname "$0")/lib.sh"
# Nobody here makes the device nodes but dmsetup.
export DM_DISABLE_UDEV=1
sectors=$(blockdev --getsz /dev/vda)
straight="0 $sectors linear /dev/vda 0"

# disk TABLE: a file system on /dev/mapper/test, mounted, then under TABLE.
disk() {
	dmsetup create test --table "$straight" && mkfs.ext4 -q -F /dev/mapper/test &&
		mkdir -p /mnt/test && mount /dev/mapper/test /mnt/test || die "no disk"
	[ "$1" = "$straight" ] || swap "$1"
}

swap() { dmsetup suspend --nolockfs --noflush test && dmsetup load test --table "$1" && dmsetup resume test || die "no table $1"; }

no_disk() {
	until_true 30 umount /mnt/test 2>/dev/null || say "still mounted"
	dmsetup remove --retry test
}

# Reads 20 ms late; writes not, they are no matter here.
slow() {
	disk "0 $sectors delay /dev/vda 0 20 /dev/vda 0 0"
	short_run 2M 2 2,8
	measure slow /mnt/test $short
	no_disk
}

# broken NAME COMMAND...: done to the disk in the middle of the points.
broken() {
	local name=$1 probe
	shift
	disk "$straight"
	short_run 2M 5 2
	measure "$name" /mnt/test $short &
	probe=$!
	in_the_middle 5
	now >"$name.middle"
	"$@"
	wait $probe
	ps -eo stat,comm,args >"$name.processes"
}

step_clock() {
	local run
	mkfs.ext4 -q -F /dev/vda && mkdir -p /mnt/clock && mount /dev/vda /mnt/clock || die "no disk"
	short_run 16M 4 2,8
	"$ASSAY" run --budget quick --only storage --storage /mnt/clock --out clock-run $short \
		>clock.out 2>clock.err </dev/null &
	run=$!
	in_the_middle 4
	date -s '+1 hour' >/dev/null
	sleep 3
	live_fio || say "the run was over before the clock went back"
	date -s '-1 hour' >/dev/null
	wait $run
	echo $? >clock.end
	"$ASSAY" verify clock-run >clock.verify 2>&1
	echo $? >>clock.end
	find /mnt/clock -mindepth 1 ! -name lost+found >clock.left
	umount /mnt/clock
}

errors() {
	broken errors swap "0 $sectors error"
	no_disk
}

hang() {
	broken hang dmsetup suspend --nolockfs --noflush test
	dmsetup resume test
	until_true 30 nothing_left || say "something still runs"
	ps -eo stat,comm,args >resumed.processes
	no_disk
}

for part in ${*:-slow errors step_clock hang}; do
	$part
done
