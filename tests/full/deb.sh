# The .deb, built as README says, on a bare Debian 12: apt installs it with what it needs and
# no more, the program runs, says what is absent, and goes again without a trace. And the
# image of scripts/package/Containerfile, where buildah can be had.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
[ "$(id -u)" = 0 ] || skip "needs root for debootstrap"
need_packages debootstrap dpkg-dev file >"$tmp/log" 2>&1 || skip "$(tail -n 1 "$tmp/log")"
mirror=$(debian_mirror)
[ -n "$mirror" ] || skip "no Debian mirror in apt's sources"
root=$tmp/root
at_exit='umount "$root/proc" 2>/dev/null; command -v buildah >/dev/null && buildah --root "$tmp/store" --runroot "$tmp/runroot" rm -a >/dev/null 2>&1; umount -R "$tmp/store/overlay" 2>/dev/null; :'

cd "$source_dir" || exit 3
cmake -G Ninja -S . -B "$tmp/build" -DASSAY_TESTS=OFF >"$tmp/log" 2>&1 && cmake --build "$tmp/build" >>"$tmp/log" 2>&1 &&
	(cd "$tmp/build" && cpack) >>"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log"; fail "no package"; exit 1; }
deb=$(ls "$tmp"/build/assay_*.deb)
du -k "$deb"

debootstrap --variant=minbase bookworm "$root" "$mirror" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; fail debootstrap; exit 1; }
cp /etc/resolv.conf "$root/etc/" 2>/dev/null
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null
tar -C "$root" -cf "$tmp/base.tar" . # for the image
mount -t proc proc "$root/proc" || fail "no /proc"
cp "$deb" "$root/root/"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root DEBIAN_FRONTEND=noninteractive "$@"; }
installed() { inside dpkg-query -W -f '${Package}\n' | sort; }
installed >"$tmp/before"
inside apt-get -q update >"$tmp/log" 2>&1
expect 0 inside apt-get -q -y install --no-install-recommends "/root/$(basename "$deb")"
installed | comm -13 "$tmp/before" - >"$tmp/new"
echo "installed: $(tr '\n' ' ' <"$tmp/new")"
! grep -qiE 'nvidia|cuda|mpi|opencl|libx11' "$tmp/new" || fail "drags in $(cat "$tmp/new")"
expect 0 inside assay list --try
prints "fio is not installed"
expect 2 inside assay run --budget quick --out /root/run
prints INCOMPLETE
expect 0 inside assay verify /root/run
expect 0 inside assay bundle /root/run --out /root/run.tar
expect 0 inside assay verify /root/run.tar
inside dpkg -L assay | sort >"$tmp/files"
expect 0 inside apt-get -q -y purge assay
while read -r file; do
	[ -d "$root$file" ] || [ ! -e "$root$file" ] || echo "$file"
done <"$tmp/files" >"$tmp/left"
[ ! -s "$tmp/left" ] || fail "left behind: $(cat "$tmp/left")"
[ ! -e "$root/usr/share/assay" ] || fail "/usr/share/assay is left"
umount "$root/proc"

# --- the image ------------------------------------------------------------------

need_packages buildah >"$tmp/log" 2>&1 || { echo "no image here: $(tail -n 1 "$tmp/log")"; exit; }
image() { buildah --root "$tmp/store" --runroot "$tmp/runroot" --storage-driver vfs "$@"; }
from=$(image from scratch) && image add "$from" "$tmp/base.tar" / >/dev/null && image commit "$from" localhost/base >/dev/null 2>&1 ||
	{ echo "no image here: buildah does not work on this machine"; exit; }
expect 0 image build --isolation chroot --build-arg BASE=localhost/base -f scripts/package/Containerfile -t assay .
from=$(image from localhost/assay)
expect 0 image run --isolation chroot "$from" -- assay --version
prints "assay 0."
expect 0 image run --isolation chroot "$from" -- /opt/assay/scripts/cluster/launch --help
expect 0 image run --isolation chroot "$from" -- test -s /usr/lib/assay/assay_comm_openmpi.so -a -x /usr/sbin/sshd
image rm -a >/dev/null 2>&1
echo "the image was built"
