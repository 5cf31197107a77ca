# scripts/gpu-check on stand-ins: everything is written, the ratios are those that
# were made, and the node file it writes is the node again.
. "$(dirname "$0")/gpu_lib.sh"
# The list of shapes that both sides multiply is the program's.
list=$(sed -n '/^} shapes/,/^};/s/^\t{\(.*\)},$/(\1)/p' "$source_dir/bench/gemm_shapes.c" | paste -sd, | sed 's/),(/), (/g')
grep -qF "SHAPES = [(8, 8, 8), $list]" "$source_dir/scripts/gpu-check" || fail "SHAPES of gpu-check is not the list of bench/gemm_shapes.c: $list"

expect 0 check out --pairs 3
prints "SIMULATED"
prints "2 x NVIDIA H200"
for file in summary.txt steps.json ratios.json nvml.json node.json pairs/torch.jsonl pairs/gemm-03/readings.jsonl \
	pairs/membw-03/readings.jsonl runs/gemm/raw runs/p2p.log; do
	[ -s "$tmp/out/$file" ] || fail "no $file"
done
for probe in inventory gemm membw jitter memtest p2p collective; do
	expect 0 "$ASSAY" verify "$tmp/out/runs/$probe"
done
holds "$tmp/out/steps.json" 'len(d) == 11 and all(s["ok"] for s in d)'
holds "$tmp/out/ratios.json" 'd["simulated"] and len(d["rows"]) == 13 and all(r["pairs"] == 3 and r["coverage"] == 0.75 for r in d["rows"])'
holds "$tmp/out/ratios.json" 'all(abs(r["median"] / 0.97 - 1) < 0.003 for r in d["rows"] if r["name"].endswith("best"))'
holds "$tmp/out/ratios.json" 'all(abs(r["median"] / (0.97 / 0.95) - 1) < 0.003 for r in d["rows"] if r["name"].endswith(" 256"))'
holds "$tmp/out/ratios.json" '[round(r["median"], 3) for r in d["rows"] if r["name"] == "copy"] == [0.96]'
[ "$(grep -c '>= 0.98: NO' "$tmp/out/summary.txt")" = 6 ] || fail "not six rows below the bar"
[ "$(awk 'length > 80' "$tmp/out/summary.txt" | grep -c '^fp\|^copy\|^tf')" = 0 ] || fail "rows wider than 80"
holds "$tmp/out/nvml.json" 'd["cards"][1]["nvmlDeviceGetName"] == "NVIDIA H200" and len(d["cards"][0]["links"]) == 18'
holds "$tmp/out/nvml.json" 'd["cards"][0]["nvmlDeviceGetPciInfo_v3"]["device_id"] == "233510de"'
holds "$tmp/out/nvml.json" 'd["cards"][0]["nvmlDeviceGetMemoryInfo_v2"]["total"] == 143771 * 256'
holds "$tmp/out/nvml.json" 'd["nvmlDeviceGetP2PStatus"][0] == [None, [0, 0, 0, d["nvmlDeviceGetP2PStatus"][0][1][3], 0]]'

# Round trip, with cards that differ and are joined by links.
facts() {
	ASSAY_STANDIN=$1 "$ASSAY" probe inventory --lib-dir "$standin/lib" 2>/dev/null | python3 -c '
import json, sys
want = "card_name card_memory_mib card_sm_count card_capability card_max_sm_clock_mhz card_pci_device nvlink_links_active card_ecc_mode".split()
for line in sys.stdin:
    r = json.loads(line)
    if r["metric"] in want:
        p = r.get("params") or {}
        print(r["subject"]["id"], r["subject"]["pci"], r["metric"], r["value"], r["outcome"], p.get("each"), p.get("serial"), p.get("vbios"))'
}
cat >"$tmp/mixed.json" <<'JSON'
{"id": "mixed", "driver": "570.124.06", "cuda": 12080, "nvlink": [[0, 8, 0], [8, 0, 4], [0, 4, 0]],
 "cards": [{"model": "a100-pcie-80gb"}, {"model": "a100-pcie-40gb", "ecc": false, "is": {"sm_count": "104"}}, {"model": "a100-pcie-80gb"}]}
JSON
for node in node mixed; do
	rm -rf "$tmp/tree"
	ASSAY_STANDIN=$tmp/$node.json "$standin/standin_tree" "$tmp/tree"
	ASSAY_STANDIN=$tmp/$node.json check "dump-$node" --minutes 0.2 --limit gemm=0 --limit membw=0 --limit jitter=0 --limit memtest=0 \
		--limit p2p=0 --limit collective=0 --limit "gemm against torch=0" --limit "membw against torch=0" >"$tmp/log" 2>&1
	facts "$tmp/$node.json" >"$tmp/before"
	facts "$tmp/dump-$node/node.json" >"$tmp/after"
	[ "$(wc -l <"$tmp/before")" -ge 16 ] || fail "$node: the inventory gave $(wc -l <"$tmp/before") facts"
	diff "$tmp/before" "$tmp/after" || fail "$node: its dump is another machine"
done
# Speeds too: the node file of the full check runs as fast as what it was made of.
ASSAY_STANDIN=$tmp/out/node.json "$ASSAY" probe membw --lib-dir "$standin/lib" --set size=4194304 2>/dev/null |
	grep '"membw_triad_gbs"' | head -n 1 | grep -q '"value":4\.[78]' || fail "the node file has another bandwidth"
