# A fresh Debian 12 machine (a bare root): the README's first command installs,
# builds, measures and prints; a second start measures within seconds; a clone
# that cannot be written to is built elsewhere.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
[ "$(id -u)" = 0 ] || skip "needs root for debootstrap"
command -v debootstrap >/dev/null || apt-get -qq -y install debootstrap >/dev/null 2>&1 || skip "debootstrap cannot be had"
mirror=$(debian_mirror)
[ -n "$mirror" ] || skip "no Debian mirror in apt's sources"
root=$tmp/root
at_exit='umount -R "$root/proc" "$root/dev" "$root/sys" 2>/dev/null; :'
debootstrap --variant=minbase bookworm "$root" "$mirror" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; fail debootstrap; exit 1; }
for m in proc dev sys; do
	mount --rbind "/$m" "$root/$m" && mount --make-rslave "$root/$m"
done
cp /etc/resolv.conf "$root/etc/" 2>/dev/null
cp -r /etc/apt/apt.conf.d/. "$root/etc/apt/apt.conf.d/" 2>/dev/null
git clone -q "$source_dir" "$root/root/assay"
inside() { chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root "$@"; }
expect 0 inside /root/assay/scripts/run
prints "Assay will"
prints "Assay works here. Verdict INCOMPLETE (assay exit code 2)"
expect 2 inside /root/assay/scripts/run --strict -- --only inventory
prints "nothing (all packages are there)"
mount --bind "$root/root/assay" "$root/root/assay" && mount -o remount,bind,ro "$root/root/assay"
expect 0 inside /root/assay/scripts/run -- --only inventory
prints "/root/.cache/assay/build"
umount "$root/root/assay"
