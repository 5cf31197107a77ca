# Order to first verified step, steps by hand, node changes: what is given on the
# command line becomes readings, and bad input is refused with its place.
. "$(dirname "$0")/lib.sh"
exec </dev/null

# An interpreter whose job is right. It is named and has no DeepSpeed: each run rejects.
mkdir "$tmp/bin"
cat >"$tmp/bin/python" <<'PY'
#!/bin/sh
[ $# = 3 ] && { echo '{"python":"3.11.2","found":{"pytorch":{"version":"2.6","path":"/x"}}}'; exit; }
echo '{"version":"2.6","backend":"nccl","workers":8,"params_equal":true,"loss_first":2,"loss_last":1,"step_ms":4,"alone_ms":3}'
PY
chmod +x "$tmp/bin/python"
short="--budget quick --only frameworks --set frameworks.python=$tmp/bin/python"
# value METRIC: value and outcome in the run directory $1
value() { python3 - "$1" "$2" <<'PY'
import json, sys
for line in open(sys.argv[1] + "/readings.jsonl"):
    r = json.loads(line)
    if r.get("metric") == sys.argv[2]:
        print(r["outcome"], (r["reason"] or {}).get("code", r["value"]), r["origin"])
PY
}
is() { got=$(value "$1" "$2"); [[ $got == $3 ]] || fail "$2 is \"$got\", not $3"; }
# judged DIR RULE VERDICT
finding() {
	python3 -c 'import json,sys
print(*(f["verdict"] for f in json.load(open(sys.argv[1] + "/scorecard.json"))["findings"] if f["rule"] == sys.argv[2]))' "$1" "$2"
}
judged() { got=$(finding "$1" "$2"); [ "$got" = "$3" ] || fail "$2 is judged \"$got\", not $3"; }

cat >"$tmp/log.csv" <<'CSV'
time,action,node,ready_time,job
2026-03-02T10:00:00+08:00,add,n9,2026-03-02T10:12:00+08:00,survived
2026-03-02T10:00+08:00,add,n10,2026-03-02T02:20:00Z,
2026-03-03T02:00:00Z,remove,n9,2026-03-03T02:01:30Z,survived
CSV

# On cards, ordered ten minutes ago.
expect 1 "$ASSAY" run $short --set frameworks.device=cuda --out "$tmp/cards" --manual-steps 3 \
	--ordered-at "$(date -u -d '-10 min' +%FT%TZ)" --scale-log "$tmp/log.csv"
is "$tmp/cards" deploy_ready_min "measured 1[0-9].* measured"
is "$tmp/cards" cpu_deploy_ready_min ""
is "$tmp/cards" fw_manual_steps "measured 3 measured"
is "$tmp/cards" scale_resized "measured 1 measured"
is "$tmp/cards" scale_out_min "measured 16 measured"
is "$tmp/cards" scale_in_min "measured 1.5 measured"
is "$tmp/cards" scale_job_survived "measured 1 measured"
judged "$tmp/cards" ready-time pass
judged "$tmp/cards" resize pass
judged "$tmp/cards" elastic-job pass
judged "$tmp/cards" out-of-the-box fail
expect 0 "$ASSAY" verify "$tmp/cards"

# A clock that is set back by two hours while the job runs: no time is claimed.
cat >"$tmp/back.c" <<'C'
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int clock_gettime(clockid_t id, struct timespec *at)
{
	int (*real)(clockid_t, struct timespec *) = dlsym(RTLD_NEXT, "clock_gettime");
	int rc = real(id, at);
	if (id == CLOCK_REALTIME && access(getenv("CLOCK_BACK"), F_OK) == 0)
		at->tv_sec -= 7200;
	return rc;
}
C
if cc -shared -fPIC -o "$tmp/back.so" "$tmp/back.c" -ldl 2>/dev/null; then
	sed "s|^echo|touch '$tmp/back'; echo|" "$tmp/bin/python" >"$tmp/bin/later"
	chmod +x "$tmp/bin/later"
	for ordered in '-10 min' '-5 hours'; do
		rm -rf "$tmp/back" "$tmp/clock"
		CLOCK_BACK=$tmp/back LD_PRELOAD=$tmp/back.so expect 1 "$ASSAY" run ${short/bin\/python/bin/later} --set frameworks.device=cuda \
			--out "$tmp/clock" --ordered-at "$(date -u -d "$ordered" +%FT%TZ)"
		is "$tmp/clock" deploy_ready_min "not_measured deploy_clock measured"
	done
fi

# Two days ago, on a CPU: no step on cards, and the figure has another name.
expect 1 "$ASSAY" run $short --set frameworks.device=cpu --out "$tmp/cpu" \
	--ordered-at "$(date -u -d '-2 days' +%FT%TZ)"
is "$tmp/cpu" deploy_ready_min "not_measured deploy_no_step measured"
is "$tmp/cpu" cpu_deploy_ready_min "measured 288[0-9].* measured"
judged "$tmp/cpu" ready-time not_measured
judged "$tmp/cpu" resize stated_only

# On cards, too late. Nothing said: nothing but words.
expect 1 "$ASSAY" run $short --set frameworks.device=cuda --out "$tmp/late" \
	--ordered-at "$(TZ=UTC+8 date -d '-31 min' +%FT%T-08:00)"
judged "$tmp/late" ready-time fail
expect 1 "$ASSAY" run $short --set frameworks.device=cuda --out "$tmp/unsaid"
is "$tmp/unsaid" deploy_ready_min "not_measured deploy_not_timed declared"
is "$tmp/unsaid" scale_resized "not_measured scale_no_log declared"
judged "$tmp/unsaid" ready-time stated_only
judged "$tmp/unsaid" elastic-job stated_only

# A step on one node is none on four.
expect 1 "$ASSAY" run $short --set frameworks.device=cuda --out "$tmp/four" --nodes 4 --ordered-at "$(date -u +%FT%TZ)"
is "$tmp/four" deploy_ready_min "not_measured deploy_one_node measured"

# Left out with its probe.
expect 2 "$ASSAY" run --budget quick --skip frameworks --only inventory --out "$tmp/out" --ordered-at "$(date -u +%FT%TZ)"
is "$tmp/out" deploy_ready_min "not_measured not_selected*"

# Nodes that never came; a job that was lost; one way only.
printf 'time,action,node,ready_time,job\n2026-03-02T10:00:00Z,add,n9,,lost\n2026-03-02T10:00:00Z,remove,n1,2026-03-02T10:00:00Z,\n' >"$tmp/never.csv"
expect 1 "$ASSAY" run $short --out "$tmp/never" --scale-log "$tmp/never.csv"
is "$tmp/never" scale_resized "measured 0 measured"
is "$tmp/never" scale_out_min "not_measured scale_never measured"
judged "$tmp/never" resize fail
judged "$tmp/never" elastic-job fail
printf 'time,action,node,ready_time\n2026-03-02T10:00:00Z,add,n9,2026-03-02T10:05:00Z\n' >"$tmp/one.csv"
expect 1 "$ASSAY" run $short --out "$tmp/one" --scale-log "$tmp/one.csv"
is "$tmp/one" scale_resized "not_measured scale_one_way measured"
is "$tmp/one" scale_job_survived "not_measured scale_job_unsaid measured"

# Times without a zone, of no calendar, of the future; no time at all.
for bad in 2026-03-02T10:00:00 2026-02-30T10:00:00Z 2026-13-02T10:00:00Z 2026-03-02T10:00:00+8 2026-03-02 now 1741000000 2026-03-02T25:00:00Z; do
	expect 3 "$ASSAY" run $short --out "$tmp/bad" --ordered-at "$bad"; says "$bad: not a time"; one_line
done
expect 3 "$ASSAY" run $short --out "$tmp/bad" --ordered-at 2199-01-01T00:00:00Z; says "later than now"; one_line
expect 3 "$ASSAY" run $short --out "$tmp/bad" --set frameworks.ordered_at=soon; says "soon: not a time"; one_line
expect 3 "$ASSAY" run $short --out "$tmp/bad" --ordered-at ""; one_line
expect 3 "$ASSAY" run $short --out "$tmp/bad" --manual-steps -1; one_line
expect 3 "$ASSAY" run $short --out "$tmp/bad" --manual-steps few; one_line
expect 3 "$ASSAY" run --resume "$tmp/cards" --ordered-at 2026-03-02T10:00:00Z; says "ordered-at"; one_line

# Logs that cannot be right, with file and line.
log() { printf "$1" >"$tmp/bad.csv"; expect 3 "$ASSAY" run $short --out "$tmp/bad" --scale-log "$tmp/bad.csv"; says "$tmp/bad.csv"; says "$2"; one_line; }
h='time,action,node,ready_time\n'
expect 3 "$ASSAY" run $short --out "$tmp/bad" --scale-log "$tmp/nowhere.csv"; says nowhere.csv; one_line
log '' bad.csv
log "$h" "no node changes"
log 'time,action,node\n' '"ready_time" is missing'
log "${h}2026-03-02T10:00:00Z,grow,n1,\n" ':2: action "grow"'
log "${h}2026-03-02T10:00:00Z,add,,\n" ":2: no node"
log "${h}2026-03-02T10:00:00Z,add,n1,\n2026-03-02,add,n2,\n" ':3: time "2026-03-02"'
log "${h}2026-03-02T10:00:00Z,add,n1,2026-03-02T09:00:00Z\n" ":2: ready_time 2026-03-02T09:00:00Z is before"
log "${h}2026-03-02T10:00:00Z,add,n1,2199-03-02T09:00:00Z\n" ':2: ready_time "2199-03-02T09:00:00Z" is later'
log "${h%??},job\n2026-03-02T10:00:00Z,add,n1,,fine\n" ':2: job "fine"'
log "${h}2026-03-02T10:00:00Z,add,n1\n" ":2"
[ ! -e "$tmp/bad" ] || fail "a refused run left $tmp/bad"
