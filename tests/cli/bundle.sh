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
