# assay list: every probe, whether it can run here, without opening a library.
. "$(dirname "$0")/lib.sh"

expect 0 "$ASSAY" list
for p in inventory jitter gemm membw storage checkpoint dataset; do prints "$p"; done
expect 0 "$ASSAY" list gemm
prints cpu_gemm_fp32_gflops
prints TFLOP/s
expect 3 "$ASSAY" list gem
says 'did you mean "gemm"'
expect 0 "$ASSAY" list --try
prints_not "without an answer"
printf '%s\n' "$out" | grep -q '^inventory .* yes' || fail "inventory cannot run: $out"
for p in inventory jitter gemm membw storage checkpoint dataset; do prints "$p"; done
if command -v strace >/dev/null; then
	strace -f -e trace=openat -o "$tmp/trace" "$ASSAY" list >/dev/null
	! grep -E 'open(blas|cl)|libblis|libcuda|libnvidia|libmpi|libhwloc-plugins|hwloc_' "$tmp/trace" | grep -v ENOENT | grep -q . ||
		fail "list opened a library: $(grep -E 'blas|cuda|hwloc_' "$tmp/trace" | head -n 3)"
fi
