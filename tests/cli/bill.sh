# assay bill and the quote and bill of assay score: verdicts, classes, encodings, and each
# kind of file that cannot be read.
. "$(dirname "$0")/lib.sh"
cat >"$tmp/q.json" <<'JSON'
{"v": 1, "name": "q", "title": "Vendor Q", "figures": [],
 "quote": {"currency": "CNY", "tax": "excluded", "valid_from": "2024-10-01", "valid_to": "2025-01-01",
  "items": [
   {"item": "node by the hour", "match": ["gn8.a100*"], "per": "hour", "price": "98.40", "gpus": 8, "granularity": "hour"},
   {"item": "node by the month", "match": ["prepaid.gn8*"], "per": "month", "price": "50000", "gpus": 8},
   {"item": "traffic out", "match": ["*traffic*"], "per": "GB", "price": "0.50", "included": "100"}]}}
JSON
cat >"$tmp/make.py" <<'PYTHON'
"""make.py FILE [encoding=…] [crlf] [semi] [bom] lines: BILLED|SKU|QUANTITY|UNIT|RESOURCE|CATEGORY|DAY|NOTE"""
import csv, io, sys
head = ("BilledCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BillingPeriodStart,BillingPeriodEnd,InvoiceId,"
        "ChargeCategory,ServiceName,SkuId,ChargeDescription,ResourceId,PricingQuantity,PricingUnit").split(",")
encoding, end, mark, bom, lines = "utf-8", "\n", ",", False, []
for a in sys.argv[2:]:
    if a.startswith("encoding="): encoding = a[9:]
    elif a == "crlf": end = "\r\n"
    elif a == "semi": mark = ";"
    elif a == "bom": bom = True
    elif a.startswith("head="):
        i, name = a[5:].split(":"); head[int(i)] = name
    else: lines.append(a)
out = io.StringIO()
w = csv.writer(out, delimiter=mark, lineterminator=end)
w.writerow(head)
for a in lines:
    f = (a.split("|") + [""] * 9)[:9]
    billed, sku, quantity, unit, resource, category, day, note, invoice = f
    day = day or "01T00"
    start = "2024-11-%s:00:00Z" % day
    stop = "2024-11-%s:00:00Z" % (day[:3] + "%02d" % (int(day[3:]) + 1)) if unit == "Hours" else "2024-12-01T00:00:00Z"
    w.writerow([billed, "USD" if note == "usd" else "CNY", start, stop, "2024-11-01T00:00:00Z", "2024-12-01T00:00:00Z",
                invoice or "I1", category or "Usage", "服务" if sku else "", sku, note, resource, quantity, unit])
open(sys.argv[1], "wb").write((b"\xef\xbb\xbf" if bom else b"") + out.getvalue().encode(encoding))
PYTHON
make() { python3 "$tmp/make.py" "$tmp/b.csv" "$@" || fail "make.py"; }
bill() { local code=$1; shift; expect "$code" "$ASSAY" bill --quote "$tmp/q.json" --bill "$tmp/b.csv" --as-of 2024-12-05 "$@"; }
hour='98.40|gn8.a100|1|Hours|i-1'

# Verdicts.
make "$hour" "$hour||01T01" '25|public-traffic|150|GB' '11.09|||||Tax'
bill 0 --invoice I1=232.89
prints "MET" && prints "invoice I1 adds up: 232.89 CNY" && prints "13.8625 CNY"
bill 2 && prints "no total to check against for 1 of 1 invoices"
bill 2 --invoice I1=240 && prints "lines are missing or"
expect 2 "$ASSAY" bill --quote "$tmp/q.json" --bill "$tmp/b.csv" --invoice I1=232.89 --as-of 2024-12-02
prints "the month is still open"
expect 2 "$ASSAY" bill --quote "$tmp/q.json"
prints "hidden fees cannot be tested before there is a bill" && prints "monthly discount 30.4 %"
make '99.40|gn8.a100|1|Hours|i-1'
bill 1 --invoice 99.40 && prints "MISSED: 1.00 CNY" && prints "rate above the quote"
make "$hour" '0.01|eip-bandwidth-traffic-x|1|GB'
bill 0 --invoice 98.41
make "$hour" '30|egress|60|GB' '7|elastic ip|1|Hours' '5|disk snapshot' '9|cloud disk' '3|support plan' '2|slurm' '1|whatever'
bill 1 --invoice 155.40
for word in traffic "public IP" snapshot storage support scheduler other; do prints "unquoted: $word"; done
prints "MISSED: 57.00 CNY" && prints "36.68 %"
make "$hour" "$hour"
bill 1 --invoice 196.80 && prints "the same line twice"
make "$hour" '-40|sla||||Credit' '-3|gn8.a100|-1|Hours|i-1' '0|gn8.a100|1|Hours|i-2'
bill 0 --invoice 55.40
prints "credit" && prints "correction" && prints "nothing billed"
for line in '10|gn8.a100|1|GB|i-1' '10|gn8.a100|1|parsecs|i-1' '10|gn8.a100|1||i-1' '10||1|Hours' '10|gn8.a100|1|Hours|i-1|Surprise'; do
	make "$hour" "$line" && bill 2 --invoice 108.40 && prints "1 of 2 lines, 10.00 CNY, can be compared with nothing"
done
# A cent here and there is rounding; all of them up is a price.
make $(seq -f "0.51|traffic-%g|101|GB" 400)
sed -i 's/"included": "100"/"included": "0"/; s/"price": "0.50"/"price": "0.005"/' "$tmp/q.json"
bill 1 --invoice 204.00 && prints "rounded up throughout: 2.00 CNY"
sed -i 's/"included": "0"/"included": "100"/; s/"price": "0.005"/"price": "0.50"/' "$tmp/q.json"
# Tax on top of a price that has it.
sed 's/excluded/included/' "$tmp/q.json" >"$tmp/qt.json"
make "$hour" '5.90|||||Tax'
expect 1 "$ASSAY" bill --quote "$tmp/qt.json" --bill "$tmp/b.csv" --as-of 2024-12-05 --invoice 104.30
prints "tax on top of a price with tax: 5.90 CNY"

# Our own log.
make "$hour" "$hour||01T01" "$hour||01T05"
printf 'resource,start,end\ni-1,2024-11-01T00:00:00Z,2024-11-01T01:20:00Z\n' >"$tmp/u.csv"
bill 1 --invoice 295.20 --usage "$tmp/u.csv"
prints "MISSED: 98.37 CNY" && prints "more than our log" && prints "98.40 CNY billed where nothing ran at all"
prints "rounded up to a hour"
printf 'resource,start,end\ni-1,2024-11-01T00:00:00Z,2024-11-02T00:00:00Z\n' >"$tmp/u.csv"
bill 0 --invoice 295.20 --usage "$tmp/u.csv" && prints "0.00 % not run"
printf 'resource,start,end\nother,2024-11-01T00:00:00Z,2024-11-02T00:00:00Z\n' >"$tmp/u.csv"
bill 2 --invoice 295.20 --usage "$tmp/u.csv" && prints "no machine of this bill"
bad_usage() { printf 'resource,start,end,state\n%b' "$1" >"$tmp/u.csv"; bill 3 --usage "$tmp/u.csv"; says "$2"; one_line; }
at=2024-11-01T00:00:00Z
bad_usage "i,$at,2024-11-02T00:00:00Z,running\\ni,2024-11-01T06:00:00Z,2024-11-03T00:00:00Z,running\\n" "u.csv:3: overlaps line 2"
bad_usage "i,$at,2024-10-01T00:00:00Z,running\\n" "u.csv:2: ends before it begins"
bad_usage "i,2023-02-29T00:00:00Z,$at,running\\n" 'u.csv:2: start "2023-02-29T00:00:00Z" is a day that does not exist'
bad_usage "i,$at,2024-11-02T00:00:00Z,asleep\\n" 'state "asleep"'
# Eight hours lie between a machine's clock there and ours.
bad_usage "i,2024-11-01 00:00:00,2024-11-02T00:00:00Z,running\\n" 'u.csv:2: start "2024-11-01 00:00:00" does not say its zone'
bad_usage "i,$at,yesterday,running\\n" 'u.csv:2: end "yesterday" is not a date and time'
printf 'resource,strat,end\n' >"$tmp/u.csv" && bill 3 --usage "$tmp/u.csv" && says 'u.csv:1: no column "start"; the nearest is "strat"'
printf 'resource,start,end\ni-1,2024-11-01T08:00:00+08:00,2024-11-01T14:00:00+08:00\n' >"$tmp/u.csv"
bill 0 --invoice 295.20 --usage "$tmp/u.csv" && prints "0.00 % not run"
bad_usage '' "a header and no lines"

# A credit that the heartbeat log makes due. log NAME DAY MINUTES: down for so long.
log() { mkdir -p "$tmp/$1" && python3 - "$tmp/$1/n1.heartbeat.csv" "$2" "$3" <<'PYTHON'
import datetime, hashlib, sys
text = "ts_utc,mono_s,node,observer,seq,boot_id,kind,gpus_ok,kernel_ms,xid,ecc,link_flaps,state,note,prev_sha256"
lines, begin = [text], datetime.datetime.fromisoformat(sys.argv[2])
for i in range(180):
    state = "down" if 30 <= i < 30 + int(sys.argv[3]) else "up"
    prev = hashlib.sha256(lines[-1].encode()).hexdigest()
    at = (begin + datetime.timedelta(minutes=i)).strftime("%Y-%m-%dT%H:%M:%S.000Z")
    lines.append(f"{at},{1000 + 60 * i}.000,n1,w,{i + 1},b1,beat,,,,,,{state},,{prev}")
open(sys.argv[1], "w").write("\n".join(lines) + "\n")
PYTHON
}
log down 2024-11-01 45 && log up 2024-11-01 0 && log other 2024-10-01 45
make "$hour" "$hour||01T01" "$hour||01T02"
bill 0 --invoice 295.20 --availability "$tmp/down"
prints "1 outages, 45 min, in the heartbeat log, and no credit on the bill"
bill 0 --invoice 295.20 --availability "$tmp/up" && prints "no credit is due by it"
bill 0 --invoice 295.20 --availability "$tmp/other" && prints "has nothing of the time that is billed"
printf 'from_utc,to_utc,node,cause\n2024-11-01T00:00:00Z,2024-11-02T00:00:00Z,n1,planned\n' >"$tmp/causes.csv"
bill 0 --invoice 295.20 --availability "$tmp/down" --causes "$tmp/causes.csv" && prints "no credit is due by it"
make "$hour" "$hour||01T01" "$hour||01T02" '-4|sla||||Credit'
bill 0 --invoice 291.20 --availability "$tmp/down" && prints "credited are -4.00 CNY"
sed -i 's/,down,/,up,/' "$tmp/down/n1.heartbeat.csv"
bill 3 --availability "$tmp/down"; says "the log was altered"; one_line
expect 3 "$ASSAY" bill --quote "$tmp/q.json" --availability "$tmp/up"; says "give --bill"

# Forms of files.
for form in bom crlf semi encoding=gbk encoding=utf-16 encoding=utf-16-le; do
	quantity=2,200
	[ $form != semi ] || quantity=2200 # where a comma may be the decimal one
	make $form "$hour" $'0|gn8.a100|1|Hours|i-1||01T02|两行\n的"说明"' "1,050.00|traffic|$quantity|GB"
	bill 0 --invoice 1148.40 && prints "1,148.40 CNY"
done
make "$hour" '1|x|1|GB|||01T00|usd'
bill 3 && says "b.csv:3: USD, and lines before it are in CNY"
make '1|x|1|GB|||01T00|usd'
bill 3 && says "in USD, the quote"
make '12,3|x|1|GB'
bill 3 && says 'b.csv:2: BilledCost "12,3" is no number'
make semi '1.234|x|1|GB'
bill 3 && says "can be read in two ways" && bill 1 --decimal comma --invoice 1234 && prints "1,234.00 CNY"
make head=0:BiledCost "$hour"
bill 3 && says 'no column BilledCost (billed), which FOCUS 1.0 to 1.2 has; the nearest there is is "BiledCost"'
make head=7:ChargeCat "$hour"
bill 3 && says 'no column ChargeCategory (category), which FOCUS 1.0 to 1.2 has; the nearest there is is "ChargeCat"'
make head=13:PricingUnlt "$hour"
bill 2 --invoice 98.40 && prints 'columns it lacks: PricingUnit / ConsumedUnit (unit; the nearest is' && prints '"PricingUnlt")'
prints "can be compared with nothing"
make head=1:BilledCost "$hour"
bill 3 && says 'column "BilledCost" twice'
make && bill 3 && says "a header and no lines"
make "$hour" && tr '\n' '\r' <"$tmp/b.csv" >"$tmp/cr.csv" && mv "$tmp/cr.csv" "$tmp/b.csv"
bill 3 && says "b.csv:1: lines end with a carriage return alone" && one_line
make "$hour" && printf '1,2,3\n' >>"$tmp/b.csv"
bill 3 && says "b.csv:3: 3 fields, the header has 14"
make "$hour" && printf '1,"open' >>"$tmp/b.csv"
bill 3 && says "b.csv:3: a quoted field begins here and never ends"
make "$hour" && printf '\377\377\n' >>"$tmp/b.csv"
bill 3 && says "no GB18030"
make "$hour" && sed -n 2p "$tmp/b.csv" | sed 's/2024-11-01T00:00:00Z,2024-12-01/2024-10-01T00:00:00Z,2024-11-01/' >>"$tmp/b.csv"
bill 3 && says "b.csv:3: invoice I1 is of another month than on line 2"
make "$hour" && sed -i 's/2024-11-01T01:00:00Z/2024-10-01T01:00:00Z/' "$tmp/b.csv"
bill 3 && says "b.csv:2: the charge ends before it begins"
expect 3 "$ASSAY" bill --bill "$tmp/b.csv"; says "give --quote"
bill 3 --bill-map fokus; says 'did you mean "focus"'
make "$hour"
bill 3 --invoice I2=5; says 'has 1 invoices, the first is "I1"'
bill 3 --invoice I1=x; says "write ID=TOTAL"
bad_quote() { sed "$1" "$tmp/q.json" >"$tmp/qb.json"; expect 3 "$ASSAY" bill --quote "$tmp/qb.json"; says "$2"; one_line; }
bad_quote 's/"98.40"/98.40/' 'price should be a number in quotes'
bad_quote 's/"per": "hour"/"per": "fortnight"/' 'per should be hour'
bad_quote 's/"tax": "excluded", //' 'tax should be included or excluded'
bad_quote 's/granularity/granulariti/' '"granularity" is'
bad_quote 's/"quote"/"quotes"/' 'no member "quote"'
sed 's/traffic out/流量/' "$tmp/q.json" >"$tmp/qu.json"
for form in gbk utf-16; do
	iconv -f utf-8 -t $form "$tmp/qu.json" >"$tmp/qb.json"
	expect 3 "$ASSAY" bill --quote "$tmp/qb.json"; says 'a byte that is no UTF-8; save the file as UTF-8'; one_line
done

# Chinese columns, of the provider's own form, with a line that sums up.
cat >"$tmp/b.csv" <<'CSV'
BillingCycle,ProductName,BillingItem,InstanceID,Item,UsageStartTime,UsageEndTime,Usage,UsageUnit,PretaxAmount,Currency
2024-11,云服务器,gn8.a100.8xlarge,i-1,PayAsYouGoBill,2024-11-01 00:00:00,2024-11-01 02:00:00,7200,秒,196.80,CNY
合计,,,,,,,,,196.80,
CSV
bill 0 && prints "Alibaba Cloud" && prints "invoice - adds up"

# Beside a run: judged, named with its digest, the journal as it was.
"$(dirname "$ASSAY")/tests/perf/make_journal" 2 8 120 "$tmp/run" >/dev/null || fail "make_journal"
before=$(sha256sum "$tmp/run/readings.jsonl")
make "$hour" '30|egress|60|GB'
touch -d 2024-12-04T12:00:00Z "$tmp/b.csv"
expect 1 "$ASSAY" score "$tmp/run" --profile thousand-card --stage period --quote "$tmp/q.json" --bill "$tmp/b.csv"
prints "bill_unquoted_cny" && prints "30" && prints "$(sha256sum <"$tmp/b.csv" | cut -c1-40)"
expect 0 "$ASSAY" report "$tmp/run" --profile thousand-card --stage period --quote "$tmp/q.json" --bill "$tmp/b.csv" --json "$tmp/s.json"
python3 - "$tmp/s.json" <<'PYTHON' || fail "the scorecard does not judge the bill"
import json, sys
d = json.load(open(sys.argv[1]))
f = {x["rule"]: x for x in d["findings"]}
assert f["no-hidden-fees"]["verdict"] == "fail" and f["no-hidden-fees"]["value"] == 30, f["no-hidden-fees"]
assert f["billed-by-use"]["verdict"] == "not_measured" and f["price-paid"]["verdict"] == "not_measured"
assert f["price-transparent"]["verdict"] == "stated_only" == f["monthly-discount"]["verdict"] == f["quote-price"]["verdict"]
assert [e["kind"] for e in d["evidence"]] == ["quote", "bill"] and all(len(e["sha256"]) == 64 for e in d["evidence"])
PYTHON
make "$hour"
touch -d 2024-12-04T12:00:00Z "$tmp/b.csv"
printf 'resource,start,end\ni-1,2024-11-01T00:00:00Z,2024-11-02T00:00:00Z\n' >"$tmp/u.csv"
for with in "" "--usage $tmp/u.csv" "--invoice I1=98.40 --usage $tmp/u.csv"; do
	expect 0 "$ASSAY" report "$tmp/run" --profile thousand-card --stage period --quote "$tmp/q.json" --bill "$tmp/b.csv" $with --json "$tmp/s.json"
	python3 -c '
import json, sys
f = {x["rule"]: x["verdict"] for x in json.load(open(sys.argv[1]))["findings"]}
print(f["no-hidden-fees"], f["price-paid"], f["billed-by-use"])' "$tmp/s.json"
done >"$tmp/three"
[ "$(cat "$tmp/three")" = "not_measured not_measured not_measured
not_measured not_measured pass
pass pass pass" ] || fail "evidence grows: $(cat "$tmp/three")"
[ "$before" = "$(sha256sum "$tmp/run/readings.jsonl")" ] || fail "the journal was touched"
expect 3 "$ASSAY" score "$tmp/run" --bill "$tmp/b.csv"; says "give --quote"
expect 3 "$ASSAY" score "$tmp/run" --quote "$tmp/none.json"; says "none.json"
