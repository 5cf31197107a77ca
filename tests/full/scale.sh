# 128 nodes in one run, hosts that are namespaces of this machine: what is planted on
# some is found there and nowhere else; time and memory of the ranks are printed. And
# clean clusters, whole, of which none may be blamed.
. "$(dirname "$0")/../cli/lib.sh"
build=$(cd "$(dirname "$ASSAY")" && pwd)
[ "$(id -u)" = 0 ] || skip "needs root for hosts of its own"
[ -x "$build/tests/standin/standin_tree" ] || skip "not built: standin"
[ -e "$build/assay_comm_openmpi.so" ] && command -v mpirun.openmpi >/dev/null || skip "needs Open MPI and the module for it"
nodes=${NODES:-128}

# The most memory that a rank ever had: rank 0, and any other.
cat >"$tmp/watch" <<'WATCH'
import os, signal, sys, time
assay, to, most = os.path.realpath(sys.argv[1]), sys.argv[2], {"first": 0, "other": 0}
stopped = False
def stop(*_):
    global stopped
    stopped = True
signal.signal(signal.SIGTERM, stop)
while not stopped:
    for p in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink(f"/proc/{p}/exe") != assay or open(f"/proc/{p}/cmdline").read().split("\0")[1] != "run":
                continue
            kind = "first" if "OMPI_COMM_WORLD_RANK=0" in open(f"/proc/{p}/environ").read().split("\0") else "other"
            high = [line.split()[1] for line in open(f"/proc/{p}/status") if line.startswith("VmHWM")]
            most[kind] = max(most[kind], int(high[0]) / 1024)
        except (OSError, IndexError):
            pass
    time.sleep(1)
ok = 0 < most["first"] < 200 and 0 < most["other"] < 30
open(to, "w").write(f"rank 0 at most {most['first']:.0f} MB (bar 200), others {most['other']:.0f} MB (bar 30)"
                    f"{'' if ok else ': TOO MUCH'}\n")
WATCH

# The case of 16 nodes of the catalogue, among more that are clean.
mkdir "$tmp/faults"
python3 - "$source_dir/tests/faults/cluster-of-16.json" $nodes >"$tmp/faults/scale.json" <<'CASE'
import json, sys
case = json.load(open(sys.argv[1]))
case["nodes"]["count"] = int(sys.argv[2])
json.dump(case, sys.stdout)
CASE
python3 "$tmp/watch" "$ASSAY" "$tmp/memory" &
watch=$!
start=$SECONDS
expect 0 "$source_dir/scripts/exam" --build "$build" --faults "$tmp/faults" --clean 0
took=$((SECONDS - start))
kill $watch && wait $watch
prints "detected and located 1 of 1, false alarms 0 of 1"
echo "$nodes nodes: $took s; $(cat "$tmp/memory")"
! grep "TOO MUCH" "$tmp/memory" || fail "memory of the ranks"

mkdir "$tmp/none"
start=$SECONDS
expect 0 "$source_dir/scripts/exam" --build "$build" --faults "$tmp/none" --clean 0 --clusters 20 --jobs 2
prints "false alarms 0 of 20"
echo "20 clean clusters of 4 nodes: $((SECONDS - start)) s"
