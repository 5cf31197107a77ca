# Cards that nobody lists but CUDA are one unit: what they leave must not meet.
. "$(dirname "$0")/lib.sh"
lib=$(dirname "$ASSAY")/tests/standin/lib
[ -e "$lib/libcuda.so.1" ] || skip "not built: stand-in libraries"

cat >"$tmp/node.json" <<-END
	{"cards":[{"model":"h100-sxm5-80gb"}],"count":2,"noise":{"seed":3,"window":0.002}}
END
ASSAY_STANDIN=$tmp/node.json expect 2 "$ASSAY" run --only gemm --out "$tmp/run" --lib-dir "$lib" \
	--set gemm.card_order=128 --set gemm.card_windows=40 --set gemm.short_windows=4 --set gemm.card_warmup_s=0.00002 \
	--set gemm.window_s=0.000001 --set gemm.peak_windows=1 --set gemm.order=64 --set gemm.windows=1 --set gemm.warmup_s=0
expect 0 "$ASSAY" verify "$tmp/run"
[ "$(ls "$tmp"/run/raw/*/*gemm-fp16.csv | wc -l)" = 2 ] || fail "raw files: $(ls "$tmp"/run/raw/*)"
