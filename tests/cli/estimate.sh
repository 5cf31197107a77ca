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
assert d["inputs"]["mfu"]["origin"] == "given" and "gemm_share" not in d["inputs"] and "write_s" in d["inputs"] and d["inputs"]["mttf_h_1000_cards"]["origin"] == "assumed"
assert d["fits"] and d["least_cards"] == 18 and d["cost"]["mid"] is None, d' || fail "the JSON is not right"

"$(dirname "$ASSAY")/tests/perf/make_journal" 4 8 120 "$tmp/run" >/dev/null || fail "make_journal"
expect 0 "$ASSAY" estimate $model --run "$tmp/run"
prints "with 32 A100 SXM4 80GB"
prints "measured"
prints "SIMULATED"
expect 0 "$ASSAY" estimate $model --run "$tmp/run" --deadline 30
prints "are needed"
prints_not "less than a sixteenth"

# Figures of a run: between nodes the nearest to a rail of cards, a node's shared by its
# cards; a measured step is the most MFU there is; another card's run says nothing.
made() { # more figures
	printf '%s' '{"nodes": 4, "cards": 2, "profile": "a100-sxm4-80gb", "storage": "/s", "points": ["depth=1"], "seed": 7,
	"noise": {"card": 0, "window": 0, "rho": 0}, "healthy": {"card_name": "NVIDIA A100-SXM4-80GB", "gemm_bf16_tflops": 270,
	"training_scaling_efficiency": 0.9'"$1"'}}' >"$tmp/d.json" && rm -rf "$tmp/made" &&
		"$(dirname "$ASSAY")/tests/exam/make_run" "$tmp/d.json" "$tmp/made" || fail "make_run $1"
}
bus() { # metric GB/s-a-card more-figures
	made "$3"
	expect 0 "$ASSAY" estimate $model --run "$tmp/made" --json "$tmp/e.json"
	[ -z "$1" ] && prints "no bandwidth between nodes" || prints "$1"
	python3 -c '
import json, sys
i = json.load(open(sys.argv[1]))["inputs"]
want, got = sys.argv[3], i.get("bus_gbs")
assert i.get("bus_metric") == (sys.argv[2] or None), i
assert (got is None) == (want == "") and (not got or abs(got["worst"] / float(want) - 1) < 1e-9 and got["origin"] == "measured"), got
' "$tmp/e.json" "$1" "$2" || fail "between nodes: $*"
}
tcp=', "net_tcp_gbps": 16'
rdma="$tcp"', "group_allreduce_busbw_gbs": 1.6, "rdma_write_gbps": 192, "rdma_nic_write_gbps": 194'
nccl="$rdma"', "collective_nodes_ring_busbw_gbs": 40'
bus "" "" ""
bus net_tcp_gbps 1 "$tcp"
bus group_allreduce_busbw_gbs 0.8 "$tcp"', "group_allreduce_busbw_gbs": 1.6'
bus rdma_write_gbps 12 "$rdma"
bus collective_nodes_ring_busbw_gbs 20 "$nccl"
bus collective_rail_busbw_gbs 22 "$nccl"', "collective_rail_busbw_gbs": 22'
expect 0 "$ASSAY" estimate $model --run "$tmp/made" --bus-gbs 7 --json -
echo "$out" | python3 -c 'import json, sys; i = json.load(sys.stdin)["inputs"]
assert i["bus_gbs"]["mid"] == 7 and i["bus_gbs"]["origin"] == "given" and "bus_metric" not in i' || fail "a bandwidth that was given"
made ', "training_card_tflops": 93.6'
expect 0 "$ASSAY" estimate $model --run "$tmp/made" --json "$tmp/e.json"; prints "MFU is no more"
python3 -c 'import json, sys; d = json.load(open(sys.argv[1]))
assert all(abs(d["mfu"][c] - 0.3) < 1e-9 for c in d["mfu"]) and d["inputs"]["step_most"]["origin"] == "measured"' "$tmp/e.json" || fail "a measured step"
expect 0 "$ASSAY" estimate $model --run "$tmp/made" --deadline 2000; prints "scaling on 8 cards; while the number"
expect 3 "$ASSAY" estimate $model --run "$tmp/made" --card rtx-4090; says 'the run measured NVIDIA A100-SXM4-80GB'; one_line
made ', "gemm_fp16_tflops": 1' && sed 's/270/400/' "$tmp/d.json" >"$tmp/d2.json" && rm -r "$tmp/made" &&
	"$(dirname "$ASSAY")/tests/exam/make_run" "$tmp/d2.json" "$tmp/made"
expect 3 "$ASSAY" estimate $model --run "$tmp/made"; says 'above the peak of A100 SXM4 80GB (312)'; one_line

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
