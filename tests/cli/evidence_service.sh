# A month's log and tickets beside a run: criterion 4 over the period, by node.
. "$(dirname "$0")/lib.sh"
"$(dirname "$ASSAY")/tests/perf/make_journal" 2 8 120 "$tmp/run" >/dev/null || fail "make_journal"
nodes=$(grep -o '"node":"[^"]*"' "$tmp/run/readings.jsonl" | sort -u | cut -d'"' -f4)
[ "$(echo "$nodes" | wc -l)" = 2 ] || fail "not two nodes: $nodes"

# months DIR MINUTES DOWN: a watcher's log of both nodes, the second down for so long.
months() {
	mkdir -p "$1"
	python3 - "$@" $nodes <<'PY'
import datetime as d, hashlib, sys
folder, days, down = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
text = ("ts_utc,mono_s,node,observer,seq,boot_id,kind,gpus_ok,kernel_ms,xid,ecc,link_flaps,state,note,prev_sha256")
for node in sys.argv[4:]:
    prev, lines, t0 = hashlib.sha256(text.encode()).hexdigest(), [text], d.datetime(2026, 11, 1)
    for i in range(days * 1440 + 1):
        ts = (t0 + d.timedelta(minutes=i)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
        state = "down" if node == sys.argv[5] and 600 <= i < 600 + down else "up"
        line = f"{ts},{1000 + 60 * i}.000,{node},w,{i + 1},b1,beat,,,,,,{state},,{prev}"
        prev = hashlib.sha256(line.encode()).hexdigest()
        lines.append(line)
    open(f"{folder}/{node}.heartbeat.csv", "w").write("\n".join(lines) + "\n")
PY
}
# verdict ID: of the findings of a rule in $tmp/card.json, sorted and joined
verdict() {
	python3 -c '
import json, sys
d = json.load(open(sys.argv[1]))
print(*sorted(f["verdict"] for f in d["findings"] if f["rule"] == sys.argv[2]))' "$tmp/card.json" "$1"
}
judged() {
	"$ASSAY" report "$tmp/run" --stage period --json "$tmp/card.json" "$@" >"$tmp/out" 2>&1 || fail "report: $(cat "$tmp/out")"
}

months "$tmp/good" 30 40
judged --availability "$tmp/good"
[ "$(verdict availability)" = "pass pass" ] || fail "a good month: $(verdict availability)"
grep -q "heartbeat.csv" "$tmp/card.json" || fail "the log is not named"
"$ASSAY" report "$tmp/run" --stage period --availability "$tmp/good" --html "$tmp/r.html" || fail "no page"
grep -q 'class="strip-down"' "$tmp/r.html" || fail "the outage is not in the strip"
"$ASSAY" report "$tmp/run" --html "$tmp/r.html" || fail "no page"
! grep -q 'id="service"' "$tmp/r.html" || fail "a strip of nothing"
months "$tmp/bad" 30 50
judged --availability "$tmp/bad"
[ "$(verdict availability)" = "fail pass" ] || fail "a bad month: $(verdict availability)"
months "$tmp/short" 2 0
judged --availability "$tmp/short"
[ "$(verdict availability)" = "too_short too_short" ] || fail "two days: $(verdict availability)"
months "$tmp/spent" 2 50
judged --availability "$tmp/spent"
[ "$(verdict availability)" = "fail too_short" ] || fail "a spent budget: $(verdict availability)"
cat >"$tmp/c.csv" <<'CSV'
from_utc,to_utc,node,cause
2026-11-01T00:00:00Z,2026-11-02T00:00:00Z,*,customer
CSV
judged --availability "$tmp/bad" --causes "$tmp/c.csv"
[ "$(verdict availability)" = "pass pass" ] || fail "own minutes: $(verdict availability)"
judged
[ "$(verdict availability)" = "not_measured not_measured" ] || [ "$(verdict availability)" = "not_measured" ] ||
	fail "no log: $(verdict availability)"

tickets() {
	echo "ticket_id,opened_utc,first_human_utc,source" >"$tmp/t.csv"
	for i in $(seq "$1"); do
		echo "$i,2026-11-01T00:00:00Z,2026-11-01T00:10:00Z,$3" >>"$tmp/t.csv"
	done
	[ "$2" = 0 ] || echo "late,2026-11-01T00:00:00Z,2026-11-01T02:00:00Z,$3" >>"$tmp/t.csv"
	judged --tickets "$tmp/t.csv"
	verdict response
}
[ "$(tickets 3 0 mail)" = too_few ] || fail "3 tickets: $(tickets 3 0 mail)"
[ "$(tickets 59 0 mail)" = pass ] || fail "59 tickets: $(tickets 59 0 mail)"
[ "$(tickets 59 1 mail)" = fail ] || fail "a late one: $(tickets 59 1 mail)"
[ "$(tickets 59 0 typed)" = stated_only ] || fail "typed: $(tickets 59 0 typed)"

expect 3 "$ASSAY" score "$tmp/run" --causes "$tmp/c.csv"; says '--causes needs --availability'; one_line
expect 3 "$ASSAY" score "$tmp/run" --availability /nonexistent; says '/nonexistent'; one_line
