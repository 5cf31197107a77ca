# Two languages: --lang, else the locale; what machines read is the same in both.
. "$(dirname "$0")/lib.sh"
unset LANG LC_ALL LC_MESSAGES LC_CTYPE
utf8=C.UTF-8
# An installation without C.UTF-8 has no UTF-8 for anybody here.
LC_ALL=$utf8 locale charmap 2>/dev/null | grep -q UTF-8 || skip "no UTF-8 locale"

# has_chinese TEXT, all_ascii TEXT
has_chinese() { printf '%s' "$1" | python3 -c 'import re,sys; sys.exit(not re.search("[\u4e00-\u9fff]", sys.stdin.buffer.read().decode()))'; }
all_ascii() { printf '%s' "$1" | python3 -c 'import sys; sys.exit(any(b > 126 for b in sys.stdin.buffer.read()))'; }

zh() { env LC_ALL=$utf8 "$ASSAY" "$@" --lang zh; }
en() { env LC_ALL=$utf8 "$ASSAY" "$@" --lang en; }
# judged command...: whatever this machine's verdict is.
judged() {
	"$@" >"$tmp/.out" 2>"$tmp/.err" </dev/null
	code=$?
	out=$(cat "$tmp/.out")
	err=$(cat "$tmp/.err")
	[ $code -le 2 ] || fail "exit $code: $*: $err"
}
quick="--budget quick --only inventory --nodes 2 --cards 8"

# --- a run, its scorecard and reports
judged zh run $quick --out "$tmp/zh"
verdict=$code
prints "算力真实性"; prints "共享存储"; has_chinese "$err" || fail "the plan is not Chinese: $err"
expect $verdict en run $quick --out "$tmp/en"
prints "compute authenticity"; all_ascii "$out$err" || fail "English is not ASCII"
for f in readings.jsonl run.json scorecard.json; do
	python3 -c 'import re,sys; sys.exit(bool(re.search("[\u3000-\u9fff\uff00-\uffef]", open(sys.argv[1], encoding="utf-8").read())))' "$tmp/zh/$f" ||
		fail "$f depends on who looked"
done
expect 0 zh verify "$tmp/zh"; prints "完好"
expect 0 en verify "$tmp/zh"; prints "intact"
expect $verdict zh score "$tmp/en"; prints "未测"; prints "没有结论的项目及原因"
prints "gemm 不在 --only 所列的测试项之中"   # a stored reason, said again
expect $verdict en score "$tmp/zh"; prints "gemm is not among the probes of --only"
all_ascii "$out" || fail "English is not ASCII: $out"
a=$out
expect $verdict env LC_ALL=$utf8 "$ASSAY" score "$tmp/zh"
[ "$out" = "$a" ] || fail "English is not the default"
for l in zh en; do
	expect 0 $l report "$tmp/zh" --json "$tmp/$l.json" --csv "$tmp/$l.csv" --html "$tmp/$l.html"
done
cmp -s "$tmp/zh.json" "$tmp/en.json" || fail "JSON depends on the language"
cmp -s "$tmp/zh.csv" "$tmp/en.csv" || fail "CSV depends on the language"
cmp -s "$tmp/zh/scorecard.json" "$tmp/en.json" || fail "the scorecard saved is not the JSON report"
grep -q 'lang="zh' "$tmp/zh.html" || fail "the Chinese page does not say so"
grep -q "算力真实性" "$tmp/zh.html" || fail "the page is not Chinese"
has_chinese "$(cat "$tmp/en.html")" && fail "Chinese in the English page"
# Terminal and files at once: each in its own language.
expect 0 zh report "$tmp/zh" --terminal --json "$tmp/both.json"
prints "算力真实性"
cmp -s "$tmp/both.json" "$tmp/en.json" || fail "JSON beside a Chinese scorecard differs"
# What is noted is noted once, however many languages are written.
cp -r "$tmp/zh" "$tmp/changed"
rm "$tmp/changed/profile.json"
sed -i 's/\("profile_sha256": *"\)[0-9a-f]\{8\}/\100000000/' "$tmp/changed/run.json"
expect 0 zh report "$tmp/changed" --terminal --json "$tmp/both.json"
says "验收标准 thousand-card 已不是"; one_line

# --- side by side
for l in zh en; do
	expect 0 $l compare "$tmp/zh" "$tmp/en" --terminal --json "$tmp/c-$l.json" --csv "$tmp/c-$l.csv" --html "$tmp/c-$l.html"
	[ $l = zh ] && prints "并列比较"
	[ $l = en ] && prints "side by side"
	expect 0 $l report "$tmp/zh" --markdown "$tmp/$l.md" --junit "$tmp/$l.xml"
done
cmp -s "$tmp/c-zh.json" "$tmp/c-en.json" || fail "JSON of a comparison depends on the language"
cmp -s "$tmp/c-zh.csv" "$tmp/c-en.csv" || fail "CSV of a comparison depends on the language"
cmp -s "$tmp/zh.xml" "$tmp/en.xml" || fail "JUnit depends on the language"
grep -q "并列比较" "$tmp/c-zh.html" || fail "the page of a comparison is not Chinese"
grep -q "算力真实性" "$tmp/zh.md" || fail "Markdown is not Chinese"
has_chinese "$(cat "$tmp/c-en.html" "$tmp/en.md")" && fail "Chinese in an English page"

# --- readings on standard output
judged zh probe inventory
all_ascii "$out" || fail "a reading is not English"

# --- lists, help, errors
expect 0 zh list; prints "能否在此运行"; prints "inventory"
expect 0 zh list storage; prints "存储"; prints "storage_read_iops"
expect 0 zh run --dry-run --nodes 4; prints "计划（standard 档位）"
expect 0 env LC_ALL=$utf8 "$ASSAY" --help --lang zh; prints "用法"
expect 0 env LC_ALL=$utf8 "$ASSAY" --lang zh --help; prints "用法"
expect 0 zh run --help; prints "--lang zh|en"; prints "所承诺的内容"
help=$out
expect 3 zh run --bugdet quick; says "是否想输入 --budget"; one_line
expect 3 zh run --only gem; says '是否想输入 "gemm"'; one_line
expect 3 zh score /nonexistent; says "没有该文件或目录"; one_line
expect 3 zh run --nodes 0; says "不在 1 到"; one_line
expect 3 env LC_ALL=$utf8 "$ASSAY" run --lang fr; says '"fr" is none of zh|en'; one_line
expect 3 env LC_ALL=$utf8 "$ASSAY" run --lang zh --lang en; says "重复给出"; one_line

# --- by the locale
chinese() { has_chinese "$out" || fail "not Chinese with $*"; }
english() { all_ascii "$out" || fail "not English with $*"; }
pick() { expect 0 env "$@" "$ASSAY" --help; }
# Minimal images lack zh_CN.UTF-8: the name still says what the terminal speaks.
pick LANG=zh_CN.UTF-8; chinese LANG=zh_CN.UTF-8
pick LC_MESSAGES=zh_TW.utf8 LANG=$utf8; chinese LC_MESSAGES
pick LC_ALL=zh_CN.UTF-8 LANG=en_US.UTF-8; chinese LC_ALL
pick LANG=zh_CN.UTF-8 LC_ALL=$utf8; english "LC_ALL over LANG"
pick LANG=en_US.UTF-8; english LANG=en_US.UTF-8
pick LANG=zhuang.UTF-8; english "another language that begins alike"
pick LANG=zh_CN.GB18030; english "Chinese in another character set"
[ -z "$err" ] || fail "noise where nobody asked for Chinese: $err"
pick LANG=C; english LANG=C
expect 0 env LANG=zh_CN.UTF-8 "$ASSAY" --help --lang en; english "--lang en over the locale"

# --- no UTF-8: English, one line, and pages as they were asked for
expect $verdict env LC_ALL=C "$ASSAY" score "$tmp/zh" --lang zh
one_line; says "not UTF-8"; all_ascii "$out$err" || fail "not ASCII in a C locale"
prints "compute authenticity"
expect 0 env LC_ALL=C "$ASSAY" report "$tmp/zh" --lang zh --html "$tmp/c.html"
cmp -s "$tmp/c.html" "$tmp/zh.html" || fail "a page depends on the terminal it was asked for from"
expect 3 env LC_ALL=C "$ASSAY" run --lang zh --bugdet; says "did you mean"

# --- columns: help, and a scorecard on terminals of some widths
cat >"$tmp/look.py" <<'PY'
import fcntl, os, pty, re, struct, sys, termios, unicodedata

def columns(text):
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)

def look(width, command):
    pid, fd = pty.fork()
    if pid == 0:
        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, width, 0, 0))
        os.execvp(command[0], command)
    data = b""
    while True:
        try:
            more = os.read(fd, 65536)
        except OSError:
            break
        if not more:
            break
        data += more
    os.waitpid(pid, 0)
    text = re.sub(r"\x1b\[[0-9;]*[mK]", "", data.decode("utf-8"))
    lines = [l for l in re.split(r"[\r\n]+", text) if l]
    wide = [l for l in lines if columns(l) > width]
    closed = [l for l in lines if re.match(r" *[，。；：）、？！]", l)]
    assert re.search("[\u4e00-\u9fff]", text), text
    assert not wide, f"wider than {width}: {wide[0]}"
    assert not closed, f"begins with what closes: {closed[0]}"

for width in (40, 47, 60, 80, 120):
    look(min(width, 80) if width < 80 else width, sys.argv[1:])
PY
for command in "score $tmp/zh" "run $quick --out $tmp/pty"; do
	case $command in run*) widths=1 ;; esac
	rm -rf "$tmp/pty"
	[ "${command%% *}" = run ] && sed -i 's/(40, 47, 60, 80, 120)/(80,)/' "$tmp/look.py"
	LC_ALL=$utf8 TERM=xterm python3 "$tmp/look.py" "$ASSAY" $command --lang zh >"$tmp/look" 2>&1 || fail "$command: $(tail -n 1 "$tmp/look")"
done
printf '%s\n' "$help" | python3 -c 'import sys, unicodedata
for l in sys.stdin.read().split("\n"):
    n = sum(2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in l)
    assert n <= 80, l' || fail "help is wider than 80 columns"
