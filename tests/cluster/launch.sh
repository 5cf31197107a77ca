# scripts/cluster/launch: reads any host file, starts both MPIs, and ends with the
# verdict, with nothing left behind, whatever happens to hosts and launcher.
. "$(dirname "$0")/lib.sh"
start=$source_dir/scripts/cluster/launch
few="--only inventory,jitter --budget quick --lost-after 5"
assay=$(readlink -f "$ASSAY")

# --- host files ------------------------------------------------------------------

# map TEXT HOSTS...: the hosts that are made of it.
map() {
	printf "$1" >"$tmp/hostfile"
	shift
	expect 0 "$start" --dry-run --launcher openmpi --assay "$ASSAY" "$tmp/hostfile" -- run
	case $out in *"(printf %s\\\\n $*) "*"-np $# "*"run --nodes $# "*) ;; *) fail "not $*: $out" ;; esac
}
map 'a slots=8\na\n' a
map 'A\nA\nB\nC\nC\n' a b c
map '10.0.0.2\n10.0.0.1\n' 10.0.0.2 10.0.0.1
map 'a:8\n' a
map '\xef\xbb\xbfn1.x.org. slots=2 max_slots=4 # comment\r\n\r\n#n2\r\nN1.x.org\r\nn3' n1.x.org n3
map 'root@n1:4\nn1\n[fe80::1]:2\nfe80::1\n' root@n1 fe80::1
says "root@n1  (lines 1, 2 are one host)"

# refuses TEXT SENTENCE
refuses() {
	printf '%b' "$1" >"$tmp/hostfile"
	expect 3 "$start" --dry-run --launcher openmpi --assay "$ASSAY" "$tmp/hostfile" -- run
	says "$2"
	one_line
}
refuses '' "no host in it"
refuses '# all gone\n' "no host in it"
refuses 'a\nrank 0=b slot=1\n' "line 2: not understood"
refuses 'a b\n' "line 1: not understood"
refuses 'a slots=\n' "line 1: not understood"
refuses '-oProxyCommand=reboot\n' "line 1"
refuses 'a;reboot\n' "line 1: no host name"
refuses '$(reboot)\n' "line 1: no host name"
refuses '-x@a\n' "line 1: no user name"

# --- the command line ---------------------------------------------------------------

echo node0 >"$tmp/one"
wrong() {
	local sentence=$1
	shift
	expect 3 "$start" "$@"
	says "$sentence"
	one_line
}
wrong "no host file"
wrong "no such host file" "$tmp/none" -- run
wrong "after -- comes: run" "$tmp/one" -- probe gemm
wrong "after -- comes: run" "$tmp/one"
wrong "openmpi, mpich or slurm" --launcher lam "$tmp/one" -- run
wrong "a number of seconds" --limit 1h "$tmp/one" -- run
wrong "unknown option --lmit" --lmit 1 "$tmp/one" -- run
wrong "not two" "$tmp/one" "$tmp/one" -- run
wrong "needs a value" --rsh
wrong "--nodes 4, but $tmp/one has 1 hosts" --assay "$ASSAY" "$tmp/one" -- run --nodes 4
wrong "no such program" --assay "$tmp/none" "$tmp/one" -- run
wrong "there is none here" --assay "$ASSAY" - -- run
expect 0 "$start" --dry-run --launcher mpich --assay "$ASSAY" --rsh /x/y --arg -verbose "$hosts/names" -- run --resume=/d
prints "-disable-auto-cleanup"
prints "-launcher-exec /x/y"
prints "-verbose $assay run --resume=/d"
prints_not "--nodes"
cp "$ASSAY" "$tmp/assay"
wrong "no assay_comm_mpich.so beside" --launcher mpich --assay "$tmp/assay" "$tmp/one" -- run

# --- runs -----------------------------------------------------------------------------

# A program that starts assay after 250 complaints, as a library has them.
mkdir "$tmp/loud"
ln -s "$(dirname "$assay")"/assay_comm_*.so "$tmp/loud/"
printf '#!/bin/sh\nfor i in $(seq 250); do echo "lib[x]: no driver for $((1 + 1))" >&2; done\nexec %s "$@"\n' "$assay" >"$tmp/loud/assay"
chmod +x "$tmp/loud/assay"

program=$ASSAY
# begin MPI SECONDS options... : launch on node0, at work for so long; $launch is its pid.
begin() {
	mpi=$1 dir=$tmp/$1
	local seconds=$2
	shift 2
	rm -rf "$dir"
	# Of the last run nothing is to be read any more.
	: >"$tmp/out" 2>"$tmp/err"
	TMPDIR=$tmp env --default-signal=INT "$hosts/rsh" node0 "exec '$start' --launcher $mpi --assay '$program' \
		--rsh '$hosts/rsh' $* '$hosts/names' -- run --out '$dir' $few --set jitter.seconds=$seconds" \
		>"$tmp/out" 2>"$tmp/err" </dev/null &
	launch=$!
}
# ends CODE: and nothing of it is left on node0, nor in the temporary folder.
ends() {
	local code
	wait $launch
	code=$?
	[ $code = "$1" ] || fail "$mpi: exit $code, not $1: $(tail -n 3 "$tmp/err")"
	[ -z "$("$cluster/hosts" pids "$hosts" 0)" ] || fail "$mpi: left on node0: $("$cluster/hosts" pids "$hosts" 0)"
	[ -z "$(ls -d "$tmp"/assay-launch.* 2>/dev/null)" ] || fail "$mpi: temporary files are left"
}
clear_host() {
	local pid
	for pid in $("$cluster/hosts" pids "$hosts" "$1"); do kill -9 "$pid" 2>/dev/null; done
}
# The launcher's own process, which launch has started.
launcher_of() {
	local pid
	for pid in $("$cluster/hosts" pids "$hosts" 0); do
		case $(cat "/proc/$pid/comm" 2>/dev/null) in mpirun* | mpiexec* | orterun*) echo "$pid" ;; esac
	done | head -n 1
}
said() { grep -q "$1" "$tmp/err" || fail "$mpi: not said: \"$1\": $(grep launch: "$tmp/err")"; }

for mpi in openmpi mpich; do
	# The verdict is the exit code, and the report is clean text.
	program=$tmp/loud/assay
	begin $mpi 0.2
	wait $launch
	code=$?
	program=$ASSAY
	# A launcher may tear a few lines on their way.
	said "launch: came \(1000\|9..\) times: lib\[x\]: no driver for 2"
	case $(sed -n 's/^  "overall": "\([A-Z]*\)".*/\1/p' "$dir/scorecard.json") in
	REJECT) want=1 ;; INCOMPLETE) want=2 ;; *) want=none ;;
	esac
	[ $code = $want ] || fail "$mpi: exit $code, not $want: $(tail -n 3 "$tmp/err")"
	grep -q "run digest" "$tmp/out" || fail "$mpi: no report"
	! grep -q $'\e\|\r\|assay-exit' "$tmp/out" "$tmp/err" || fail "$mpi: more than text came"
	expect 0 "$ASSAY" verify "$dir"

	# Asked to end, the ranks end in order.
	begin $mpi 20
	until_line "$tmp/err" "phase cards"
	kill -TERM $launch
	ends 143
	grep -q "cut: the run ended" "$tmp/out" || fail "$mpi: no report of what was cut"
	expect 0 "$ASSAY" verify "$dir"

	# A host that falls silent: judged all the same, and said who was not reached.
	begin $mpi 4
	until_line "$tmp/err" "phase cards"
	"$cluster/hosts" cut "$hosts" 2
	ends $want
	said "node2 was lost in phase cards"
	said "node2 was not reached"
	clear_host 2
	"$cluster/hosts" join "$hosts" 2

	# A host that is dead before the start: the others are measured, and it is lost.
	"$cluster/hosts" cut "$hosts" 2
	begin $mpi 0.2
	ends $want
	said "launch: node2 does not answer: rsh: node2: no route to host"
	said "3 hosts, one rank each, $mpi, .* 1 of 4 do not answer and are lost"
	said "node2 was lost in phase hello: it did not answer when the run was started"
	grep -q "node2.*lost" "$tmp/out" || fail "$mpi: node2 is not in the report"
	[ "$(count "$dir" node2 inventory lost)" -gt 0 ] || fail "$mpi: no reading says that node2 is lost"
	expect 0 "$ASSAY" verify "$dir"
	"$cluster/hosts" join "$hosts" 2

	# The launcher dies: no verdict, and nobody goes on for nothing.
	begin $mpi 20
	until_line "$tmp/err" "phase cards"
	kill -9 "$(launcher_of)"
	ends 4
	said "no verdict came"
	for n in 1 2 3; do
		[ -z "$("$cluster/hosts" pids "$hosts" $n)" ] || fail "$mpi: left on node$n"
	done
done
# Nobody is there.
printf 'nodea\nnodeb\n' >"$tmp/nobody"
for mpi in openmpi mpich; do
	expect 3 "$hosts/rsh" node0 "exec '$start' --launcher $mpi --assay '$ASSAY' --rsh '$hosts/rsh' '$tmp/nobody' -- run"
	says "nodeb does not answer"
	says "none of the 2 hosts answers"
done

begin openmpi 20 --limit 3
ends 143
said "not finished after 3 s"
begin mpich 20
until_line "$tmp/err" "phase cards"
kill -INT $launch
ends 130
