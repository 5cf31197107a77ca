# The whole quick run on this machine, as scripts/run does it: figures of host,
# CPU and disk are real, GPU lines say what is missing, the verdict is not ACCEPT.
. "$(dirname "$0")/lib.sh"

start=$SECONDS
expect 2 "$ASSAY" run --budget quick --out "$tmp/run"
took=$((SECONDS - start))
echo "the quick run took $took s (bar 300)"
prints INCOMPLETE
if [ ! -e /dev/nvidiactl ]; then
	prints "libcuda.so.1"
	# As README shows it.
	prints "$(grep -o '0 of [0-9]* rules judged' "$source_dir/README.md" | head -n 1)"
fi
python3 - "$tmp/run/readings.jsonl" <<'PY' || fail "figures of this machine"
import json, sys
by = {}
for line in open(sys.argv[1]):
    r = json.loads(line)
    if "metric" in r:
        by.setdefault(r["metric"], []).append(r)
for m in ("node_cpus", "node_memory_gib", "jitter_cpu_longest_us", "cpu_gemm_fp32_gflops", "cpu_gemm_fp64_gflops",
          "cpu_membw_triad_gbs", "local_storage_read_iops", "local_storage_lat_depth1_us", "local_checkpoint_write_gbs",
          "local_dataset_stream_gbs"):
    got = [r for r in by.get(m, []) if r["outcome"] == "measured"]
    assert got, (m, [(r["outcome"], r["reason"]) for r in by.get(m, [])])
    assert all(r["value"] > 0 for r in got), (m, got)
    assert all(r["origin"] == "measured" for r in got), m
errors = [r["value"] for r in by["cpu_gemm_errors"] if r["outcome"] == "measured"]
assert errors and not any(errors), errors
PY
expect 0 "$ASSAY" verify "$tmp/run"
no_scratch "$tmp" || fail "scratch left"
lines=$(printf '%s\n' "$(cat "$tmp/run/scorecard.json" >/dev/null; "$ASSAY" score "$tmp/run")" | awk '{ if (length($0) > 80) print }')
[ -z "$lines" ] || fail "wider than 80 columns: $lines"
