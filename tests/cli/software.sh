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

# Images of docker, podman and containerd; what is secret stays where it is. Stores lie
# where their settings say.
id=$(printf '%064d' 7)
tree=$tmp/images
config='{"architecture":"amd64","config":{"Env":["PATH=/bin","CUDA_VERSION=12.8.0","NCCL_VERSION=2.25.1","API_TOKEN=hush"],"Labels":{"org.opencontainers.image.version":"25.01"}},"rootfs":{"type":"layers"}}'
docker=$tree/data/docker/image/btrfs podman=$tree/data/pods/vfs-images
root=$tree/data/containerd
blobs=$root/io.containerd.content.v1.content/blobs/sha256
mkdir -p "$docker/imagedb/content/sha256" "$podman/abc" "$blobs" "$root/io.containerd.metadata.v1.bolt" "$tree"/etc/{docker,containers,containerd}
echo '{"data-root": "/data/docker"}' >"$tree/etc/docker/daemon.json"
printf '[storage]\n# graphroot = "/elsewhere"\ngraphroot = "/data/pods"\n' >"$tree/etc/containers/storage.conf"
printf 'version = 2\nroot = "/data/containerd"\n[grpc]\naddress = "/run/x"\n' >"$tree/etc/containerd/config.toml"
printf '{"Repositories":{"train":{"train:1":"sha256:%s","train@sha256:1":"sha256:%s"},"other":{"other:2":"sha256:short"}}}' $id $id >"$docker/repositories.json"
echo "$config" >"$docker/imagedb/content/sha256/$id"
printf '[{"id":"abc","names":["infer:3"],"digest":"sha256:%s"},{"id":"../x","names":["odd:1"]}]' $id >"$podman/images.json"
printf '{"config":{"digest":"sha256:%s"}}' $id >"$podman/abc/manifest"
echo "$config" >"$podman/abc/=$(printf 'sha256:%s' $id | base64 -w0)"
echo "$config" >"$blobs/$id"
# A list of manifests, of which the first was not fetched, and the one that was.
printf '{"manifests":[{"digest":"sha256:%064d"},{"digest":"sha256:%064d"}]}' 5 8 >"$blobs/$(printf '%064d' 9)"
printf '{"config":{"digest":"sha256:%s"},"layers":[]}' $id >"$blobs/$(printf '%064d' 8)"
cat >"$tmp/bolt.py" <<'PY'
# bolt.py FILE DIGEST NAME...: a bbolt data base as containerd's, with leaves below a
# branch; its first head is torn, and the second counts.
import struct, sys
PAGE, path, digest, names = 4096, sys.argv[1], sys.argv[2].encode(), sorted(n.encode() for n in sys.argv[3:])
def fnv(data):
    h = 0xcbf29ce484222325
    for c in data:
        h = (h ^ c) * 0x100000001b3 & (1 << 64) - 1
    return h
def page(number, kind, count, body, size=PAGE):
    more = (16 + len(body) + PAGE - 1) // PAGE - 1 if size else 0
    return (struct.pack("<QHHI", number, kind, count, more) + body).ljust(size * (more + 1), b"\0")
def leaf(number, items, size=PAGE):
    head, body, at = b"", b"", 16 * len(items)
    for i, (key, value, bucket) in enumerate(items):
        head += struct.pack("<IIII", bucket, at - 16 * i, len(key), len(value))
        body += key + value
        at += len(key) + len(value)
    return page(number, 2, len(items), head + body, size)
def inline(items):
    return struct.pack("<QQ", 0, 0) + leaf(0, items, 0)
def image(name, digest):
    return name, inline([(b"createdat", b"x", 0), (b"target", inline([(b"digest", digest, 0), (b"size", b"\1", 0)]), 1)]), 1
def branch(number, keys):
    head, body, at = b"", b"", 16 * len(keys)
    for i, (key, child) in enumerate(keys):
        head += struct.pack("<IIQ", at - 16 * i, len(key), child)
        body += key
        at += len(key)
    return page(number, 1, len(keys), head + body)
def meta(number, change):
    m = struct.pack("<IIIIQQQQQ", 0xED0CDAED, 2, PAGE, 0, 3, 0, 2, 99, change)
    return page(number, 4, 0, m + struct.pack("<Q", fnv(m) ^ (number == 0)))
images = [image(n, digest) for n in names]
images.append(image(b"zz/long:" + b"x" * 5000, digest))  # a page that goes on in the next
many = leaf(6, images[len(images) // 2:])
spaces = [(b"default", inline([(b"content", inline([]), 1)]), 1), (b"k8s.io", inline([(b"images", struct.pack("<QQ", 4, 0), 1)]), 1)]
pages = [meta(0, 9), meta(1, 8), page(2, 16, 0, b""), leaf(3, [(b"v1", inline(spaces), 1)]),
         branch(4, [(images[0][0], 5), (images[len(images) // 2][0], 6)]), leaf(5, images[:len(images) // 2]), many]
open(path, "wb").write(b"".join(pages))
PY
db=$root/io.containerd.metadata.v1.bolt/meta.db
python3 "$tmp/bolt.py" "$db" "sha256:$(printf '%064d' 9)" reg/serve:4 "reg/serve@sha256:$id" "sha256:$id" reg/x:1 || fail "no bolt"
inside='(CUDA_VERSION 12.8.0, NCCL_VERSION 2.25.1, org.opencontainers.image.version 25.01)'
# image NAME: it is among those that the last scan told
image() { [[ $(sed -n 's/^sw_containers.images //p' "$tmp/said") == *"\"$1\""* ]] || fail "\"$1\" is not in $(grep sw_containers "$tmp/said")"; }
scan "$tree"
for name in "train:1 sha256:000000000000 $inside" "infer:3 sha256:000000000000 $inside" "other:2 sha256:short" "odd:1 ?" \
	"reg/serve:4 sha256:000000000000 $inside" "reg/x:1 sha256:000000000000 $inside"; do
	image "$name"
done
! grep -q hush "$tmp/said" || fail "a secret was told"
is '7 images' sw_containers
is 0 sw_containers.unread_count
# Without a sound data base the configurations are there, their names are not.
cp "$db" "$tmp/meta.db"
for bytes in 0 100 9000 16384 17000; do
	head -c $bytes "$tmp/meta.db" >"$db"
	scan "$tree"
	image "(name not known) sha256:000000000000 $inside"
	is '5 images, 1 stores or files not readable' sw_containers
	is "*meta.db: names of images are not known*" sw_containers.unread
done
# A branch that leads to itself, and bytes changed at random: said, never believed.
python3 - "$tmp/meta.db" "$db" <<'PY'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
data[4 * 4096 + 24:4 * 4096 + 32] = (4).to_bytes(8, "little")
open(sys.argv[2], "wb").write(data)
PY
scan "$tree"
is "*meta.db: names of images are not known*" sw_containers.unread
for seed in 1 2 3 4 5 6 7 8; do
	python3 - "$tmp/meta.db" "$db" $seed <<-'PY'
		import random, sys
		data = bytearray(open(sys.argv[1], "rb").read())
		random.seed(int(sys.argv[3]))
		for _ in range(40):
		    data[random.randrange(3 * 4096, len(data))] = random.randrange(256)
		open(sys.argv[2], "wb").write(data)
	PY
	scan "$tree"
	is '* images*' sw_containers
done
# Rubbish and closed stores are said, and spoil no other reading.
echo rubbish >"$docker/repositories.json"
rm -rf "$tree/data/pods" && ln -s pods "$tree/data/pods"
scan "$tree"
is '*btrfs/repositories.json: no JSON*/data/pods: Too many levels*' sw_containers.unread
is 0 sw_packages.unreadable_count
is sw_none sw_engine
