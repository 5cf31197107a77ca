# Sourced by the command-line tests. $ASSAY is the program under test; $tmp is
# a fresh directory, removed at the end with whatever still runs below us.
set -u
[ -n "${ASSAY:-}" ] || { echo "set ASSAY to the program under test"; exit 3; }
tests_dir=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
source_dir=$(cd "$tests_dir/../.." && pwd)
tmp=$(mktemp -d /var/tmp/assay-test.XXXXXX)
failures=0
at_exit=:
finish() {
	code=$?
	eval "$at_exit"
	rm -rf --one-file-system "$tmp"
	[ $failures -gt 0 ] && code=1
	exit $code
}
trap finish EXIT

skip() {
	echo "$*"
	exit 77
}

fail() {
	echo "FAIL: $*"
	failures=$((failures + 1))
}

# expect CODE command...: runs it, keeps $out and $err, checks the exit code.
expect() {
	local want=$1 code
	shift
	"$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null
	code=$?
	out=$(cat "$tmp/.out")
	err=$(cat "$tmp/.err")
	[ $code = "$want" ] || fail "exit $code, not $want: $* :: $(tail -n 3 "$tmp/.err") $(tail -n 3 "$tmp/.out")"
}

# says TEXT: the last command's error output contains it.
says() { case $err in *"$1"*) ;; *) fail "error output lacks \"$1\": $err" ;; esac }
prints() { case $out in *"$1"*) ;; *) fail "output lacks \"$1\": $out" ;; esac }
prints_not() { case $out in *"$1"*) fail "output has \"$1\"" ;; esac }
one_line() { [ "$(printf '%s\n' "$err" | wc -l)" = 1 ] || fail "not one line of error output: $err"; }

# wait_until SECONDS command...: polls; a deadline, not a sleep for luck. A machine that
# is busy with other things has a minute at least.
wait_until() {
	local end=$((SECONDS + ($1 > ${WAIT_LEAST:-60} ? $1 : ${WAIT_LEAST:-60})))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.05
	done
}

# Live processes (not zombies) that name $1 on their command line or stand in it.
live_processes() {
	local p
	for p in /proc/[0-9]*; do
		[ "$p" != "/proc/$$" ] || continue
		case $(sed -n 's/^State:[[:space:]]*//p' "$p/status" 2>/dev/null) in Z* | '') continue ;; esac
		{ tr '\0' ' ' <"$p/cmdline"; readlink "$p/cwd"; } 2>/dev/null | grep -q -- "$1" && echo "${p#/proc/}"
	done
} 2>/dev/null
nothing_runs() { [ -z "$(live_processes "$1")" ]; }
no_scratch() { [ -z "$(find "$1" -name '.assay-*' 2>/dev/null)" ]; }
