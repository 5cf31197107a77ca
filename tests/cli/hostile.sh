# What README says under "Who is trusted with what": files from somebody who wishes us
# ill cost bounded memory and run nothing, names from him stay letters, what we write goes
# through no link of his and is read by nobody else, and no secret gets into a record.
. "$(dirname "$0")/lib.sh"
files=$source_dir/tests/unit/import
esc=$(printf '\033')

# --- names -------------------------------------------------------------------

name="n$esc]0;x$(printf '\007')$esc[2J<script>alert(1)</script>"
expect 0 "$ASSAY" import --out "$tmp/run" --node "$name" --vendor "=cmd|' /C calc'!A0" "$files/smi.csv"
expect 2 "$ASSAY" score "$tmp/run" --profile a100-sxm4-80gb --csv "$tmp/o.csv" --markdown "$tmp/o.md" --html "$tmp/o.html" \
	--junit "$tmp/o.xml" --json "$tmp/o.json"
prints "stated"
for f in "$tmp/.out" "$tmp/.err" "$tmp"/o.* "$tmp"/run/*.json*; do
	LC_ALL=C grep -q "[$esc$(printf '\007\233')]" "$f" && [ "${f##*.}" != html ] && fail "control characters in $f"
	LC_ALL=C grep -q "$esc" "$f" && fail "an escape sequence in $f"
done
! grep -q '<script>alert' "$tmp/o.html" "$tmp/o.md" "$tmp/o.xml" || fail "a script from outside"
! grep -qE '(^|,)"?[=@+]' "$tmp/o.csv" || fail "a formula in the CSV"
printf 'x%s[31m' "$esc" >"$tmp/bad$esc[2J.json"
expect 3 "$ASSAY" import --out "$tmp/no" --node a "$tmp/bad$esc[2J.json"
case $err in *"$esc"*) fail "an escape sequence on the terminal" ;; esac

# --- files without end ---------------------------------------------------------

# endless COMMAND: exit 3 (verify: 2), with little memory, and with words.
endless() {
	local code=3
	[ "$1" != verify ] || code=2
	expect $code bash -c 'ulimit -v 1000000; exec "$@"' endless "$ASSAY" "$@"
	one_line
}
truncate -s 1G "$tmp/zeros"
cp "$tmp/zeros" "$tmp/zeros.heartbeat.csv" --sparse=always
mkdir "$tmp/logs" "$tmp/long" "$tmp/big"
mv "$tmp/zeros.heartbeat.csv" "$tmp/logs/n1.heartbeat.csv"
tr '\0' '[' <"$tmp/zeros" | head -c 1000000 >"$tmp/deep.json"
cp "$tmp/run/run.json" "$tmp/long/" && truncate -s 5G "$tmp/long/readings.jsonl"
truncate -s 1G "$tmp/big/run.json" && cp "$tmp/run/readings.jsonl" "$tmp/big/"
for dir in long big; do
	endless score "$tmp/$dir"; says "larger than"
	endless verify "$tmp/$dir"; says "larger than"
done
for file in zeros deep.json; do
	endless score "$tmp/run" --profile "$tmp/$file"
	endless import --out "$tmp/no" --node a "$tmp/$file"
	endless compare "$tmp/run" "$tmp/$file"
	endless certificate "$tmp/run" --clauses "$tmp/$file"
	endless bill --quote "$tmp/$file"
	endless gate "$tmp/run" --baseline "$tmp/run" --tolerance "$tmp/$file"
	endless ledger show --ledger "$tmp/$file"
	endless verify "$tmp/$file"
done
endless availability "$tmp/logs"
says "n1.heartbeat.csv:1"

# --- links -----------------------------------------------------------------------

echo mine >"$tmp/mine"
for f in json csv markdown html junit; do
	ln -s mine "$tmp/link.$f"
	expect 0 "$ASSAY" report "$tmp/run" --$f "$tmp/link.$f"
	[ ! -L "$tmp/link.$f" ] || fail "--$f wrote through a link"
done
ln -s mine "$tmp/link.tar"
expect 0 "$ASSAY" bundle "$tmp/run" --out "$tmp/link.tar"
mkdir "$tmp/watch"
ln -s ../mine "$tmp/watch/n1.heartbeat.csv"
expect 3 "$ASSAY" watch --out "$tmp/watch" --node n1 --for 1 --probe-every 0
mkdir "$tmp/taken"
ln -s ../mine "$tmp/taken/readings.jsonl"
expect 3 "$ASSAY" run --only inventory --out "$tmp/taken"
[ "$(cat "$tmp/mine")" = mine ] || fail "somebody's file was written to"

# --- who may read it, what runs, what is told ---------------------------------------

# All that is opened for writing or executed, by assay and all below it.
export AWS_SECRET_ACCESS_KEY=hunter2 NCCL_AUTH_TOKEN=hunter2 WANDB_PASSWORD=hunter2
mkdir "$tmp/private"
expect 2 bash -c 'umask 077; TMPDIR=$1/private exec strace -f -qq -e trace=execve,open,openat,creat,bind,listen -o "$1/trace" "$2" run \
	--budget quick --only inventory,software --out "$1/own"' own "$tmp" "$ASSAY"
mkdir -p "$tmp/tree/proc/self"
printf '%s\n' '36 35 98:0 / /dav rw,noatime shared:1 - fuse.davfs https://u:hunter2@dav.example/x rw,password=hunter2,user_id=0' >"$tmp/tree/proc/self/mountinfo"
"$ASSAY" probe inventory --sys-root "$tmp/tree" >"$tmp/lines" 2>/dev/null
grep -q 'https://(not told)@dav.example/x' "$tmp/lines" || fail "the mount is not told: $(grep node_filesystems "$tmp/lines")"
! grep -q hunter2 "$tmp/lines" || fail "a password of a mount in a reading: $(grep hunter2 "$tmp/lines")"
unset AWS_SECRET_ACCESS_KEY NCCL_AUTH_TOKEN WANDB_PASSWORD
! grep -rq hunter2 "$tmp/own" || fail "a secret in the record: $(grep -rl hunter2 "$tmp/own")"
[ -z "$(find "$tmp/own" -perm /077)" ] || fail "open to others: $(find "$tmp/own" -perm /077 | head -n 3)"
elsewhere=$(grep -E 'O_CREAT|O_WRONLY|O_RDWR|creat\(' "$tmp/trace" | grep -v " = -1 " | grep -vE "\"($tmp/own|$tmp/private|/dev/null|/dev/tty|/proc/self/)")
[ -z "$elsewhere" ] || fail "written elsewhere: $elsewhere"
! grep -E 'execve\("[^"]*/(ba|da|)sh"' "$tmp/trace" | grep -v " = -1 " || fail "a shell was started"
! grep -E '(bind|listen)\(' "$tmp/trace" | grep -q 'AF_INET' || fail "a run on one node listens"
expect 0 bash -c 'TMPDIR=$1/private exec strace -f -qq -e trace=mkdir,open,openat -o "$1/trace" "$2" verify "$1/link.tar"' own "$tmp" "$ASSAY"
grep -q "mkdir(\"$tmp/private/assay-verify.*0700) = 0" "$tmp/trace" || fail "unpacked into a directory that is not private"
! grep -E 'O_CREAT' "$tmp/trace" | grep -vE 'O_EXCL.*O_NOFOLLOW.*0600\)' || fail "unpacked into files that are not"
# Asked to end in the midst of it.
expect 143 env TMPDIR="$tmp/private" strace -qq -o "$tmp/trace" -e trace=mkdir -e inject=mkdir:signal=TERM:when=2 "$ASSAY" verify "$tmp/link.tar"
grep -q 'assay-verify' "$tmp/trace" || fail "nothing was unpacked"
[ -z "$(ls -A "$tmp/private")" ] || fail "left behind: $(ls -A "$tmp/private")"

# --- a lesser card sold as an A100 -------------------------------------------------------

# All that a host can forge of identity at once: PCI, NVML and CUDA say the same of every
# card, name to power limit. What NVML answers of links and ECC could be forged as well.
# forged EXIT MODEL CARDS [FAULT]: $measured gets the rules that fail and ask nobody.
doubles=$(dirname "$ASSAY")/tests/standin
[ -e "$doubles/lib/libcuda.so.1" ] || { echo "cards were not forged: the doubles are not built"; exit; }
forged() {
	local dir=$tmp/forged claims=${4:+$4,} claim
	rm -rf "$dir"
	mkdir "$dir"
	for claim in "name=NVIDIA A100-SXM4-80GB" sm_count=108 sm_clock_mhz=1410 memory_mib=81920 capability=8.0 \
		pci_device=20b2 links=12 power_limit_w=400; do
		claims="$claims{\"kind\":\"claim\",\"field\":\"${claim%%=*}\",\"value\":\"${claim#*=}\"},"
	done
	printf '{"cards":[{"model":"%s"}],"count":%d,"nvlink":"switch","achieved":{"fp64":0.95,"fp64_tensor":0.95,"fp32":0.98,
		"tf32":0.84,"fp16":0.86,"bf16":0.86,"memory":0.9,"nvlink":0.92,"sm_copy":0.93,"pcie":0.83,"collective":0.77},
		"noise":{"seed":1,"card":0.005,"window":0.002},"faults":[%s]}' "$2" "$3" "${claims%,}" >"$dir/node.json"
	export ASSAY_STANDIN=$dir/node.json
	"$doubles/standin_tree" "$dir/root" || fail "standin_tree"
	expect "$1" "$ASSAY" run --out "$dir/run" --profile a100-sxm4-80gb --nodes 1 --cards "$3" --budget quick \
		--only gemm,gemm_alone,membw,memtest,p2p,collective --suite "$source_dir/configs/suites/exam.json" \
		--lib-dir "$doubles/lib" --sys-root "$dir/root"
	unset ASSAY_STANDIN
	measured=$(python3 - "$dir/run/scorecard.json" <<-'PYTHON'
		import json, re, sys
		findings = json.load(open(sys.argv[1]))["findings"]
		ask_nobody = "gemm-|memory-|nvlink-oneway|allreduce-|collective-|pcie-"
		print("", *sorted({f["rule"] for f in findings if f["verdict"] == "fail" and re.match(ask_nobody, f["rule"])}), "")
	PYTHON
	)
}
found() { for rule; do case $measured in *" $rule "*) ;; *) fail "$rule lets it pass: $measured" ;; esac; done }
unseen() { [ -z "${measured# }" ] || fail "README says that this is not seen: $measured"; }

forged 2 a100-sxm4-80gb 2; unseen
forged 1 rtx-4090 1; found gemm-fp16 gemm-bf16 gemm-fp32-mode memory-bandwidth memory-right
forged 1 rtx-4090 1 '{"kind":"event_clock","factor":0.5}'; found gemm-fp16 memory-bandwidth memory-right
forged 1 a10 2; found gemm-fp16 memory-bandwidth memory-right nvlink-oneway allreduce-node
forged 1 a100-sxm4-40gb 1; found memory-right
forged 1 a800-sxm4-80gb 2; found nvlink-oneway allreduce-node
# Who measures alike where it is measured is not told apart.
forged 2 a800-sxm4-80gb 1; unseen
forged 2 a100-pcie-80gb 2; unseen
