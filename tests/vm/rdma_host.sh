# Sourced by the tests that start machines with soft-RoCE, after their lib.sh.
vm=$source_dir/tests/vm/vm modules="ib_uverbs crc32_generic rdma_rxe"
[ "$(id -u)" = 0 ] || skip "needs root: the machines read this one's files"
ends=$(realpath "$TREE/tests/probes")
[ -x "$ends/rdma_end" ] && [ -x "$ends/patterns_four" ] || skip "no verbs in this build"

# machines FOLDER GUEST [PART...] -- OPTION...: a guest script in a folder of its own. A
# machine that is emulated hangs now and then, before it does anything: then once more.
# What hangs in it is killed there, and is no such case.
machines() {
	local folder=$tmp/$1 guest=$2 parts=() code try
	shift 2
	while [ "$1" != -- ]; do
		parts+=("$1")
		shift
	done
	shift
	for try in 1 2; do
		rm -rf "$folder"
		mkdir "$folder"
		"$vm" -s "$folder" "$@" -- env RDMA_END="$ends/rdma_end" PATTERNS_FOUR="$ends/patterns_four" PAIRS="${pairs:-0}" \
			bash "$source_dir/tests/vm/guests/$guest" "${parts[@]}"
		code=$?
		[ $code = 124 ] || break
	done
	[ $code = 0 ] || { cat "$folder"/*.err 2>/dev/null; fail "$guest: exit $code"; }
	return $code
}
