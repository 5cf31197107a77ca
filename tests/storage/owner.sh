# Bad input and storage that is not ours: options out of range, another user's
# directory, a path that goes away in the middle, two runs on one path at once.
. "$(dirname "$0")/lib.sh"
least="--set storage.size=64M --set storage.ramp_s=0 --set storage.depths=8 --set storage.pairs=0 --set storage.hold_s=0"
short="$least --set storage.runtime_s=0.5"
mkdir "$tmp/store"

# --- options out of range: refused by name, nothing written
for bad in size=1 size=-5 size=nan size=9999999999999999999999 runtime_s=0 runtime_s=inf ramp_s=-1 \
	write_s=0 jobs=-1 jobs=100000 engine=best shared=maybe nonsense=1; do
	expect 3 "$assay" probe storage --storage "$tmp/store" --set "storage.$bad"
	says "${bad%%=*}"
	one_line
	[ -z "$out" ] || fail "$bad: readings all the same"
done
# What only the probe can check, it refuses as not measured.
for bad in depths=0 depths=-1 depths= depths=1,,2 depths=8,8 depths=1025 depths=8x \
	depths=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17 ramp_s=2; do
	probe bad "$tmp/store" --set storage.runtime_s=1 --set "storage.$bad"
	case $code in
	3) says "${bad%%=*}" ;;
	2) holds bad 'outcomes() == {"not_measured"}' "\"${bad%%=*}\" in why(\"storage_read_iops\")" ;;
	*) fail "$bad: exit $code" ;;
	esac
done
expect 3 "$assay" probe storage
says --storage
clean "$tmp/store"

# --- a path that is none
touch "$tmp/file"
for path in "$tmp/absent" "$tmp/file" ""; do
	probe none "$path" $short
	if [ $code != 3 ]; then
		[ $code = 2 ] || fail "path \"$path\": exit $code"
		holds none 'outcomes() == {"not_measured"}' '"{}" not in why("storage_read_iops")' 'why("storage_read_iops") != ""'
	fi
done
[ ! -e "$tmp/absent" ] || fail "an absent path was made"

# --- another user's directory
chmod 755 "$tmp" "$tmp/bin"
mkdir -m 700 "$tmp/private"
mkdir -m 755 "$tmp/readable"
for dir in private readable; do
	setpriv --reuid=65534 --regid=65534 --clear-groups "$assay" probe storage --storage "$tmp/$dir" $short \
		>"$tmp/nobody.readings" 2>"$tmp/nobody.err" </dev/null
	code=$?
	if [ $code = 3 ]; then
		grep -q "Permission denied" "$tmp/nobody.err" || fail "$dir: $(cat "$tmp/nobody.err")"
	else
		[ $code = 2 ] || fail "$dir: exit $code"
		holds nobody 'outcomes() == {"not_measured"}' '"Permission denied" in why("storage_read_iops")'
	fi
	clean "$tmp/$dir"
done
# Its own: measured.
mkdir "$tmp/own" && chown 65534:65534 "$tmp/own"
setpriv --reuid=65534 --regid=65534 --clear-groups "$assay" probe storage --storage "$tmp/own" $short >"$tmp/own.readings" 2>/dev/null </dev/null
holds own 'value("storage_data_real") == 1' 'outcome("storage_read_iops", 8) == "measured"'
clean "$tmp/own"

# --- two runs on one path: they would measure each other, so the later one gives way
"$assay" probe storage --storage "$tmp/store" $least --set storage.runtime_s=2 >"$tmp/one.readings" 2>"$tmp/one.err" </dev/null &
pid=$!
wait_until 30 sh -c "[ -n \"\$(find '$tmp/store' -name data -size +1M)\" ]" || fail "nothing was written"
probe two "$tmp/store" $short
[ $code = 2 ] || fail "two: exit $code"
holds two 'outcomes() - {"measured"} == {"not_measured"}' 'len(depths()) == 0' '"another run" in why("storage_read_iops")'
wait $pid
holds one 'value("storage_data_real") == 1' 'outcome("storage_read_iops", 8) == "measured"'
clean "$tmp/store"

# --- goes away in the middle: said, not measured further, nobody left at work
reading() { # DIR: fio reads there
	local p
	for p in /proc/[0-9]*; do
		[ "$(readlink "$p/exe" 2>/dev/null)" = "$tmp/bin/fio" ] && case $(readlink "$p/cwd" 2>/dev/null) in "$1"/*) return 0 ;; esac
	done
	return 1
}
going() { # NAME DIR command...: runs the command while DIR is read
	local name=$1 dir=$2
	shift 2
	"$assay" probe storage --storage "$dir" $least --set storage.runtime_s=4 \
		>"$tmp/$name.readings" 2>"$tmp/$name.err" </dev/null &
	local pid=$!
	wait_until 60 reading "$dir" || fail "$name: nothing was read"
	"$@" || fail "$name: $* failed"
	wait $pid
	code=$?
	[ $code = 1 ] || [ $code = 2 ] || fail "$name: exit $code: $(cat "$tmp/$name.err")"
	wait_until 5 none_of_ours || fail "$name: still running: $(ours)"
}
going removed "$tmp/store" sh -c "rm -rf '$tmp/store'/.assay-*"
holds removed 'outcome("storage_read_iops", 8) != "measured"' 'why("storage_read_iops", 8) != ""' '"away" in why("storage_read_iops", 8)'
clean "$tmp/store"
if loop_at "$tmp/loop" ext4 "$tmp/loop.img" 3G; then
	going unmounted "$tmp/loop" umount -l "$tmp/loop"
	# The data can still be read by who has it open; what is opened anew is gone.
	holds unmounted '"failed" in outcomes() or "measured" in outcomes()' 'outcomes() - {"measured"} == set() or why("storage_read_iops", 8) != ""'
	[ -z "$(find "$tmp/loop" -mindepth 1)" ] || fail "written beside the mount"
else
	without "loop devices: $(why_not)"
fi
