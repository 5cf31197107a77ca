# A vendor's test reports become a run that can be scored, reported and compared - and
# never passes as measured. Bad input: what, where, what to do, exit 3, nothing left.
. "$(dirname "$0")/lib.sh"
files=$source_dir/tests/unit/import

expect 0 "$ASSAY" import --out "$tmp/run" --node n001 --vendor "a & b" \
	"$files/nccl-all-reduce.txt" "$files/smi.csv" "$files/nvbandwidth.txt"
says "7 readings of nccl-tests"
says "means the same: device_local_copy"
expect 0 "$ASSAY" verify "$tmp/run"
cmp -s "$tmp/run/raw/import-2.txt" "$files/smi.csv" || fail "the file is not kept"
[ "$(grep -c '"origin":"imported"' "$tmp/run/readings.jsonl")" = 24 ] || fail "not all are imported"

expect 2 "$ASSAY" score "$tmp/run" --profile a100-sxm4-80gb
prints "imported from other tools' reports"
prints "stated only: imported from another tool"
expect 0 "$ASSAY" compare "$tmp/run" guide-class-1 --terminal
prints "contains figures of other tools"

# Changed afterwards.
sed -i 's/300.00/400.00/' "$tmp/run/raw/import-2.txt"
expect 1 "$ASSAY" verify "$tmp/run"
prints "import-2.txt"

refused() {
	local words=$1
	shift
	expect 3 "$ASSAY" import "$@"
	says "$words"
	[ ! -e "$tmp/none" ] || fail "left a directory"
}
refused "give --out" "$files/smi.csv"
refused "give --node" --out "$tmp/none" "$files/smi.csv"
refused "give --peer" --out "$tmp/none" --node a "$files/perftest-bw.txt"
refused "give --unit" --out "$tmp/none" --node a --peer b "$files/perftest-4.5.json"
refused "none.txt: No such file" --out "$tmp/none" --node a "$tmp/none.txt"
echo hello >"$tmp/hello"
refused "hello: not the output of a tool" --out "$tmp/none" --node a "$files/smi.csv" "$tmp/hello"
expect 3 "$ASSAY" import --out "$tmp/run" --node a "$files/smi.csv"
