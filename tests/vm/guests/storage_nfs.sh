# Machine 0 serves a disk by the kernel's NFS server. Machine 1 measures there in
# peace, machine 2 loses the server in the middle and gets it back at the end.
. "$(dirname "$0")/lib.sh"

serve() {
	local lost=${VM_PEERS##* }
	mkfs.ext4 -q -F /dev/vda && mkdir -p /srv/export && mount /dev/vda /srv/export || die "no disk to export"
	rmdir /srv/export/lost+found
	mkdir /srv/export/{peace,probe,run}
	mount -t nfsd nfsd /proc/fs/nfsd
	# Opening files waits for the end of the grace period, 90 s unless told.
	echo 10 >/proc/fs/nfsd/nfsv4leasetime
	echo 10 >/proc/fs/nfsd/nfsv4gracetime
	exportfs -i -o rw,no_root_squash,insecure,fsid=0 '*:/srv/export' || die "cannot export"
	rpc.mountd -N 3 && rpc.nfsd -N 3 -V 4 4 || die "no NFS server"
	echo Y >/proc/fs/nfsd/v4_end_grace
	: >serving
	wait_for 300 middle
	ip route add blackhole "$lost" || die "cannot cut off $lost"
	say "machine 2 is cut off"
	wait_for 200 peace.end
	find /srv/export/peace -mindepth 1 >peace.left
	wait_for 320 cut.over
	ip route del blackhole "$lost"
	wait_for 120 swept
	find /srv/export -mindepth 2 >swept.left
}

peace() {
	short_run 64M 2 2,8
	measure peace /mnt/nfs/peace $short
}

# assay probe and assay run together, in folders of their own.
lose_server() {
	local probe run start
	short_run 2M 5 2
	measure cut /mnt/nfs/probe $short &
	probe=$!
	short_run 2M 6 2
	start=$(now)
	{
		timeout -s KILL 320 "$ASSAY" run --budget quick --only storage --storage /mnt/nfs/run --out cut-run \
			$short >cut-run.out 2>cut-run.err </dev/null
		printf '%s %s\n' $? $(($(now) - start)) >cut-run.end
	} &
	run=$!
	in_the_middle 5
	in_the_middle 6
	now >middle
	wait $probe $run
	say "both ended"
	ps -eo stat,comm,args >cut.processes
	: >cut.over
	# What waited for the server goes on and ends.
	until_true 60 nothing_left || say "something still runs"
	ps -eo stat,comm,args >back.processes
	short_run 1M 1 2
	measure swept-probe /mnt/nfs/probe $short
	measure swept-run /mnt/nfs/run $short
	: >swept
}

if [ "$VM_RANK" = 0 ]; then
	serve
	exit
fi
wait_for 120 serving
mkdir -p /mnt/nfs && mount -t nfs4 -o vers=4.2,hard "${VM_PEERS%% *}:/" /mnt/nfs || die "cannot mount"
case $VM_RANK in
1) peace ;;
2) lose_server ;;
esac
