# An honest disk raises no finding: the probe again and again on the disk of this
# machine, whatever else runs beside it. Prints how often a single sign showed.
. "$(dirname "$0")/../cli/lib.sh"
runs=${RUNS:-6}
for i in $(seq "$runs"); do
	"$ASSAY" probe storage --storage "$tmp" --set storage.size=512M --set storage.depths=8,16 \
		--set storage.runtime_s=1 --set storage.ramp_s=0.3 --set storage.hold_s=9 \
		--set storage.pair_s=0.5 >"$tmp/run$i" 2>/dev/null
done
python3 - "$tmp" "$runs" <<'P'
import json, sys
signs = {"storage_cache_signs": [], "storage_burst_signs": []}
for i in range(int(sys.argv[2])):
    for line in open(f"{sys.argv[1]}/run{i + 1}"):
        r = json.loads(line)
        if r["metric"] in signs and r["outcome"] == "measured":
            signs[r["metric"]].append(r["value"])
for name, seen in signs.items():
    print(f"{name}: {sum(v > 1 for v in seen)} findings, {sum(v == 1 for v in seen)} single signs in {len(seen)} runs")
if min(map(len, signs.values())) < int(sys.argv[2]) // 2:
    sys.exit("most runs gave no signs to count")
sys.exit(any(v > 1 for seen in signs.values() for v in seen))
P
[ $? = 0 ] || fail "an honest disk was accused, or gave nothing to judge"
