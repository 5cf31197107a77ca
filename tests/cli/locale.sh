# Comma decimals and odd character sets change no figure and break no output.
. "$(dirname "$0")/lib.sh"
quick="--budget quick --only inventory"

numbers() { python3 -c 'import json,sys
for l in open(sys.argv[1]):
    r = json.loads(l)
    if isinstance(r.get("value"), float): print(r["value"])' "$1"; }

locales=""
if command -v localedef >/dev/null && [ -d /usr/share/i18n/locales ]; then
	mkdir "$tmp/locales"
	localedef -i de_DE -f UTF-8 "$tmp/locales/de_DE.UTF-8" >/dev/null 2>&1 && locales="de_DE.UTF-8"
	localedef -i de_DE -f ISO-8859-1 "$tmp/locales/de_DE" >/dev/null 2>&1 && locales="$locales de_DE"
	export LOCPATH=$tmp/locales
fi
for l in C POSIX C.UTF-8 $locales; do
	expect 2 env LC_ALL="$l" "$ASSAY" run $quick --out "$tmp/run-$l"
	expect 0 env LC_ALL="$l" "$ASSAY" verify "$tmp/run-$l"
	expect 0 env LC_ALL="$l" "$ASSAY" report "$tmp/run-$l" --json "$tmp/$l.json" --csv "$tmp/$l.csv"
	python3 -c 'import json,sys; json.load(open(sys.argv[1]))' "$tmp/$l.json" || fail "$l: JSON does not parse"
	numbers "$tmp/run-$l/readings.jsonl" >/dev/null || fail "$l: journal does not parse"
	expect 2 env LC_ALL="$l" "$ASSAY" score "$tmp/run-$l"
	case $l in
	*UTF-8) ;;
	*) printf '%s' "$out" | LC_ALL=C grep -q '[^ -~]' && printf '%s' "$out" | tr -d '\n' | LC_ALL=C grep -q '[^ -~]' && fail "$l: not plain ASCII" ;;
	esac
done
# The same journal prints the same figures everywhere.
if [ -n "$locales" ]; then
	a=$(LC_ALL=C "$ASSAY" report "$tmp/run-C" --csv -)
	b=$(LC_ALL=de_DE.UTF-8 "$ASSAY" report "$tmp/run-C" --csv -)
	[ "$a" = "$b" ] || fail "de_DE.UTF-8 changes the CSV"
fi
expect 2 env NO_COLOR=1 "$ASSAY" score "$tmp/run-C"
case $out in *$'\033'*) fail "colour in a pipe" ;; esac
[ -n "$locales" ] || skip "no German locale to be had (package locales); C and C.UTF-8 checked"
