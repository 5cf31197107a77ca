# The software probe on an image of 100,000 packages: whole, in a bounded time and memory.
. "$(dirname "$0")/../cli/lib.sh"
python3 - "$tmp" <<'PYTHON' || fail "no image"
import os, sys
site = sys.argv[1] + "/image/opt/conda/lib/python3.11/site-packages"
for i in range(100000):
    d = f"{site}/pkg_{i}-1.{i % 50}.dist-info"
    os.makedirs(d)
    with open(d + "/METADATA", "w") as f:
        f.write(f"Metadata-Version: 2.1\nName: pkg-{i}\nVersion: 1.{i % 50}\n\n" + "y" * 2000)
PYTHON
"$ASSAY" probe software --sys-root "$tmp/image" >"$tmp/lines" 2>/dev/null
grep -q '"metric":"sw_packages","unit":"1","value":100000,' "$tmp/lines" || fail "not all packages: $(head -c 600 "$tmp/lines")"
grep -q '"metric":"sw_fingerprint","unit":"text","value":"[0-9a-f]\{64\}"' "$tmp/lines" || fail "no fingerprint"
begin=$(date +%s%N)
(ulimit -v 2000000; "$ASSAY" probe software --sys-root "$tmp/image") >"$tmp/again" 2>/dev/null
echo "100,000 packages, warm: $((($(date +%s%N) - begin) / 1000000)) ms"
print_of() { sed -n 's/.*"sw_fingerprint","unit":"text","value":"\([0-9a-f]*\)".*/\1/p' "$1"; }
[ "$(print_of "$tmp/lines")" = "$(print_of "$tmp/again")" ] || fail "two scans, two fingerprints"
# Time that is up is said, and nothing is claimed from half a scan.
"$ASSAY" probe software --sys-root "$tmp/image" --set software.seconds=0 >"$tmp/lines" 2>/dev/null
grep -q '"sw_packages".*"code":"sw_cut"' "$tmp/lines" || fail "half a scan was taken for a whole one"
# The data base of a real containerd: names by the hundred, so that its tree has branches.
if ! command -v containerd >/dev/null || ! command -v ctr >/dev/null || [ "$(id -u)" != 0 ]; then
	echo "containerd is not here, or we are not root: its data base was not read for real"
	exit
fi
mkdir -p "$tmp/host/var/lib"
cat >"$tmp/oci.py" <<'PY'
# oci.py TAR NAME...: an archive of one image
import hashlib, io, json, sys, tarfile
blobs = {}
def blob(data, kind):
    digest = hashlib.sha256(data).hexdigest()
    blobs["blobs/sha256/" + digest] = data
    return {"digest": "sha256:" + digest, "size": len(data), "mediaType": "application/vnd.oci.image." + kind}
def add(tar, name, data):
    info = tarfile.TarInfo(name)
    info.size = len(data)
    tar.addfile(info, io.BytesIO(data))
layer = io.BytesIO()
with tarfile.open(fileobj=layer, mode="w") as tar:
    add(tar, "hello", b"hello")
layer = layer.getvalue()
config = {"architecture": "amd64", "os": "linux", "config": {"Env": ["CUDA_VERSION=12.8.0"]},
          "rootfs": {"type": "layers", "diff_ids": ["sha256:" + hashlib.sha256(layer).hexdigest()]}}
manifest = {"schemaVersion": 2, "config": blob(json.dumps(config).encode(), "config.v1+json"),
            "layers": [blob(layer, "layer.v1.tar")]}
one = blob(json.dumps(manifest).encode(), "manifest.v1+json")
index = {"schemaVersion": 2, "manifests": [dict(one, annotations={"io.containerd.image.name": n}) for n in sys.argv[2:]]}
with tarfile.open(sys.argv[1], "w") as tar:
    add(tar, "oci-layout", b'{"imageLayoutVersion": "1.0.0"}')
    add(tar, "index.json", json.dumps(index).encode())
    for name, data in blobs.items():
        add(tar, name, data)
PY
python3 "$tmp/oci.py" "$tmp/i.tar" $(seq -f 'registry.example/team/train-%04g:tag' 400) || fail "no archive"
printf 'version = 2\nroot = "%s"\nstate = "%s"\ndisabled_plugins = ["io.containerd.grpc.v1.cri"]\n[grpc]\naddress = "%s"\n' \
	"$tmp/host/var/lib/containerd" "$tmp/state" "$tmp/sock" >"$tmp/config.toml"
containerd -c "$tmp/config.toml" >"$tmp/containerd.log" 2>&1 &
daemon=$!
for _ in $(seq 100); do
	[ -S "$tmp/sock" ] && break
	sleep 0.1
done
ctr -a "$tmp/sock" -n k8s.io images import --no-unpack "$tmp/i.tar" >"$tmp/ctr.log" 2>&1
# Read while the daemon has it open.
"$ASSAY" probe software --sys-root "$tmp/host" >"$tmp/lines" 2>/dev/null
kill $daemon
wait $daemon
grep -q '"metric":"sw_containers","unit":"text","value":"400 images"' "$tmp/lines" || fail "$(grep sw_containers "$tmp/lines" | head -c 600) $(tail -n 2 "$tmp/ctr.log")"
grep -q '"registry.example/team/train-0001:tag sha256:[0-9a-f]\{12\} (CUDA_VERSION 12.8.0)"' "$tmp/lines" || fail "no name"
grep -q '"unread_count":0' "$tmp/lines" || fail "something was not read"
echo "containerd $(containerd --version | cut -d ' ' -f 3): 400 names read"
