# What is missing on a machine is said in words a person can act on, and never
# reads as a figure or a pass.
. "$(dirname "$0")/lib.sh"
mkdir "$tmp/bin" "$tmp/libs" "$tmp/store"

reading() { # FILE METRIC: outcome and reason of its readings
	python3 - "$1" "$2" <<'PY'
import json, sys
for line in open(sys.argv[1]):
    r = json.loads(line)
    if r.get("metric") == sys.argv[2]:
        print(r["outcome"], (r["reason"] or {}).get("code"), (r["reason"] or {}).get("text"))
PY
}

# No fio at all: a PATH without it.
for t in sh env cat; do ln -s "$(command -v $t)" "$tmp/bin/$t"; done
expect 2 env PATH="$tmp/bin" "$ASSAY" run --budget quick --only storage --storage "$tmp/store" --out "$tmp/nofio"
r=$(reading "$tmp/nofio/readings.jsonl" storage_read_iops)
case $r in not_measured*fio*) ;; *) fail "no fio: $r" ;; esac
case $r in *install*) ;; *) fail "no fio: does not say what to do: $r" ;; esac

# Too old.
printf '#!/bin/sh\necho fio-2.1.11\n' >"$tmp/bin/fio"
chmod +x "$tmp/bin/fio"
expect 2 env PATH="$tmp/bin" "$ASSAY" run --budget quick --only storage --storage "$tmp/store" --out "$tmp/oldfio"
r=$(reading "$tmp/oldfio/readings.jsonl" storage_read_iops)
case $r in not_measured*2.1.11*) ;; *) fail "old fio: $r" ;; esac

# Talks nonsense, dies, hangs.
printf '#!/bin/sh\ncase $1 in --version) echo fio-3.33;; *) echo "{ not json"; exit 0;; esac\n' >"$tmp/bin/fio"
expect 2 env PATH="$tmp/bin" "$ASSAY" run --budget quick --only storage --storage-size 16M --storage "$tmp/store" --out "$tmp/badfio"
r=$(reading "$tmp/badfio/readings.jsonl" storage_read_iops)
case $r in measured*) fail "nonsense from fio was measured: $r" ;; '') fail "no reading" ;; esac

# No BLAS: only an empty folder to look in.
expect 2 "$ASSAY" run --budget quick --only gemm --lib-dir "$tmp/libs" --out "$tmp/noblas"
r=$(reading "$tmp/noblas/readings.jsonl" cpu_gemm_fp32_gflops)
case $r in not_measured*) ;; *) fail "no BLAS: $r" ;; esac
r=$(reading "$tmp/noblas/readings.jsonl" gemm_fp16_tflops)
case $r in not_measured*) ;; *) fail "no driver: $r" ;; esac
expect 0 "$ASSAY" list --lib-dir "$tmp/libs"
prints "no:"
no_scratch "$tmp" || fail "scratch left"
