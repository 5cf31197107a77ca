# Sourced by the tests on real and on cheating storage, after it tests/cli/lib.sh.
# They mount, so they need root; whatever a machine lacks is a case skipped with its
# reason. A file system, once made, is unmounted at the end whatever happens.
. "$(dirname "${BASH_SOURCE[0]}")/../cli/lib.sh"
storage_dir=$source_dir/tests/storage
CHEAT=${CHEAT:-$(dirname "$ASSAY")/tests/storage/cheat}
mounts=() cheats=() frozen=()
part_skipped=""

[ "$(id -u)" = 0 ] || skip "not root: nothing can be mounted"
command -v fio >/dev/null || skip "fio is not installed"

# What runs from these copies is ours, whoever its parent is and whatever it is called.
mkdir "$tmp/bin"
cp "$ASSAY" "$tmp/bin/assay"
cp "$(command -v fio)" "$tmp/bin/fio"
assay=$tmp/bin/assay
export PATH=$tmp/bin:$PATH

leave() {
	local i
	for i in "${frozen[@]}"; do fsfreeze -u "$i"; done
	for ((i = ${#mounts[@]} - 1; i >= 0; i--)); do
		umount "${mounts[i]}" || umount -l "${mounts[i]}"
	done
	for i in "${cheats[@]}"; do kill -9 "$i"; done
	for i in "${groups[@]}"; do rmdir "$i"; done
} 2>/dev/null
groups=()
at_exit=leave

# Processes of ours that still run, with their state.
ours() {
	local p exe
	for p in /proc/[0-9]*; do
		exe=$(readlink "$p/exe" 2>/dev/null) || continue
		case $exe in "$tmp/bin/"*) sed -n 's/^\(Name\|State\|Pid\):[[:space:]]*//p' "$p/status" 2>/dev/null | tr '\n' ' ' ;; esac
	done
}
none_of_ours() { [ -z "$(ours)" ]; }
# clean DIR: after a run nothing is left of it there, and nobody at work.
clean() {
	wait_until 5 none_of_ours || fail "$1: still running: $(ours)"
	[ -z "$(find "$1" -mindepth 1 ! -name lost+found 2>/dev/null)" ] || fail "$1: left behind: $(find "$1" | head -n 5 | tr '\n' ' ')"
}

# A part of a case that cannot be had here; the case still does the others.
without() {
	echo "not here: $*"
	part_skipped="$part_skipped${part_skipped:+; }$*"
}
# The end of a case of which `total` parts may all have been skipped.
done_or_skip() {
	[ "$parts_done" -gt 0 ] || [ $failures -gt 0 ] || skip "$part_skipped"
}
parts_done=0

# mount_at DIR arguments of mount...: DIR is made.
mount_at() {
	local dir=$1
	shift
	mkdir -p "$dir" && mount "$@" "$dir" 2>"$tmp/.mount" || return 1
	mounts+=("$dir")
}
# loop_at DIR TYPE IMAGE SIZE [mkfs options]: a file system of its own.
loop_at() {
	local dir=$1 type=$2 image=$3 size=$4
	shift 4
	command -v "mkfs.$type" >/dev/null || { echo "no mkfs.$type" >"$tmp/.mount"; return 1; }
	truncate -s "$size" "$image" && "mkfs.$type" -q "$@" "$image" >"$tmp/.mount" 2>&1 &&
		mount_at "$dir" -o loop "$image"
}
why_not() { tail -n 1 "$tmp/.mount"; }

# cheat_at DIR options: a cheat over a fresh directory; $cheat_pid. Replaces one there.
cheat_at() {
	mkdir -p "$1" && mkdir "$1.back" || return 1
	"$CHEAT" "$1.back" "$1" -f -o "$2" 2>"$tmp/.mount" &
	cheat_pid=$!
	cheats+=($cheat_pid)
	mounts+=("$1")
	wait_until 5 mountpoint -q "$1"
}
# The file system goes; reads that hang end with an error.
cheat_off() {
	umount "$1" 2>/dev/null || umount -l "$1" 2>/dev/null
	kill "$cheat_pid" 2>/dev/null
	wait "$cheat_pid" 2>/dev/null
	rm -rf "$1" "$1.back"
}
need_cheat() {
	[ -x "$CHEAT" ] || skip "cheat is not built: no libfuse3"
	[ -c /dev/fuse ] || skip "no /dev/fuse"
	cheat_at "$tmp/try" mode=honest || skip "FUSE does not mount here: $(why_not)"
	cheat_off "$tmp/try"
}

# probe OUT DIR options...: one run, its readings in $tmp/OUT.readings, its exit in $code.
probe() {
	local file=$tmp/$1.readings dir=$2
	shift 2
	"$assay" probe storage --storage "$dir" "$@" >"$file" 2>"$file.err" </dev/null
	code=$?
	err=$(cat "$file.err")
}
# asked OUT EXPRESSION...: see holds.py; holds: or fail.
asked() {
	local name=$1
	shift
	said=$(python3 "$storage_dir/holds.py" "$tmp/$name.readings" "$@" 2>&1)
}
holds() {
	asked "$@" || fail "$1: $said"
}

# try NAME CHEAT-OPTIONS SETTINGS: $code, $took and the readings in $tmp/NAME.readings.
# The mount is left for the caller's look and goes with `cheat_off`.
cheat_base="storage.runtime_s=0.5 storage.ramp_s=0 storage.depths=8 storage.p99_ms=200"
try() {
	local name=$1 start=$SECONDS set=() one
	for one in $cheat_base $3; do set+=(--set "$one"); done
	cheat_at "$tmp/$name.dir" "mode=$2" || fail "$name: cheat does not start: $(why_not)"
	probe "$name" "$tmp/$name.dir" "${set[@]}"
	took=$((SECONDS - start))
	echo "$2: $took s"
	wait_until 5 none_of_ours || fail "$name: still running: $(ours)"
}
ended() { # NAME CODE: and nothing of ours is left there
	[ $code = "$2" ] || fail "$1: exit $code, not $2: $(tail -n 2 "$tmp/$1.readings.err")"
	[ -z "$(find "$tmp/$1.dir" -mindepth 1 2>&1)" ] || fail "$1: left behind: $(find "$tmp/$1.dir")"
	cheat_off "$tmp/$1.dir"
}
