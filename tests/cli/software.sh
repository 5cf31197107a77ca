# What the software probe reads of images of other kinds: rpm data bases of three
# formats, sound, torn and circular, and configurations of container images.
. "$(dirname "$0")/lib.sh"
python3 -c 'import sqlite3' 2>/dev/null || skip "python3 has no sqlite3"
cat >"$tmp/make.py" <<'PY'
# make.py KIND FILE: an rpm data base with four packages and a key of signatures.
import os, sqlite3, struct, sys

def header(name, version, release, more=0):
    index, data = b"", b""
    for tag, text in ((1000, name), (1001, version), (1002, release)):
        index += struct.pack(">IIII", tag, 6, len(data), 1)
        data += text.encode() + b"\0"
    index += struct.pack(">IIII", 1005, 6, len(data), 1)  # a long description
    data += b"x" * more + b"\0"
    return struct.pack(">II", 4, len(data)) + index + data

blobs = [header("nvidia-fabric-manager", "550.54.15", "1", 20000), header("slurm-slurmd", "23.11.4", "1.el9", 300),
         header("bccl", "1.2", "3", 3000), header("gpg-pubkey", "1", "2"), header("bash", "5.1.8", "9.el9", 9000)]

def sqlite(path):
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size=4096")
    db.execute("CREATE TABLE Packages (hnum INTEGER PRIMARY KEY AUTOINCREMENT, blob BLOB NOT NULL)")
    db.execute("CREATE TABLE Name (key TEXT NOT NULL, hnum INTEGER NOT NULL)")
    # Enough rows for inner pages of the tree.
    for b in blobs + [header("pkg-%d" % i, "1", "2", 700) for i in range(200)]:
        db.execute("INSERT INTO Packages (blob) VALUES (?)", (b,))
    db.commit()
    db.close()

def ndb(path):
    out = bytearray(struct.pack("<4sIIII", b"RpmP", 0, 1, 1, 9) + b"\0" * 12)
    body, at = bytearray(), 4096
    for i, b in enumerate(blobs):
        size = (16 + len(b) + 12 + 15) // 16 * 16
        out += struct.pack("<4sIII", b"Slot", i + 1, at // 16, size // 16)
        body += (struct.pack("<4sIII", b"BlbS", i + 1, 1, len(b)) + b).ljust(size, b"\0")
        at += size
    while len(out) < 4096:
        out += struct.pack("<4sIII", b"Slot", 0, 0, 0)
    open(path, "wb").write(out + body)

def bdb(path):
    size = 4096
    pages = [bytearray(size), bytearray(size)]
    struct.pack_into("<I", pages[0], 12, 0x61561)
    struct.pack_into("<I", pages[0], 20, size)
    items, top = [], size
    for b in blobs:
        first = len(pages)
        for at in range(0, len(b), size - 26):
            part = b[at:at + size - 26]
            page = bytearray(size)
            more = at + len(part) < len(b)
            struct.pack_into("<QIIIHHBB", page, 0, 0, len(pages), 0, len(pages) + 1 if more else 0, 1, len(part), 0, 7)
            page[26:26 + len(part)] = part
            pages.append(page)
        for item in (struct.pack("<BI", 1, len(items)), struct.pack("<B3xII", 3, first, len(b))):
            top -= len(item)
            pages[1][top:top + len(item)] = item
            items.append(top)
    struct.pack_into("<QIIIHHBB", pages[1], 0, 0, 1, 0, 0, len(items), top, 0, 13)
    struct.pack_into("<%dH" % len(items), pages[1], 26, *items)
    open(path, "wb").write(b"".join(pages))

os.makedirs(os.path.dirname(sys.argv[2]), exist_ok=True)
{"sqlite": sqlite, "ndb": ndb, "bdb": bdb}[sys.argv[1]](sys.argv[2])
PY
# scan TREE: what the probe says of it, a line "METRIC value or reason" and those of params.
scan() {
	"$ASSAY" probe software --sys-root "$1" 2>/dev/null | python3 -c '
import json, sys
for line in sys.stdin:
    r = json.loads(line)
    print(r.get("metric"), (r.get("reason") or {}).get("code") or r.get("value"))
    for key, value in (r.get("params") or {}).items():
        print(r["metric"] + "." + key, json.dumps(value))' >"$tmp/said"
}
# is PATTERN METRIC[.PARAM] of the last scan
is() { got=$(sed -n "s/^$2 //p" "$tmp/said"); [[ $got == $1 ]] || fail "$2 of $tree: \"$got\", not $1"; }

for kind in sqlite:/var/lib/rpm/rpmdb.sqlite:204 ndb:/usr/lib/sysimage/rpm/Packages.db:4 bdb:/var/lib/rpm/Packages:4; do
	IFS=: read -r name path count <<<"$kind"
	tree=$tmp/$name
	python3 "$tmp/make.py" "$name" "$tree$path" || fail "no $name"
	scan "$tree"
	is "$count" sw_packages.rpm
	is 0 sw_packages.unreadable_count
	is '*fabric_manager 550.54.15*slurm 23.11.4-1.el9*' sw_stack
	is 'BCCL present' sw_engine
	is 'Slurm 23.11.4-1.el9*' sw_scheduler
	# Cut in the middle, and with each byte of some pages changed: said, never believed.
	mkdir -p "$tmp/cut$(dirname "$path")"
	head -c 9000 "$tree$path" >"$tmp/cut$path"
	scan "$tmp/cut"
	is '[1-9]*' sw_packages.unreadable_count
	python3 - "$tree$path" "$tmp/cut$path" <<-'PY'
		import random, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		random.seed(7)
		for _ in range(2000):
		    data[random.randrange(len(data))] = random.randrange(256)
		open(sys.argv[2], "wb").write(data)
	PY
	scan "$tmp/cut"
	is '[0-9]*' sw_packages
	rm -rf "$tmp/cut"
done
# Changes that a crash left beside it; rubbish in its place.
head -c 100 /dev/zero >"$tmp/sqlite/var/lib/rpm/rpmdb.sqlite-wal"
tree=$tmp/sqlite
scan "$tree"
is 1 sw_packages.unreadable_count
echo rubbish >"$tmp/sqlite/var/lib/rpm/rpmdb.sqlite"
scan "$tree"
is 2 sw_packages.unreadable_count
is sw_unreadable sw_engine

# Images of docker, podman and containerd; what is secret stays where it is.
id=$(printf '%064d' 7)
tree=$tmp/images
config='{"architecture":"amd64","config":{"Env":["PATH=/bin","CUDA_VERSION=12.8.0","NCCL_VERSION=2.25.1","API_TOKEN=hush"],"Labels":{"org.opencontainers.image.version":"25.01"}},"rootfs":{"type":"layers"}}'
docker=$tree/var/lib/docker/image/overlay2 podman=$tree/var/lib/containers/storage/overlay-images
blobs=$tree/var/lib/containerd/io.containerd.content.v1.content/blobs/sha256
mkdir -p "$docker/imagedb/content/sha256" "$podman/abc" "$blobs"
printf '{"Repositories":{"train":{"train:1":"sha256:%s","train@sha256:1":"sha256:%s"},"other":{"other:2":"sha256:short"}}}' $id $id >"$docker/repositories.json"
echo "$config" >"$docker/imagedb/content/sha256/$id"
printf '[{"id":"abc","names":["infer:3"],"digest":"sha256:%s"},{"id":"../x","names":["odd:1"]}]' $id >"$podman/images.json"
printf '{"config":{"digest":"sha256:%s"}}' $id >"$podman/abc/manifest"
echo "$config" >"$podman/abc/=$(printf 'sha256:%s' $id | base64 -w0)"
echo "$config" >"$blobs/$id"
echo '{"layers":[]}' >"$blobs/$(printf '%064d' 8)"
inside='(CUDA_VERSION 12.8.0, NCCL_VERSION 2.25.1, org.opencontainers.image.version 25.01)'
scan "$tree"
got=$(sed -n 's/^sw_containers.images //p' "$tmp/said")
for name in "train:1 sha256:000000000000 $inside" "infer:3 sha256:000000000000 $inside" "containerd sha256:000000000000 $inside" "other:2 sha256:short" "odd:1 ?"; do
	[[ $got == *"\"$name\""* ]] || fail "\"$name\" is not in $got"
done
[[ $got != *hush* ]] || fail "a secret was told: $got"
is '5 images' sw_containers
