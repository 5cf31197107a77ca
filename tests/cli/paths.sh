# Storage paths and output directories that are not what one hopes for.
. "$(dirname "$0")/lib.sh"
short="--budget quick --only storage --set storage.runtime_s=1.5 --storage-size 64M --set storage.pairs=0 --set storage.hold_s=0"

# A path that already holds files: never touched.
mkdir "$tmp/store"
echo mine >"$tmp/store/file"
mkdir "$tmp/store/rr.0"
before=$(cd "$tmp/store" && find . -printf '%p %s %T@ %i\n' | grep -v '^\. ' | sort)
expect 2 "$ASSAY" run $short --out "$tmp/o1" --storage "$tmp/store"
after=$(cd "$tmp/store" && find . -printf '%p %s %T@ %i\n' | grep -v '^\. ' | sort)
[ "$before" = "$after" ] || fail "the storage path changed: $after"
grep -q '"metric":"storage_read_iops"' "$tmp/o1/readings.jsonl" || fail "no IOPS"

# Names with spaces, quotes and bytes that are no UTF-8.
odd="$tmp/a b 'c' \"d\""
mkdir "$odd"
expect 2 "$ASSAY" run $short --out "$tmp/o2 x" --storage "$odd"
python3 -c 'import json,sys
[json.loads(l) for l in open(sys.argv[1])]' "$tmp/o2 x/readings.jsonl" || fail "journal does not parse"
bytes=$(printf '%s/\377\376' "$tmp")
mkdir "$bytes"
expect 2 "$ASSAY" run $short --out "$tmp/o3" --storage "$bytes"
python3 -c 'import json,sys
[json.loads(l) for l in open(sys.argv[1], encoding="utf-8")]' "$tmp/o3/readings.jsonl" || fail "journal is not UTF-8"

if [ "$(id -u)" = 0 ]; then
	# Not writable, by another user.
	mkdir -m 700 "$tmp/private"
	chmod 755 "$tmp"
	cp "$ASSAY" "$tmp/assay" && chmod 755 "$tmp/assay"
	expect 3 setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/assay" run $short --out /var/tmp/nobody-$$ --storage "$tmp/private"
	says "Permission denied"
	expect 3 setpriv --reuid=65534 --regid=65534 --clear-groups "$tmp/assay" run $short --out "$tmp/private/x"
	says "Permission denied"
	rm -rf "/var/tmp/nobody-$$"
	if mkdir "$tmp/mnt" && mount -t tmpfs -o size=3g assay-test "$tmp/mnt" 2>/dev/null; then
		at_exit="umount -l $tmp/mnt"
		# tmpfs is RAM: refused as storage, whatever speed it has.
		expect 2 "$ASSAY" run $short --out "$tmp/o4" --storage "$tmp/mnt"
		! grep '"metric":"storage_read_iops"' "$tmp/o4/readings.jsonl" | grep -q '"outcome":"measured"' || fail "tmpfs was judged"
		grep -q tmpfs "$tmp/o4/readings.jsonl" || fail "tmpfs is not named"
		# The run directory's disk fills: said, what was saved stays judgeable.
		mount -o remount,size=64k "$tmp/mnt" 2>/dev/null
		"$ASSAY" run --budget quick --only inventory --out "$tmp/mnt/run" >"$tmp/.out" 2>"$tmp/.err"
		code=$?
		[ $code = 2 ] || [ $code = 3 ] || fail "full disk: exit $code"
		grep -qi "no space" "$tmp/.err" || fail "full disk: $(cat "$tmp/.err")"
		[ ! -s "$tmp/mnt/run/readings.jsonl" ] || { "$ASSAY" verify "$tmp/mnt/run" >/dev/null; [ $? != 1 ] || fail "full disk reads as altered"; }
		umount "$tmp/mnt"
		at_exit=:
		# Too little free space: refused with the figure.
		mount -t tmpfs -o size=1g assay-test "$tmp/mnt"
		at_exit="umount -l $tmp/mnt"
		truncate -s 1500M "$tmp/disk.img"
		if mkfs.ext4 -q "$tmp/disk.img" 2>/dev/null && mkdir "$tmp/loop" && mount -o loop "$tmp/disk.img" "$tmp/loop" 2>/dev/null; then
			at_exit="umount -l $tmp/mnt $tmp/loop"
			expect 2 "$ASSAY" run $short --out "$tmp/o5" --storage "$tmp/loop"
			grep -q '"outcome":"not_measured"' "$tmp/o5/readings.jsonl" || fail "1.5 GB disk was filled"
		fi
	fi
fi

# Output that cannot be made.
touch "$tmp/afile"
expect 3 "$ASSAY" run $short --out "$tmp/afile"
expect 3 "$ASSAY" run $short --out "$tmp/afile/sub"
expect 3 "$ASSAY" run $short --out /proc/assay
