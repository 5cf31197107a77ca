# Engines a container's seccomp profile refuses, under any errno, and a user
# without privileges: the next engine does it, and what was refused is said.
. "$(dirname "$0")/lib.sh"
refuse=$(dirname "$ASSAY")/tests/storage/refuse
[ -x "$refuse" ] || skip "refuse is not built"
"$refuse" 1 425 -- true || skip "no seccomp here"
case $(uname -m) in x86_64) uring=425,426,427 setup=206 getevents=208,333 ;; *) skip "system call numbers of $(uname -m)" ;; esac
mkdir "$tmp/store"

# refused NAME ERRNO CALLS: a short run under it
refused() {
	"$refuse" "$2" "$3" -- "$assay" probe storage --storage "$tmp/store" --set storage.size=32M --set storage.runtime_s=0.5 \
		--set storage.ramp_s=0 --set storage.depths=8 --set storage.hold_s=0 --set storage.pairs=0 \
		>"$tmp/$1.readings" 2>"$tmp/$1.err" </dev/null
	code=$?
	clean "$tmp/store"
}
for number in 1 38 95; do
	refused uring $number $uring
	holds uring 'value("storage_engine") == "libaio"' '"io_uring: " in param("storage_engine", "refused")' \
		'outcome("storage_read_iops", 8) == "measured"' 'value("storage_direct") == "yes"'
done
for calls in $setup $getevents; do
	refused both 1 "$uring,$calls"
	holds both 'value("storage_engine") == "psync"' '"libaio: " in param("storage_engine", "refused")' \
		'outcome("storage_read_iops", 8) == "measured"' 'param("storage_read_iops", "jobs", 8) == 8'
done
# EAGAIN of io_setup: fs.aio-max-nr used up by others on the host.
refused full 11 "$uring,$setup"
holds full 'value("storage_engine") == "psync"' 'outcome("storage_read_iops", 8) == "measured"'
# A container without privileges: no caches to drop, no root, and none needed.
chmod 755 "$tmp" "$tmp/bin"
chown 65534:65534 "$tmp/store"
setpriv --reuid=65534 --regid=65534 --clear-groups --inh-caps=-all --bounding-set=-all \
	"$refuse" 1 "$uring" -- "$assay" probe storage --storage "$tmp/store" --set storage.size=32M --set storage.runtime_s=0.5 \
	--set storage.ramp_s=0 --set storage.depths=8 --set storage.hold_s=0 --set storage.pairs=0 >"$tmp/plain.readings" 2>"$tmp/plain.err" </dev/null
holds plain 'value("storage_data_real") == 1' 'value("storage_engine") == "libaio"' 'outcome("storage_read_iops", 8) == "measured"'
clean "$tmp/store"
