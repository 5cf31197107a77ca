# The bundle, built in Debian 11, runs as copied in bare roots of Debian 11 and
# 12: nothing installed there, no fio, no BLAS, and it says so. Here it runs on two
# hosts, with modules for MPI that were made from what it holds.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
[ "$(id -u)" = 0 ] || skip "needs root for debootstrap"
command -v debootstrap >/dev/null || apt-get -qq -y install debootstrap >/dev/null 2>&1 || skip "debootstrap cannot be had"
mirror=$(debian_mirror)
[ -n "$mirror" ] || skip "no Debian mirror in apt's sources"
hosts=$tmp/hosts
at_exit='for m in "$tmp"/bare-*/proc; do umount "$m" 2>/dev/null; done; "$source_dir/tests/cluster/hosts" down "$hosts"'

"$source_dir/scripts/bundle" --out "$tmp/out" >"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log"; fail "scripts/bundle"; exit 1; }
tail -n 1 "$tmp/log"
expect 3 python3 "$(ls -d "$tmp"/out/assay-*/)gpu-check" --limit none=1
says "with a step of: inventory"

mkdir "$tmp/site" "$hosts"
tar -C "$tmp/site" --strip-components=1 -xzf "$tmp"/out/assay-*.tar.gz
"$source_dir/tests/cluster/hosts" up "$hosts" 2 || fail "no hosts"
for mpi in openmpi mpich; do
	command -v mpicc.$mpi >/dev/null || { echo "no mpicc.$mpi"; continue; }
	expect 0 "$tmp/site/scripts/cluster/build-comm" --out "$tmp/site" mpicc.$mpi
	# One kernel below both: rejected.
	expect 1 env OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$hosts/rsh" node0 "$tmp/site/scripts/cluster/launch" \
		--launcher $mpi --rsh "$hosts/rsh" "$hosts/names" -- run --budget quick --only inventory --out "$tmp/run-$mpi"
	says "2 nodes are there"
	expect 0 "$tmp/site/assay" verify "$tmp/run-$mpi"
done
"$source_dir/tests/cluster/hosts" down "$hosts"

for suite in bullseye bookworm; do
	root=$tmp/bare-$suite
	debootstrap --variant=minbase "$suite" "$root" "$mirror" >"$tmp/debootstrap.log" 2>&1 || { tail -n 5 "$tmp/debootstrap.log"; fail "debootstrap $suite"; continue; }
	tar -C "$root/root" -xzf "$tmp"/out/assay-*.tar.gz
	mount -t proc proc "$root/proc" || fail "no /proc in $suite"
	name=$(basename "$(ls -d "$root"/root/assay-*)")
	expect 0 chroot "$root" "/root/$name/assay" list --try
	prints "fio is not installed"
	expect 2 chroot "$root" "/root/$name/assay" run --budget quick --out /root/run
	prints INCOMPLETE
	expect 0 chroot "$root" "/root/$name/assay" verify /root/run
	grep -q '"metric":"cpu_membw_triad_gbs".*"outcome":"measured"' "$root/root/run/readings.jsonl" || fail "$suite: no memory bandwidth"
	umount "$root/proc"
done
