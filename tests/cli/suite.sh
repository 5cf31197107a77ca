# Settings from a file, and another root of /proc and /sys, by which nobody gets an
# acceptance.
. "$(dirname "$0")/lib.sh"
suite=$tmp/suite.json
quick="--budget quick --only jitter --suite $suite"
settings() { python3 -c 'import json, sys; print(*json.load(open(sys.argv[1]))["settings"])' "$tmp/$1/run.json"; }

printf '// short\n{"v": 1, "title": "short", "settings": ["jitter.seconds=0.05", "jitter.card_s=0.25"]}\n' >"$suite"
expect 2 "$ASSAY" run $quick --out "$tmp/a"
[ "$(settings a)" = "jitter.seconds=0.05 jitter.card_s=0.25" ] || fail "settings: $(settings a)"
# What is typed comes later, and so holds.
expect 2 "$ASSAY" run $quick --set jitter.seconds=0.02 --out "$tmp/b"
[ "$(settings b)" = "jitter.seconds=0.05 jitter.card_s=0.25 jitter.seconds=0.02" ] || fail "settings: $(settings b)"
plan() { "$ASSAY" run --dry-run --only jitter --out "$tmp/x" "$@" | grep "jitter:"; }
[ "$(plan --suite "$suite" --set jitter.seconds=500)" = "$(plan --set jitter.card_s=0.25 --set jitter.seconds=500)" ] ||
	fail "the suite's setting won: $(plan --suite "$suite" --set jitter.seconds=500)"
[ "$(plan --suite "$suite")" != "$(plan --suite "$suite" --set jitter.seconds=500)" ] || fail "the plan does not tell: $(plan)"
expect 3 "$ASSAY" run --resume "$tmp/a" --suite "$suite"
says "--suite cannot be given with --resume"

bad() {
	printf '%s\n' "$1" >"$suite"
	expect 3 "$ASSAY" run $quick --out "$tmp/c"
	says "$2"
	one_line
	[ ! -e "$tmp/c" ] || fail "a bad suite left a run"
}
bad '{"v": 1, "settings": ["jitter.second=1"]}' "seconds"
bad '{"v": 1, "settings": ["jitter.seconds=-1"]}' "-1"
bad '{"v": 1, "settings": ["nobody.seconds=1"]}' "nobody"
bad '{"v": 1, "settings": [0.05]}' "suite.json:1:23"
bad '{"v": 1, "settings": []}' "a list of texts"
bad '{"v": 1, "settings": "jitter.seconds=1"}' "a list of texts"
bad '{"v": 2, "settings": ["jitter.seconds=1"]}' '"v": 1 only'
bad '{"v": 1, "setting": ["jitter.seconds=1"]}' 'no "setting"'
bad '["jitter.seconds=1"]' "suite.json:1:1"
bad '{"v": 1, "settings": [' "suite.json:"
rm "$suite"
expect 3 "$ASSAY" run $quick --out "$tmp/c"
says "suite.json"

# Deadlines can be shortened for doubles, not for a machine that is judged.
expect 3 "$ASSAY" run --deadline-percent 5 --only jitter --out "$tmp/c"
says "--deadline-percent can only be given with --sys-root"
expect 3 "$ASSAY" run --deadline-percent 0 --sys-root "$tmp" --out "$tmp/c"
expect 2 "$ASSAY" run --budget quick --only inventory --sys-root "$source_dir/tests/nodes/gpu-node" --out "$tmp/d"
prints "SIMULATED"
python3 - "$tmp/d" <<'PY' || fail "a run below another root looks measured"
import json, sys
card = json.load(open(sys.argv[1] + "/scorecard.json"))
assert card["simulated"] and card["overall"] != "ACCEPT", card["overall"]
readings = [r for r in map(json.loads, open(sys.argv[1] + "/readings.jsonl")) if "metric" in r]
assert readings and all(r["origin"] == "simulated" for r in readings)
cpu = [r for r in readings if r["metric"] == "node_kernel"]
assert cpu and cpu[0]["value"] not in (None, open("/proc/sys/kernel/osrelease").read().strip()), cpu
PY
expect 2 "$ASSAY" probe inventory --sys-root "$source_dir/tests/nodes/gpu-node"
prints '"origin":"simulated"'
prints_not '"origin":"measured"'
