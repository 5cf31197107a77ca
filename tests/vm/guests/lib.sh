# Sourced by what runs inside the machines. They only stage faults and write
# down what came; the test on the host, which started them, judges it. The
# working directory is shared with it and between the machines.
set -u
say() { printf '%s: %s\n' "$(cut -d' ' -f1 /proc/uptime)" "$*"; }

# No clock that a test may step: seconds since boot.
now() { cut -d. -f1 /proc/uptime; }

# The other machine waits no longer for one that died.
die() {
	say "$*"
	: >died
	exit 1
}

# until_true SECONDS command...: a deadline, not a sleep for luck.
until_true() {
	local end=$(($(now) + $1))
	shift
	until "$@"; do
		[ "$(now)" -lt $end ] && [ ! -e died ] || return 1
		sleep 0.2
	done
}

# Waits for a file another machine writes into the shared folder.
wait_for() { until_true "$1" test -e "$2" || die "$2 did not come in $1 s"; }

# measure NAME PATH [ARG...]: assay probe storage into NAME.jsonl; how it ended
# and after how many seconds into NAME.end.
measure() {
	local name=$1 path=$2 start
	shift 2
	start=$(now)
	timeout -s KILL 320 "$ASSAY" probe storage --storage "$path" "$@" >"$name.jsonl" 2>"$name.err" </dev/null
	printf '%s %s\n' $? $(($(now) - start)) >"$name.end"
}

# in_the_middle SECONDS: until points that last so long each have begun; the
# trial before them is shorter.
in_the_middle() {
	until_true 120 pgrep -f -- "--runtime=${1}000ms" >/dev/null || say "no points began"
}

live_fio() { pgrep -x fio >/dev/null; }
nothing_left() { ! pgrep -x fio >/dev/null && ! pgrep -f 'assay --(guard|child)' >/dev/null; }

# short_run SIZE SECONDS DEPTHS: a few short points; no pairs, no long hold.
short_run() {
	short="--set storage.size=$1 --set storage.runtime_s=$2 --set storage.ramp_s=0.5 --set storage.hold_s=0
		--set storage.pairs=0 --set storage.depths=$3"
}
