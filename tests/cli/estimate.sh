# Days and cost of one's own model: from figures given, from a run, and nonsense refused.
. "$(dirname "$0")/lib.sh"

model="--params 70B --tokens 1.4T"
card="--card a100-sxm4-80gb"
expect 0 "$ASSAY" estimate $model --cards 1000 $card --mfu 0.45 --price 4.9 --currency CNY
prints "Training 70B parameters on 1.4T tokens with 1,000 A100 SXM4 80GB"
prints "given"
prints "assumed"
expect 0 "$ASSAY" estimate $model --cards 1000 $card --mfu 0.45 --json -
echo "$out" | python3 -c 'import json, sys
d = json.load(sys.stdin)
assert all(abs(d["days"][c] * d["ettr"][c] - 48.5) < 0.1 for c in ("best", "mid", "worst")), d["days"]
assert d["inputs"]["mfu"]["origin"] == "given" and d["inputs"]["mttf_h_1000_cards"]["origin"] == "assumed"
assert d["fits"] and d["least_cards"] == 18 and d["cost"]["mid"] is None, d' || fail "the JSON is not right"

"$(dirname "$ASSAY")/tests/perf/make_journal" 4 8 120 "$tmp/run" >/dev/null || fail "make_journal"
expect 0 "$ASSAY" estimate $model --run "$tmp/run"
prints "with 32 A100 SXM4 80GB"
prints "measured"
prints "SIMULATED"
expect 0 "$ASSAY" estimate $model --run "$tmp/run" --deadline 30
prints "are needed"
"$ASSAY" score "$tmp/run" $model >"$tmp/out" 2>&1
grep -q "enough cards and memory for this model: 70B" "$tmp/out" || fail "no line about the model"
"$ASSAY" score "$tmp/run" --params 700B --tokens 1.4T >"$tmp/out" 2>&1
grep -q "NOT enough memory" "$tmp/out" || fail "700B fit on 32 cards"
expect 0 "$ASSAY" estimate --params 100B --tokens 2T --cards 1 $card
prints "NOT POSSIBLE as it is"
expect 0 "$ASSAY" --lang zh estimate $model --cards 1000 $card

expect 3 "$ASSAY" estimate; says '--params is missing'; one_line
expect 3 "$ASSAY" estimate --params 70B; says '--tokens is missing'; one_line
expect 3 "$ASSAY" estimate --params seventy --tokens 1.4T $card; says 'not a number like 70B'; one_line
expect 3 "$ASSAY" estimate $model --cards 0 $card; says 'training on 0 cards is not possible'; one_line
expect 3 "$ASSAY" estimate $model --cards -4 $card; says 'training on -4 cards'; one_line
expect 3 "$ASSAY" estimate --params 70B --tokens 1e30 --cards 8 $card; says 'more text than there is'; one_line
expect 3 "$ASSAY" estimate $model --cards 8 $card --mfu 1.7; says "more than the cards' peak"; one_line
expect 3 "$ASSAY" estimate $model --cards 8 --card a100-sxm4-80g; says 'did you mean "a100-sxm4-80gb"'; one_line
expect 3 "$ASSAY" estimate $model --cards 8; says 'which card?'; one_line
expect 3 "$ASSAY" estimate $model $card; says 'how many cards?'; one_line
expect 3 "$ASSAY" estimate $model --cards 8 $card --price 5; says 'needs its --currency'; one_line
expect 3 "$ASSAY" estimate $model $card --budget 1e6; says '--budget needs --price'; one_line
expect 3 "$ASSAY" estimate $model $card --deadline 0.5; says 'no number of cards is done'; one_line
expect 3 "$ASSAY" estimate $model --run /nonexistent; says '/nonexistent'; one_line
expect 3 "$ASSAY" score "$tmp/run" --params 70B; says '--tokens is missing'; one_line
expect 3 "$ASSAY" run --dry-run --params big --tokens 1T; says 'not a number like 70B'; one_line
