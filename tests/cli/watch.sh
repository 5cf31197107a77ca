# The watch and what is made of its log: begun, ended, killed, gone on with, altered.
. "$(dirname "$0")/lib.sh"

log=$tmp/w/n1.heartbeat.csv
lines() { [ "$(wc -l <"$log" 2>/dev/null || echo 0)" -ge "$1" ]; }

expect 3 "$ASSAY" watch; says '--out DIR is missing'; one_line
expect 3 "$ASSAY" watch --out "$tmp/w" --outside; says '--peers HOSTS'; one_line
expect 3 "$ASSAY" watch --out "$tmp/w" --peers n1,n1; says 'n1 twice'; one_line
expect 3 "$ASSAY" watch --out "$tmp/w" --peers no.such.host.invalid; says 'no address of no.such.host.invalid'; one_line
expect 3 "$ASSAY" watch --out "$tmp/w" --period 0; says 'outside 1'; one_line
expect 3 "$ASSAY" watch --out "$tmp/w" --node a,b; says 'cannot be a name'; one_line
expect 3 "$ASSAY" watch --out /dev/null/x; says '/dev/null'; one_line

expect 0 "$ASSAY" watch --out "$tmp/w" --node n1 --period 1 --for 1 --probe-every 0
grep -q ',stop,' "$log" || fail "no farewell"

# Killed in mid-life: the next one goes on, and nobody writes beside it.
"$ASSAY" watch --out "$tmp/w" --node n1 --period 1 --probe-every 0 &
first=$!
had=$(wc -l <"$log")
wait_until 30 lines $((had + 2)) || fail "no beat came"
expect 3 "$ASSAY" watch --out "$tmp/w" --node n1; says 'another watch'; one_line
kill -KILL $first
wait $first 2>/dev/null
printf '2026-12-0' >>"$log"
"$ASSAY" watch --out "$tmp/w" --node n1 --period 1 --probe-every 0 &
first=$!
had=$(wc -l <"$log")
wait_until 30 lines $((had + 2)) || fail "no beat came after a kill"
kill -TERM $first
wait $first
[ $? = 143 ] || fail "a signal is not told"
grep -q 'torn=9' "$log" || fail "the torn line is not told"

expect 2 "$ASSAY" availability "$tmp/w"
prints "TOO SHORT to say"
expect 2 "$ASSAY" availability "$tmp/w" --json -
echo "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert d["verdict"] == "too_short" and d["nodes"][0]["node"] == "n1", d'  || fail "no JSON"
expect 2 "$ASSAY" availability "$log" --json "$tmp/a.json"
prints "TOO SHORT"
expect 2 "$ASSAY" --lang zh availability "$tmp/w"

cat >"$tmp/t.csv" <<'CSV'
ticket_id,opened_utc,first_human_utc,source
T1,2026-12-01T00:00:00Z,2026-12-01T02:00:00Z,mail
CSV
expect 1 "$ASSAY" availability "$tmp/w" --tickets "$tmp/t.csv"
prints "Response MISSED: 0 of 1"
prints "T1, opened 2026-12-01 00:00 UTC: 120.0 min"
sed -i 's/Z,2026/,2026/' "$tmp/t.csv"
expect 3 "$ASSAY" availability "$tmp/w" --tickets "$tmp/t.csv"; says 't.csv:2: opened_utc'; one_line
expect 3 "$ASSAY" availability "$tmp/w" --target 101; says 'outside 50'; one_line
expect 3 "$ASSAY" availability "$tmp/w" --target 100; says '100 is outside 50 to 99.99999'; one_line
expect 3 "$ASSAY" availability "$tmp/w" --zone UTC+8; says '--zone'; one_line
expect 3 "$ASSAY" availability "$tmp/w" --days soon; says 'not a number'; one_line
expect 3 "$ASSAY" availability "$tmp"; says 'no file that ends in'; one_line
expect 3 "$ASSAY" availability /nonexistent; says '/nonexistent'; one_line
printf 'T2,2036-12-01T00:00:00Z,,mail\n' >>"$tmp/t.csv" && sed -i '2s/.*/T1,2026-12-01T00:00:00Z,,mail/' "$tmp/t.csv"
expect 3 "$ASSAY" availability "$tmp/w" --tickets "$tmp/t.csv"; says 't.csv:3: ticket T2 has a time more than a year after all others'; one_line
printf 'from_utc,to_utc,node,cause\n2026-12-01T00:00:00Z,2026-12-01T01:00:00Z,n01,planned\n' >"$tmp/causes.csv"
expect 2 "$ASSAY" availability "$tmp/w" --causes "$tmp/causes.csv"; says 'causes.csv:2: there is no log of node n01, the nearest is n1'; one_line
sed -i '3s/,up,/,down,/' "$log"
expect 3 "$ASSAY" availability "$tmp/w"; says 'n1.heartbeat.csv:4: not the line that followed line 3'; one_line
expect 3 "$ASSAY" watch --out "$tmp/w" --node n1 --for 1; says 'the log was altered'; one_line
