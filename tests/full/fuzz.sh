# Every parser for a minute each, led by coverage (libFuzzer), from the committed inputs.
# An input that breaks one is kept in the folder named at the end.
. "$(dirname "$0")/../cli/lib.sh"
command -v clang >/dev/null || skip "needs clang with libFuzzer"
seconds=${FUZZ_SECONDS:-60}
tree=$tmp/tree found=${TMPDIR:-/tmp}/assay-fuzz-found
cmake -G Ninja -S "$source_dir" -B "$tree" -DCMAKE_C_COMPILER=clang -DCMAKE_BUILD_TYPE=Debug \
	-DASSAY_SANITIZE=ON -DASSAY_LIBFUZZER=ON >"$tmp/log" 2>&1 || { tail "$tmp/log"; fail "cmake"; exit 1; }
targets=$(cd "$source_dir/tests/fuzz" && ls fuzz_*.c | sed 's/\.c$//')
ninja -C "$tree" $targets >"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log"; fail "build"; exit 1; }
cd "$source_dir" || exit 3
while read -r name runs where; do
	mkdir -p "$tmp/$name" "$found"
	"$tree/tests/fuzz/fuzz_$name" -max_total_time=$seconds -timeout=20 -rss_limit_mb=2048 -max_len=65536 \
		-artifact_prefix="$found/$name-" "$tmp/$name" ${where:-tests/fuzz/corpus/$name} >"$tmp/out" 2>&1 ||
		fail "$name: $(grep -m 3 -e ERROR -e SUMMARY -e broken "$tmp/out"); input in $found"
	echo "$name: $(grep -c . "$tmp/out") lines, $(tail -n 1 "$tmp/out")"
done <tests/fuzz/targets
rmdir "$found" 2>/dev/null
true
