# scripts/anonymise: nothing private is left, what belonged together still does, JSON
# stays JSON, and figures, versions and models stay as they were.
. "$(dirname "$0")/gpu_lib.sh"
anonymise=$source_dir/scripts/anonymise

# A run by hand with everything in it that must go.
mkdir -p "$tmp/run/raw/trainer7.cloud.example"
cd "$tmp/run" || exit 3
python3 - <<'PY'
import hashlib, json
host, uuid = "trainer7.cloud.example", "GPU-1b2c3d4e-aaaa-bbbb-cccc-0123456789ab"
raw = f"card,peer\n{uuid},10.20.30.40\n"
open(f"raw/{host}/p2p-{uuid}.csv", "w").write(raw)
def reading(metric, value, **more):
    return {"v": 1, "node": host, "probe": "inventory", "subject": {"kind": "card", "id": uuid, "pci": "0000:17:00.0"},
            "metric": metric, "value": value, "outcome": "measured", "reason": None, "origin": "measured", **more}
rows = [
    {"kind": "start", "v": 1, "run_sha256": "ab" * 32},
    reading("card_name", "NVIDIA H200", params={"serial": "1651234567890", "vbios": "96.00.74.00.01", "x": 1e-05, "big": 12345678901234567890}),
    reading("node_driver_version", "580.95.05", params={"library": "13.1.0.3", "libcublas": "/home/alice/conda/lib/libcublas.so.13"}),
    reading("node_machine_id", "3d1219c7c4c5404aaa1f6d2a48adfda4"),
    reading("node_boot_id", "a804a7c9-2bb1-4fea-a552-698972ef7fcb"),
    reading("node_filesystems", 2, params={"mounts": [{"point": "/data", "source": "filer3:/export/team", "options": "addr=10.20.30.40"}]}),
    reading("node_nics", 1, params={"nics": [{"mac": "52:54:00:12:34:56", "guid": "b8ce:f603:00d2:1a3c", "ip6": "fd00:12::7",
            "gid": "fe80:0000:0000:0000:b8ce:f603:00d2:1a3c"}]}),
    {**reading("p2p_push_gbs", None), "outcome": "failed", "raw": {"file": f"raw/{host}/p2p-{uuid}.csv", "bytes": len(raw),
     "sha256": hashlib.sha256(raw.encode()).hexdigest()}, "subject": {"kind": "link", "id": host, "ends": [{"node": host, "card": uuid}]},
     "reason": {"code": "x", "args": [host], "text": f"{host} (trainer7) did not reach {uuid} at 14:27:23.130; ask alice or ops@cloud.example"}},
    {"kind": "end", "readings": 6},
]
open("readings.jsonl", "w").write("".join(json.dumps({**r, "seq": i, "prev": "cd" * 32}, ensure_ascii=False) + "\n" for i, r in enumerate(rows)) + '{"torn":')
open("run.json", "w").write(json.dumps({"host": host, "vendor": "Wolkig & Söhne", "seed": "08f63067c3937ae8", "storage": ["/data/my team/ö"],
    "command": "assay run --storage '/data/my team/ö' --out /home/alice/run --vendor 'Wolkig & Söhne'"}, indent=1))
open("run.log", "w").write(f"{host}: {uuid[:12]}... ssh bob@10.20.30.40 https://cloud.example/alice\nGPU UUID: {uuid}\nSerial Number : 1650000000009\n")
open("cards.csv", "w").write("node,serial\ntrainer8,990011223344\n")
open("picture.png", "wb").write(b"\x89PNG\xff\x00")
PY
cd "$tmp" || exit 3

expect 3 "$anonymise" run
says "--out DIR"
expect 3 "$anonymise" --out "$tmp/none" "$tmp/absent"
expect 3 "$anonymise" --out "$tmp/run" "$tmp/run"
says "nothing is changed in place"
expect 3 "$anonymise" --out "$tmp/run/copy" "$tmp/run"
says "lies inside"
[ ! -e "$tmp/run/copy" ] || fail "wrote into what it was to copy"

cp -r "$tmp/run" "$tmp/kept"
expect 0 "$anonymise" --out "$tmp/public" --name Projekt "$tmp/run"
says "picture.png"
diff -r "$tmp/run" "$tmp/kept" >/dev/null || fail "the original was changed"
grep -rniE 'trainer|alice|bob@|wolkig|söhne|my team|filer3|1b2c3d4e|16512345|16500000|99001122|3d1219c7|a804a7c9|10\.20\.30|52:54|b8ce|fd00|cloud\.ex|/home' \
	"$tmp/public" && fail "still there (above)"
find "$tmp/public" | grep -E 'trainer|1b2c' && fail "still in a file's name (above)"
expect 0 "$source_dir/tests/tree/leaks" "$tmp/public"
[ ! -e "$tmp/public/picture.png" ] || fail "a picture cannot be looked through"
grep -q "proves" "$tmp/public/ANONYMISED" || fail "ANONYMISED does not say what the copy is"
python3 - "$tmp/public" <<'PY' || fail "the copy (above)"
import hashlib, json, sys
top = sys.argv[1]
rows = [json.loads(line) for line in open(f"{top}/readings.jsonl", encoding="utf-8")]
by = {r["metric"]: r for r in rows}
assert len(rows) == 7 and not any("prev" in r or "seq" in r or "kind" in r for r in rows)
assert by["card_name"]["value"] == "NVIDIA H200" and by["card_name"]["subject"]["pci"] == "0000:17:00.0"
assert by["card_name"]["params"] == {"serial": by["card_name"]["params"]["serial"], "vbios": "96.00.74.00.01", "x": 1e-05, "big": 12345678901234567890}
assert by["node_driver_version"]["value"] == "580.95.05" and by["node_driver_version"]["params"]["library"] == "13.1.0.3"
assert by["node_driver_version"]["params"]["libcublas"].endswith("/libcublas.so.13")
uuid, node = by["card_name"]["subject"]["id"], by["card_name"]["node"]
assert uuid == "GPU-00000001-0000-0000-0000-000000000000" and node == "node-2", (uuid, node)
link = by["p2p_push_gbs"]
assert link["subject"] == {"kind": "link", "id": node, "ends": [{"node": node, "card": uuid}]}
text = link["reason"]["text"]
assert text.startswith(f"{node} ({node}) did not reach {uuid} at 14:27:23.130"), text
assert link["reason"]["args"] == [node]
raw = open(f"{top}/{link['raw']['file']}", "rb").read()
assert link["raw"]["sha256"] == hashlib.sha256(raw).hexdigest() and link["raw"]["bytes"] == len(raw)
address = raw.decode().split(",")[-1].strip()
assert address == "192.0.2.1" and address in by["node_filesystems"]["params"]["mounts"][0]["options"]
assert by["node_filesystems"]["params"]["mounts"][0]["point"] == "/data"
run = json.load(open(f"{top}/run.json", encoding="utf-8"))
assert run["vendor"] == "vendor-1" and run["host"] == node and run["seed"] == "08f63067c3937ae8"
assert run["storage"][0] in run["command"] and "'vendor-1'" in run["command"], run
log = open(f"{top}/run.log").read()
assert log.startswith(f"{node}: {uuid[:12]}... ssh user-") and uuid in log, log
PY
expect 0 "$anonymise" --out "$tmp/again" --name Projekt "$tmp/run"
diff -r "$tmp/public" "$tmp/again" || fail "twice is not the same"
expect 0 "$anonymise" --pci --out "$tmp/pci" "$tmp/run/readings.jsonl"
grep -q "0000:01:00.0" "$tmp/pci/readings.jsonl" && ! grep -q "0000:17:00.0" "$tmp/pci/readings.jsonl" || fail "--pci left an address"

# What gpu-check writes, as it is written: published, it is still the node file of that machine.
expect 0 check real --pairs 1
expect 0 "$anonymise" --out "$tmp/published" "$tmp/real"
expect 0 "$source_dir/tests/tree/leaks" "$tmp/published"
grep -rqF "$(uname -n)" "$tmp/published/runs/gemm/run.json" && fail "the host's name is in run.json"
export ASSAY_STANDIN=$tmp/published/node.json
expect 0 sh -c "'$ASSAY' probe inventory --lib-dir '$standin/lib' 2>/dev/null | grep -c 'GPU-0000000[12]-0000-0000-0000-000000000000.*\"card_memory_mib\".*143771'"
prints 2
