# The storage probe against a kernel of its own, in throw-away machines: NFS with
# its server and without, a disk that is slow, hangs or breaks below it, a clock
# that is stepped. Emulated: figures are looked at for order, never for speed.
. "$(dirname "$0")/../cli/lib.sh"
. "$source_dir/scripts/packages"
vm=$source_dir/tests/vm/vm
[ "$(id -u)" = 0 ] || skip "needs root: the machines read this one's files"
need_packages $machine_packages nfs-kernel-server nfs-common dmsetup e2fsprogs fio \
	>"$tmp/log" 2>&1 || skip "packages for the machines cannot be had: $(tail -n 1 "$tmp/log")"
"$vm" --prepare >"$tmp/log" 2>&1 || skip "$(tail -n 1 "$tmp/log")"
ASSAY=$(realpath "$ASSAY")

# machines FOLDER GUEST [PART...] -- OPTION...: a guest script in a folder of its own.
machines() {
	local folder=$1 guest=$2 parts=()
	shift 2
	while [ "$1" != -- ]; do
		parts+=("$1")
		shift
	done
	shift
	mkdir "$tmp/$folder"
	"$vm" -t 345 -c 1 -d 4G -s "$tmp/$folder" "$@" -- env ASSAY="$ASSAY" bash "$source_dir/tests/vm/guests/$guest" "${parts[@]}" \
		>"$tmp/$folder.log" 2>&1
	echo $? >"$tmp/$folder.code"
}

# At once: most of the time they wait for deadlines.
machines nfs storage_nfs.sh -- -n 3 -m "nfsd nfsv4" &
machines hang storage_dm.sh hang -- -m dm-mod &
machines dm storage_dm.sh slow errors step_clock -- -m dm-delay &
wait
for name in nfs hang dm; do
	cat "$tmp/$name.log"
	[ "$(cat "$tmp/$name.code")" = 0 ] || fail "machines of $name: exit $(cat "$tmp/$name.code")"
done
python3 "$source_dir/tests/vm/judge_storage.py" "$tmp" || fail "what came out of the machines"
