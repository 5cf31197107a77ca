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
