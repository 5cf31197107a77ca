# Wrong command lines: one clear message, exit 3, the nearest valid word.
. "$(dirname "$0")/lib.sh"

expect 3 "$ASSAY"
expect 0 "$ASSAY" --help
prints "assay COMMAND"
expect 0 "$ASSAY" --version
prints "assay 0."
for c in run list probe score report compare verify gate baseline ledger; do
	expect 0 "$ASSAY" $c --help
	prints "Usage: assay $c"
	prints "--help"
done

expect 3 "$ASSAY" rnu; says 'did you mean "run"'; one_line
expect 3 "$ASSAY" xyzzy; says 'see assay --help'; one_line
expect 3 "$ASSAY" run --bugdet quick; says 'did you mean --budget'; one_line
expect 3 "$ASSAY" run --zzzz; says 'see assay run --help'; one_line
expect 3 "$ASSAY" run --budg quick; says '--budget'; one_line   # abbreviations are refused
expect 3 "$ASSAY" run --budget fast; says 'quick|standard|soak'; one_line
expect 3 "$ASSAY" run --nodes; says 'needs a value'; one_line
expect 3 "$ASSAY" run --nodes 0; says 'outside 1'; one_line
expect 3 "$ASSAY" run --nodes 1,5; says 'not a whole number'; one_line
expect 3 "$ASSAY" run --nodes 99999999999999999999; says 'not a whole number'; one_line
expect 3 "$ASSAY" run --cards -1; says 'outside 0'; one_line
expect 3 "$ASSAY" run --nodes 1 --nodes 2; says 'given twice'; one_line
expect 3 "$ASSAY" run --only ''; says 'empty'; one_line
expect 3 "$ASSAY" run --only gem; says 'did you mean "gemm"'; one_line
expect 3 "$ASSAY" run --skip inventory,jiter; says 'did you mean "jitter"'; one_line
expect 3 "$ASSAY" run --profile a100-sxm4-80g; says 'a100-sxm4-80gb'; one_line
expect 3 "$ASSAY" run --profile /nonexistent/p.json; says '/nonexistent/p.json'; one_line
expect 3 "$ASSAY" run --set gemm; says 'key=value'; one_line
expect 3 "$ASSAY" run --set gemm.zzz=1; says 'no parameter "zzz"'; one_line
expect 3 "$ASSAY" run --set nosuch.zzz=1; says 'no probe "nosuch"'; one_line
expect 3 "$ASSAY" run --storage-size lots; says 'storage.size'; one_line
expect 3 "$ASSAY" run --storage /nonexistent; says '/nonexistent'; one_line
expect 3 "$ASSAY" run --storage "$ASSAY"; says 'Not a directory'; one_line
expect 3 "$ASSAY" run extra; says 'unexpected "extra"'; one_line
expect 3 "$ASSAY" run --resume /nonexistent; says '/nonexistent'; one_line
expect 3 "$ASSAY" run --resume "$tmp" --set gemm.n=64; says 'cannot be given with --resume'; one_line
expect 3 "$ASSAY" run --resume "$tmp" --nodes 3; says 'cannot be given with --resume'; one_line
expect 3 "$ASSAY" probe; says 'NAME is missing'; one_line
expect 3 "$ASSAY" probe gemmm; says 'did you mean "gemm"'; one_line
expect 3 "$ASSAY" probe storage; says '--storage PATH'; one_line
expect 3 "$ASSAY" score; says 'DIR is missing'; one_line
expect 3 "$ASSAY" score /nonexistent; says '/nonexistent'; one_line
expect 3 "$ASSAY" report /nonexistent --json -; one_line
expect 2 "$ASSAY" verify /nonexistent; one_line
expect 0 "$ASSAY" run --dry-run --nodes 125 --cards 8
prints "for 125 nodes"
prints "gemm: 8 cards at once"
prints "gemm_alone: 8 cards in turn"
"$ASSAY" list >/dev/full 2>"$tmp/.err"
[ $? = 3 ] || fail "a full disk below stdout looks like success"
grep -q "could not be written" "$tmp/.err" || fail "nothing said about it"
[ ! -e "$tmp/.assay" ] || fail "something was written"
