# A run as one file: the same bytes each time, judged again by verify, and every kind of
# tampering found and named.
. "$(dirname "$0")/lib.sh"
"$ASSAY" run --only inventory,jitter --budget quick --out "$tmp/run" >/dev/null 2>&1
cd "$tmp" || exit 3

expect 0 "$ASSAY" bundle run --out a.tar
prints "INCOMPLETE"
touch -d @1000000000 run/* run/raw
expect 0 "$ASSAY" bundle run --out b.tar
cmp -s a.tar b.tar || fail "not the same bytes"
tar -tf a.tar | grep -q '/raw/.*jitter.csv$' || fail "no raw files: $(tar -tf a.tar)"
tar -tf a.tar | grep -q '/profile.json$' || fail "no profile"
expect 0 "$ASSAY" verify a.tar
prints "intact"
prints "byte for byte"
expect 0 env LANG=C.UTF-8 "$ASSAY" verify a.tar --lang zh
prints "逐字节"
[ -z "$(find "${TMPDIR:-/tmp}" -maxdepth 1 -name 'assay-verify.*' -newer "$tmp/a.tar")" ] || fail "left something behind"

# changed COMMAND: the archive unpacked, changed, and packed again by tar.
top=$(tar -tf a.tar | head -n 1 | cut -d / -f 1)
changed() {
	rm -rf x && mkdir x && tar -C x -xf a.tar && (cd "x/$top" && eval "$1") &&
		tar -C x --format=ustar --owner=0 --group=0 -cf c.tar "$top"/manifest.json $(cd x && find "$top" -type f ! -name manifest.json | sort)
}
changed 'sed -i "5s/value\":[0-9]/value\":9/; 5s/linux/lynux/i; 5s/measured/mesured/" readings.jsonl'
expect 1 "$ASSAY" verify c.tar
prints "readings.jsonl:5"
changed 'echo "0,0" >>raw/*/jitter.csv'
expect 1 "$ASSAY" verify c.tar
prints "jitter.csv"
changed 'sed -i s/INCOMPLETE/ACCEPT/ scorecard.json'
expect 1 "$ASSAY" verify c.tar
prints "scorecard.json is not what the manifest says"
# With a manifest that fits: judged again it still does not hold.
changed 'old=$(sha256sum scorecard.json | cut -c 1-64); sed -i s/INCOMPLETE/ACCEPT/ scorecard.json
	sed -i "s/$old/$(sha256sum scorecard.json | cut -c 1-64)/; s/\"bytes\": $(($(stat -c %s scorecard.json) + 4))/\"bytes\": $(stat -c %s scorecard.json)/" manifest.json'
expect 1 "$ASSAY" verify c.tar
prints "do not give that scorecard"
changed 'echo x >raw/more'
expect 1 "$ASSAY" verify c.tar
prints "raw/more is in the archive"
changed 'rm profile.json'
expect 1 "$ASSAY" verify c.tar
prints "manifest names"

# No archive, a cut one, and one that would write elsewhere.
echo hello >no.tar
expect 2 "$ASSAY" verify no.tar
says "not an archive of assay bundle"
head -c 3000 a.tar >cut.tar
expect 2 "$ASSAY" verify cut.tar
says "end of file"
mkdir -p evil/up && echo x >evil/up/f && ln -s /etc/passwd evil/link
tar -C evil/up --format=ustar -P -cf evil1.tar ../up/f
tar -C evil --format=ustar -cf evil2.tar link
for f in evil1.tar evil2.tar; do
	expect 2 "$ASSAY" verify $f
	says "not an archive of assay bundle"
done
expect 3 "$ASSAY" bundle nowhere
ln -s /etc/passwd run/raw/link
expect 3 "$ASSAY" bundle run --out d.tar
[ ! -e d.tar ] || fail "an archive with a link"
rm run/raw/link

# Logs and papers beside a run: kept with it, named as they were given, and judged again by
# verify when the originals are gone.
cat >q.json <<'JSON'
{"v": 1, "name": "q", "title": "Q", "figures": [], "quote": {"currency": "CNY", "tax": "excluded", "items": [
 {"item": "node", "match": ["gn8*"], "per": "hour", "price": "98.40", "gpus": 8, "granularity": "hour"}]}}
JSON
mkdir paid logs
cat >paid/b.csv <<'CSV'
BilledCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BillingPeriodStart,BillingPeriodEnd,InvoiceId,ChargeCategory,ServiceName,SkuId,ChargeDescription,ResourceId,PricingQuantity,PricingUnit
98.40,CNY,2024-11-01T00:00:00Z,2024-11-01T01:00:00Z,2024-11-01T00:00:00Z,2024-12-01T00:00:00Z,I1,Usage,s,gn8.a100,,i-1,1,Hours
30,CNY,2024-11-01T00:00:00Z,2024-12-01T00:00:00Z,2024-11-01T00:00:00Z,2024-12-01T00:00:00Z,I1,Usage,s,egress,,,60,GB
CSV
printf 'resource,start,end\ni-1,2024-11-01T00:00:00Z,2024-11-01T01:00:00Z\n' >u.csv
printf 'ticket_id,opened_utc,first_human_utc,source\n1,2026-11-01T00:00:00Z,2026-11-01T02:00:00Z,mail\n' >t.csv
cp "$source_dir/tests/fuzz/corpus/heartbeat/outside.csv" logs/w.heartbeat.csv
papers="--quote q.json --bill paid/b.csv --usage u.csv --invoice I1=128.40 --tickets t.csv --availability logs --params 7B --tokens 1T"
expect 3 "$ASSAY" score run --keep-evidence; says "nothing was given"; one_line
expect 3 "$ASSAY" score run --keep-evidence --bill paid/b.csv; says "give --quote"
[ ! -e run/evidence.json ] || fail "kept what cannot be read"
expect 1 "$ASSAY" score run --stage period $papers --keep-evidence
expect 0 "$ASSAY" report run --stage period $papers --json with.json
mkdir gone && mv q.json paid u.csv t.csv logs gone
expect 0 "$ASSAY" report run --stage period --json without.json
cmp with.json without.json || fail "judged otherwise without the originals"
expect 0 "$ASSAY" bundle run --stage period --out e.tar
prints "REJECT"
for f in evidence.json evidence/1-logs/w.heartbeat.csv 3-q.json 4-b.csv 5-u.csv 2-t.csv; do
	tar -tf e.tar | grep -q "/$f\$" || tar -tf e.tar | grep -q "/evidence/$f\$" || fail "no $f in the archive: $(tar -tf e.tar)"
done
expect 0 "$ASSAY" verify e.tar
prints "judged again: REJECT, byte for byte"
mkdir unpacked && tar -C unpacked -xf e.tar
cmp "unpacked/$(tar -tf e.tar | head -n 1 | cut -d / -f 1)/scorecard.json" with.json || fail "another scorecard in the archive"
cp a.tar a0.tar && cp e.tar a.tar
# refit: the manifest says what is there now.
cat >refit.py <<'PYTHON'
import hashlib, json
m = json.load(open("manifest.json"))
for f in m["files"]:
    data = open(f["name"], "rb").read()
    f["sha256"], f["bytes"] = hashlib.sha256(data).hexdigest(), len(data)
json.dump(m, open("manifest.json", "w"))
PYTHON
changed 'sed -i s/98.40/90.40/ evidence/4-b.csv'
expect 1 "$ASSAY" verify c.tar
prints "evidence/4-b.csv is not what the manifest says"
changed 'sed -i s/98.40/90.40/ evidence/4-b.csv; python3 "$tmp/refit.py"'
expect 1 "$ASSAY" verify c.tar
prints "evidence/4-b.csv is not the file that was kept"
changed 'sed -i "s/\"option\": \"params\"/\"option\": \"tokens\"/; s/I1=128.40/I1=1.00/" evidence.json; python3 "$tmp/refit.py"'
expect 2 "$ASSAY" verify c.tar
changed 'sed -i s/I1=128.40/I1=120.40/ evidence.json; python3 "$tmp/refit.py"'
expect 1 "$ASSAY" verify c.tar
prints "do not give that scorecard"
changed 'sed -i s,evidence/4-b.csv,evidence/../run.json, evidence.json; python3 "$tmp/refit.py"'
expect 2 "$ASSAY" verify c.tar
says "not the list of evidence"
mv a0.tar a.tar
# A file that was kept and is gone, and one that is another: said, and nothing judged.
mv run/evidence/2-t.csv kept
expect 3 "$ASSAY" score run; says "2-t.csv"
mv kept run/evidence/2-t.csv && echo >>run/evidence/5-u.csv
expect 3 "$ASSAY" score run; says "evidence/5-u.csv is not the file that was kept"
# Given again: in place of it.
cd gone && expect 1 "$ASSAY" score ../run --stage period --tickets t.csv --keep-evidence && cd ..
[ "$(ls run/evidence)" = 1-t.csv ] || fail "what was kept before is still there: $(ls run/evidence)"

# Clauses of a contract and the certificate about them.
expect 0 "$ASSAY" bundle run --clauses "$source_dir/configs/clauses/thousand-card.json" --out k.tar
expect 0 "$ASSAY" verify k.tar
prints "byte for byte"
cp k.tar a.tar
changed 'sed -i "s/<h1>[^<]*/<h1>ACCEPT/" certificate.html; python3 "$tmp/refit.py"'
expect 1 "$ASSAY" verify c.tar
prints "certificate.html is not what the run says"
expect 3 "$ASSAY" bundle run --clauses nowhere.json --out n.tar
[ ! -e n.tar ] || fail "an archive without its clauses"

# Signed: by whom, and by nobody else.
if command -v ssh-keygen >/dev/null; then
	ssh-keygen -q -t ed25519 -N '' -f key
	ssh-keygen -q -t ed25519 -N '' -f other
	echo "buyer@example $(cut -d ' ' -f 1,2 key.pub)" >signers
	expect 0 "$ASSAY" bundle run --out s.tar --sign key
	expect 0 "$ASSAY" verify s.tar
	prints "was not checked"
	expect 0 "$ASSAY" verify s.tar --signers signers --identity buyer@example
	prints "signed by buyer@example"
	expect 1 "$ASSAY" verify s.tar --signers signers --identity vendor@example
	echo "buyer@example $(cut -d ' ' -f 1,2 other.pub)" >signers
	expect 1 "$ASSAY" verify s.tar --signers signers --identity buyer@example
	expect 3 "$ASSAY" verify s.tar --signers signers
	expect 3 "$ASSAY" bundle run --out t.tar --sign nokey
else
	echo "not here: ssh-keygen"
fi
