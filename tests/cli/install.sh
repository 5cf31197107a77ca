# cmake --install into a folder of its own, and the .deb: the program finds all it needs
# from where it then lies, the man page is clean and knows every option of --help, the
# shell completes.
. "$(dirname "$0")/lib.sh"
tree=$(cd "$(dirname "$ASSAY")" && pwd)
[ -f "$tree/src/cli/assay.man" ] || skip "assay was not built by cmake --build here: $tree has no man page"

cmake --install "$tree" --prefix "$tmp/a b" >"$tmp/log" 2>&1 || { tail -n 5 "$tmp/log"; fail "cmake --install"; }
prefix=$tmp/a\ b
[ -z "$(find "$prefix" -perm /022)" ] || fail "others may write: $(find "$prefix" -perm /022 | head -n 3)"

# --- the program, away from its sources ------------------------------------------

cd "$tmp" || exit 3
installed=$prefix/bin/assay
expect 0 env -i "$installed" --version
expect 0 env -i PATH=/usr/bin:/bin "$installed" list
expect 2 env -i PATH=/usr/bin:/bin "$installed" run --only inventory --profile a100-sxm4-80gb --out run --html run.html
expect 0 "$installed" compare guide-class-1 guide-class-2
expect 0 "$installed" certificate run --clauses "$prefix/share/assay/configs/clauses/thousand-card.json" --html c.html
# The module is looked for in <prefix>/lib/assay, and launch finds assay and it.
mkdir -p "$prefix/lib/assay" && echo no module >"$prefix/lib/assay/assay_comm_openmpi.so"
expect 3 env OMPI_COMM_WORLD_SIZE=2 OMPI_COMM_WORLD_RANK=0 "$installed" run --out never
says "lib/assay/assay_comm_openmpi.so"
echo localhost >hosts
if command -v mpirun.openmpi >/dev/null; then
	expect 0 env PATH="$prefix/bin:$PATH" "$prefix/share/assay/scripts/cluster/launch" --launcher openmpi --dry-run hosts -- run
	prints 'a\ b/bin/assay'
	expect 0 "$prefix/share/assay/scripts/cluster/build-comm" --out made mpicc.openmpi
	[ -s made/assay_comm_openmpi.so ] || fail "no module made from what is installed"
fi
expect 3 env PATH="$prefix/bin:$PATH" "$prefix/share/assay/gpu-check" --limit none=1
says "with a step of: inventory"
expect 0 python3 "$prefix/share/assay/anonymise" --out public run

# --- how to use it -----------------------------------------------------------------

page=$prefix/share/man/man1/assay.1
expect 0 groff -man -ww -Tutf8 -P-cbou "$page"
[ -z "$err" ] || fail "the man page: $err"
sed -n 's/^COMMAND(\(.*\))$/\1/p' "$source_dir/src/cli/commands.def" >commands
# "run --nodes" and so on: what --help has, what the page says in each section.
while read -r command; do
	"$ASSAY" "$command" --help | sed -nE "s/^  (--[a-z0-9-]+).*/$command \1/p" | grep -v -- ' --help$'
done <commands >helped
sed 's/\\-/-/g' "$page" | awk '/^\.SS assay / { c = $3 } /^\.S[SH] [^a]/ { c = "" } /^\.B --/ { print c, $2 }' >paged
[ "$(wc -l <helped)" -gt 100 ] || fail "only $(wc -l <helped) options in --help"
diff helped paged || fail "--help (<) and the man page (>) differ"
tr -s '[:space:]' '\n' <"$tmp/.out" | sort -u >words
cut -d ' ' -f 2 helped | sort -u | comm -23 - words >unprinted
[ ! -s unprinted ] || fail "not printed by the man page: $(tr '\n' ' ' <unprinted)"

# offers WORD...: what bash offers for the last one.
offers() {
	bash -c '. "$0"; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); compopt() { :; }; _assay; printf "%s\n" "${COMPREPLY[@]}"' \
		"$prefix/share/bash-completion/completions/assay" "$@" 2>&1
}
[ "$(offers assay ver)" = verify ] || fail "commands: $(offers assay ver)"
[ "$(offers assay run --budg)" = --budget ] || fail "options: $(offers assay run --budg)"
[ "$(offers assay run --budget so)" = soak ] || fail "words: $(offers assay run --budget so)"
[ "$(offers assay bundle --profile)" = "" ] || fail "an option of another command"
[ "$(offers assay '')" = "$(printf '%s\n' --help --version && cat commands)" ] || fail "not all commands are offered"

# --- the package ----------------------------------------------------------------------

if [ ! -f "$tree/CPackConfig.cmake" ]; then
	echo "no .deb here: no dpkg-shlibdeps when the tree was configured"
else
	(cd "$tmp" && cpack --config "$tree/CPackConfig.cmake" -B "$tmp/deb") >"$tmp/log" 2>&1 || { tail -n 20 "$tmp/log"; fail cpack; }
	deb=$(ls "$tmp"/deb/assay_*.deb)
	field() { dpkg-deb -f "$deb" "$1"; }
	for library in libc6 libcjson1 libhwloc15 libsmartcols1; do
		field Depends | grep -q "$library" || fail "does not depend on $library: $(field Depends)"
	done
	! dpkg-deb -f "$deb" Depends Recommends Suggests Pre-Depends | grep -qiE 'cuda|nvidia|nccl|cublas' || fail "wants a GPU: $(dpkg-deb -f "$deb")"
	! field Depends | grep -qE 'mpi|ibverbs|fio|blas' || fail "depends on what may be absent: $(field Depends)"
	field Recommends | grep -q fio || fail "fio is not recommended"
	[ -z "$(dpkg-deb -c "$deb" | grep -v ' root/root ')" ] || fail "files that are not root's"
	dpkg-deb -x "$deb" "$tmp/root"
	for f in bin/assay share/man/man1/assay.1 share/bash-completion/completions/assay share/doc/assay/copyright \
		share/assay/scripts/cluster/launch share/assay/src/coord/comm_mpi.c; do
		[ -s "$tmp/root/usr/$f" ] || fail "no $f in the package"
	done
	[ -z "$(find "$tmp/root" -type f ! -path "$tmp/root/usr/*")" ] || fail "files outside /usr"
	expect 0 env -i "$tmp/root/usr/bin/assay" list
fi
