# scripts/run and scripts/packages: what is missing is named, nothing is started.
. "$(dirname "$0")/lib.sh"

expect 0 "$source_dir/scripts/run" --help
prints "scripts/run [--strict]"
expect 3 "$source_dir/scripts/run" --work /proc/nowhere
prints "cannot write to /proc/nowhere"
if [ "$(id -u)" = 0 ] && command -v dpkg-query >/dev/null; then
	# Without root a missing package cannot be installed: its name, and 3.
	expect 3 setpriv --reuid=65534 --regid=65534 --clear-groups sh -c ". '$source_dir/scripts/packages' && need_packages no-such-package libc6"
	prints "missing packages: no-such-package"
	prints "apt-get install --no-install-recommends no-such-package"
	expect 0 setpriv --reuid=65534 --regid=65534 --clear-groups sh -c ". '$source_dir/scripts/packages' && need_packages libc6"
fi

# The test data that scripts/run announces is the most that one probe of its plan writes.
expect 0 "$ASSAY" run --dry-run --budget quick --out "$tmp/run"
most=$(printf '%s\n' "$out" | sed -n 's/.*writes up to \([0-9.]*\) GiB below.*/\1/p' | sort -g | tail -n 1)
grep -q "up to ${most%.0} GiB of test data" "$source_dir/scripts/run" || fail "scripts/run does not say the ${most:-?} GiB of its plan"
