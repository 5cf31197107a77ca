# README.md is true: every command in it is run (tests/cli/readme.list says how), options
# and files it names exist, and every command of assay is in its table.
. "$(dirname "$0")/lib.sh"
readme=$source_dir/README.md list=$source_dir/tests/cli/readme.list
absent=""
command -v ssh-keygen >/dev/null || absent="$absent --sign --signers"
command -v mpirun.openmpi >/dev/null || absent="$absent cluster/launch"

# --- what is in both -------------------------------------------------------------

# Indented lines outside fences that begin with a program; what follows two blanks and # is a remark.
awk '/^```/ { fence = !fence } !fence && /^    (assay|scripts\/|cmake|git|cd) ?/ { sub(/^    /, ""); sub(/  +#.*/, ""); print }' "$readme" >"$tmp/commands"
grep -v '^#' "$list" | cut -f 2 >"$tmp/listed"
[ "$(wc -l <"$tmp/commands")" -gt 20 ] || fail "only $(wc -l <"$tmp/commands") commands found in README.md"
diff "$tmp/commands" "$tmp/listed" || fail "README.md (<) and tests/cli/readme.list (>) have other commands"
grep '^elsewhere' "$list" | cut -f 3 | while read -r test; do [ -s "$source_dir/$test" ] || echo "$test"; done >"$tmp/gone"
[ ! -s "$tmp/gone" ] || fail "no such test: $(cat "$tmp/gone")"

# --- a place where all its names exist ------------------------------------------------

mkdir -p "$tmp/bin" "$tmp/shared/data" "$tmp/.ssh" "$tmp/fake" "$tmp/runs"
cd "$tmp" || exit 3
export HOME=$tmp PATH=$tmp/bin:$PATH
ln -s "$ASSAY" bin/assay
ln -s "$source_dir/scripts" scripts
make_journal=$(dirname "$ASSAY")/tests/perf/make_journal
"$make_journal" 20 8 120 DIR >/dev/null && "$make_journal" 2 8 120 runs/vendor-x >/dev/null || fail "make_journal"
cp -r runs/vendor-x runs/a
cp -r runs/vendor-x runs/b
# A month of one node at 200 an hour, as quoted.
cat >offer.json <<'JSON'
{"v": 1, "name": "q", "title": "Vendor X", "figures": [], "quote": {"currency": "CNY", "tax": "excluded",
 "items": [{"item": "node", "match": ["gn8*"], "per": "hour", "price": "200", "gpus": 8}]}}
JSON
for f in quote qa qb; do cp offer.json $f.json; done
printf '%s\n' BilledCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BillingPeriodStart,BillingPeriodEnd,InvoiceId,ChargeCategory,ServiceName,SkuId,ChargeDescription,ResourceId,PricingQuantity,PricingUnit \
	128400.00,CNY,2024-10-01T00:00:00Z,2024-10-27T18:00:00Z,2024-10-01T00:00:00Z,2024-11-01T00:00:00Z,INV-7,Usage,compute,gn8.a100,,i-1,642,Hours >october.csv
printf 'resource,start,end,state\ni-1,2024-10-01T00:00:00Z,2024-10-27T18:00:00Z,running\n' >starts.csv
cp "$source_dir/configs/guide-claims.csv" offer.csv
echo '{"node": "v1", "gemm-flops/fp16_tc_flops:0": 268000, "gemm-flops/fp16_tc_flops:1": 269000}' >report.json
# A limit that no card keeps: something to waive.
printf '%s\n' '{"v": 1, "name": "strict", "extends": "a100-sxm4-80gb",' \
	'"rules": [{"id": "gemm-fp16", "fraction_of": {"of": "fp16_tensor_tflops", "min": 0.99}}]}' >strict.json
cp "$source_dir/configs/clauses/thousand-card.json" contract.json
files=$source_dir/tests/unit/import
cp "$files/nccl-all-reduce.txt" nccl-tests.txt
cp "$files/smi.csv" nvidia-smi.csv
cp "$files/fio-randread.json" fio.json
ssh-keygen -q -t ed25519 -N '' -f .ssh/id_ed25519 &&
	echo "buyer@example.com $(cut -d ' ' -f 1,2 .ssh/id_ed25519.pub)" >allowed_signers
seq -f localhost%g 125 >hosts
sed -i 's/localhost/127.0.0./' hosts
ln -s assay-watch logs
printf 'ticket_id,opened_utc,first_human_utc,source\n1,2026-11-03T10:00:00Z,2026-11-03T10:12:00Z,mail\n' >tickets.csv
printf 'from_utc,to_utc,node,cause\n2026-11-03T10:00:00Z,2026-11-03T11:00:00Z,*,planned\n' >causes.csv
assay run --only software,inventory --out runs/golden >/dev/null 2>&1
cp -r runs/golden runs/2026-12-02
ln -s "$ASSAY" fake/assay
touch fake/assay_comm_openmpi.so

# --- each of them ------------------------------------------------------------------

while IFS=$'\t' read -r code command more; do
	case $code in '#'* | elsewhere) continue ;; esac
	for word in $absent; do
		case $command in *"$word"*) echo "not run here, its program is missing: $command" && continue 2 ;; esac
	done
	command=${command//\/shared\/data/$tmp/shared/data}
	command=${command//\/var\/lib\//$tmp/}
	command=${command//n017/n00017}
	command=${command//run .../run --dry-run}
	case $command in
	# All it would start, on 125 hosts.
	scripts/cluster/launch*) command=${command/launch/launch --dry-run --launcher openmpi --assay $tmp/fake/assay} ;;
	esac
	if [ "$code" = any ]; then
		bash -c "$command ${more:-}" >"$tmp/.out" 2>"$tmp/.err" </dev/null
		[ $? -le 2 ] || fail "$command: $(cat "$tmp/.err")"
	else
		expect "$code" bash -c "$command ${more:-}"
	fi
done <"$list"

# --- commands, options and files it speaks of ------------------------------------------

sed -n 's/^COMMAND(\(.*\))$/\1/p' "$source_dir/src/cli/commands.def" >known
: >options
while read -r command; do
	grep -qE "^\| .*\`assay $command[ \`]" "$readme" || fail "assay $command is not in the table of commands"
	"$ASSAY" "$command" --help | grep -oE '^  --[a-z0-9-]+' | sed "s/^ */$command /" >>options
done <known
# `assay COMMAND … --option …`: both exist.
awk '/^```/ { fence = !fence } !fence' "$readme" | grep -oE '`assay [^`]*`' | tr -d '`' | while read -r _ command rest; do
	case $command in --* | COMMAND) continue ;; esac
	grep -qx "$command" known || echo "assay $command"
	for word in $rest; do
		case $word in --*) grep -qx -- "$command $(expr "$word" : '\(--[a-z0-9-]*\)')" options || echo "assay $command $word" ;; esac
	done
done >wrong
# An option by itself: of some command, or of a script.
grep -oE '`--[a-z][a-z-]*' "$readme" | tr -d '`' | sort -u | while read -r option; do
	grep -q -- " $option\$" options || grep -rqF -- "$option" "$source_dir/scripts" || echo "$option"
done >>wrong
grep -oE '[`(](scripts|configs|tests|src|bench|reports|include)/[A-Za-z0-9_./<-]*[A-Za-z0-9/]' "$readme" | cut -c 2- | sort -u | while read -r file; do
	case $file in *'<'*) continue ;; esac
	[ -e "$source_dir/$file" ] || echo "$file"
done >>wrong
[ ! -s wrong ] || fail "README.md names what is not there: $(tr '\n' ';' <wrong)"
