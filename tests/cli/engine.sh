# Levels and the gain of an acceleration engine stand in every report, in both languages:
# a played interpreter whose steps take 10 ms with the engine and about 12 without.
. "$(dirname "$0")/lib.sh"
exec </dev/null
export LC_ALL=C.UTF-8
mkdir "$tmp/bin"
cat >"$tmp/bin/python" <<'PY'
#!/bin/sh
[ $# = 3 ] && { echo '{"python":"3.11.2","found":{"pytorch":{"version":"2.6","path":"/x"},"deepspeed":{"version":"0.16","path":"/x"}}}'; exit; }
case $4 in *zero_optimization*) echo '{"error":"import","detail":"ImportError: no such op"}'; exit ;; esac
ms=10
case $4 in *'"env":'*none*) n=$(cat "$0.n" 2>/dev/null || echo 0); echo $((n + 1)) >"$0.n"; ms=12.$((n % 3)) ;; esac
echo '{"version":"2.6","backend":"nccl","workers":8,"params_equal":true,"loss_first":2,"loss_last":1,"step_ms":'$ms',"alone_ms":9,
"sums_ms":{"65536":1,"4194304":'$ms',"268435456":'$ms'},"modes":{"data":"ok","tensor":"ok","pipeline":"ok"},"precision":{"bf16":"ok","fp16":"ok"}}' | tr -d '\n'
PY
chmod +x "$tmp/bin/python"
run() { # run DIR OPTIONS...: rejects, since this Python has no Megatron-core
	local dir=$1
	shift
	NCCL_NET_PLUGIN=libnccl-net-tccl.so expect 1 "$ASSAY" run --budget quick --only software,frameworks --out "$dir" \
		--set "frameworks.python=$tmp/bin/python" --set frameworks.device=cuda "$@"
}
run "$tmp/with" --set frameworks.pairs=5
run "$tmp/few" --set frameworks.pairs=4
for lang in en zh; do
	o=$tmp/$lang
	expect 0 "$ASSAY" report "$tmp/with" --lang $lang --markdown "$o.md" --html "$o.html" --junit "$o.xml" --csv "$o.csv"
	expect 0 "$ASSAY" compare "$tmp/with" "$tmp/few" --lang $lang --markdown "$o.compare.md" --html "$o.compare.html"
	for file in md html xml csv compare.md compare.html; do
		for word in fw_engine_ratio fw_engine_allreduce_ratio fw_pytorch_level fast TCCL sw_engine; do
			tr -d '\\' <"$o.$file" | grep -q "$word" || fail "$lang: no $word in $file"
		done
	done
	for file in md html xml compare.md; do
		tr -d '\\' <"$o.$file" | grep -q '1\.21.*1\.2.*1\.22' || fail "$lang: no interval of the gain in $file"
	done
	tr -d '\\' <"$o.md" | grep -q 'fw_deepspeed_level | present' || fail "$lang: a framework that does not load is not only present"
	! grep -qi '[^n]supported' "$o.md" || fail "$lang: \"supported\" is said of what does not run"
done
grep -q '"metric":"fw_engine_ratio".*"outcome":"not_measured".*"code":"fw_left_out"' "$tmp/few/readings.jsonl" || fail "four pairs gave a gain"
