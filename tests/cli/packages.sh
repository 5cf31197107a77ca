# scripts/packages records what it installs, and the software probe leaves that out.
. "$(dirname "$0")/lib.sh"
bin=$tmp/bin work=$tmp/work state=$tmp/state
mkdir "$bin" "$work"
# Stand-ins: a package is a line "name version" of $state.
cat >"$bin/dpkg-query" <<STUB
#!/bin/sh
case \$* in
*'\${Package}'*) sed 's/^/installed /' "$state" ;;
*) for last; do :; done; grep -q "^\$last " "$state" && echo installed ;;
esac
STUB
printf '#!/bin/sh\ncase $* in *update*) ;; *) echo "fio 3.33-3" >>"%s"; echo "libaio1 0.3" >>"%s" ;; esac\n' "$state" "$state" >"$bin/apt-get"
printf '#!/bin/sh\necho 0\n' >"$bin/id"
chmod +x "$bin"/*
printf 'git 2.39\n' >"$state"
(PATH=$bin:$PATH; . "$source_dir/scripts/packages"; need_packages git fio) >"$tmp/out" || fail "need_packages: $(cat "$tmp/out")"
[ "$(cat "$work/installed-packages")" = "fio 3.33-3
libaio1 0.3" ] || fail "recorded: $(cat "$work/installed-packages")"
# Nothing is missing: nothing is added to the record.
(PATH=$bin:$PATH; . "$source_dir/scripts/packages"; need_packages git fio) >/dev/null
[ "$(wc -l <"$work/installed-packages")" = 2 ] || fail "recorded twice"
mkdir -p "$tmp/image/var/lib/dpkg"
for p in git/2.39 fio/3.33-3 libaio1/0.3; do
	printf 'Package: %s\nStatus: install ok installed\nVersion: %s\n\n' "${p%/*}" "${p#*/}"
done >"$tmp/image/var/lib/dpkg/status"
"$ASSAY" probe software --sys-root "$tmp/image" --set software.installed_record="$work/installed-packages" >"$tmp/lines" 2>/dev/null
grep -q '"metric":"sw_packages","unit":"1","value":1,' "$tmp/lines" || fail "not left out: $(head -c 600 "$tmp/lines")"
