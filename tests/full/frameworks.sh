# The jobs of frameworks that PyPI has for this machine: TensorFlow for CPUs runs, and
# a PyTorch whose torchrun starts (1.12 with Python 3.10; a current one brings several
# GB of CUDA) loses a worker and goes on. DeepSpeed runs on Debian's PyTorch (ZeRO-1, since
# gloo of that age lacks what ZeRO-3 needs), and compiles nothing. Megatron-core is only
# found: it needs cards. Horovod is not tried: PyPI has its sources alone, which are to be
# built against PyTorch's headers. Says what ran and what did not.
. "$(dirname "$0")/../cli/lib.sh"
python3 -m pip --version >/dev/null 2>&1 || skip "python3 has no pip"
fetch() { # fetch PYTHON DIR PACKAGES...
	local python=$1 dir=$2
	shift 2
	"$python" -m pip install -q --no-input --target "$dir" "$@" >"$tmp/pip.log" 2>&1
}
# measure DIR PYTHONPATH PYTHON OPTIONS...
measure() {
	local dir=$1 path=$2 python=$3
	shift 3
	PYTHONPATH=$path "$ASSAY" run --only frameworks --out "$dir" --set "frameworks.python=$python" \
		--set frameworks.job_s=300 "$@" >"$tmp/out" 2>&1
}
# is DIR METRIC WORDS: outcome, value or the reason's text
is() {
	got=$(python3 -c 'import json, sys
for line in open(sys.argv[1] + "/readings.jsonl"):
    r = json.loads(line)
    if r.get("metric") == sys.argv[2]:
        print(r["outcome"], (r["reason"] or {}).get("text", r["value"]))' "$1" "$2")
	case $got in $3) echo "$2: $got" ;; *) fail "$2 is \"$got\", not $3" ;; esac
}

python=$(python3 -c 'import sys; print(sys.executable)')
if fetch "$python" "$tmp/tf" tensorflow-cpu; then
	measure "$tmp/run-tf" "$tmp/tf" "$python"
	is "$tmp/run-tf" cpu_fw_tensorflow_runs "measured 1"
	is "$tmp/run-tf" fw_tensorflow_level "measured runs on CPU"
	is "$tmp/run-tf" fw_tensorflow_runs "not_measured no card here: TensorFlow*proves function only"
else
	echo "TensorFlow cannot be had: $(tail -n 1 "$tmp/pip.log")"
fi

if ! /usr/bin/python3 -c 'import torch, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null; then
	echo "no Debian 12 with python3-torch: DeepSpeed is not tried"
elif fetch "$python" "$tmp/ds" --no-deps --python-version 3.11 --implementation cp --only-binary :all: psutil pydantic pydantic-core annotated-types \
	typing-extensions typing-inspection tqdm packaging einops msgpack nvidia-ml-py ninja py-cpuinfo &&
	fetch "$python" "$tmp/ds" --no-deps --upgrade deepspeed==0.14.5 hjson; then
	before=$(find ~/.cache/torch_extensions 2>/dev/null | wc -l)
	measure "$tmp/run-ds" "$tmp/ds" /usr/bin/python3 --set frameworks.elastic=0
	is "$tmp/run-ds" cpu_fw_deepspeed_runs "measured 1"
	is "$tmp/run-ds" fw_deepspeed_level "measured runs on CPU"
	[ "$before" = "$(find ~/.cache/torch_extensions 2>/dev/null | wc -l)" ] || fail "DeepSpeed compiled into the home"
else
	echo "DeepSpeed cannot be had: $(tail -n 1 "$tmp/pip.log")"
fi

if fetch "$python" "$tmp/found" --no-deps megatron-core; then
	measure "$tmp/run-found" "$tmp/found" "$python"
	is "$tmp/run-found" fw_megatron_level "measured present"
	is "$tmp/run-found" cpu_fw_megatron_runs "failed Megatron-core*does not load*"
else
	echo "Megatron-core cannot be had: $(tail -n 1 "$tmp/pip.log")"
fi

old=""
for p in python3.10 "$HOME"/.pyenv/versions/3.10.*/bin/python3; do
	"$p" -m pip --version >/dev/null 2>&1 && old=$(command -v "$p")
done
if [ -z "$old" ]; then
	echo "no Python 3.10 with pip: no torchrun that starts"
elif fetch "$old" "$tmp/torch" --no-deps torch==1.12.1 typing_extensions 'numpy<2'; then
	measure "$tmp/run-torch" "$tmp/torch" "$old"
	is "$tmp/run-torch" cpu_fw_pytorch_runs "measured 1"
	is "$tmp/run-torch" cpu_fw_parallel_modes "measured 3"
	is "$tmp/run-torch" cpu_fw_elastic_resume_s "measured [0-9]*"
	is "$tmp/run-torch" fw_elastic_resume_s "not_measured no card here*"
else
	echo "PyTorch 1.12 cannot be had: $(tail -n 1 "$tmp/pip.log")"
fi
echo "Horovod: not tried, as it would have to be built"
sleepers=$(live_processes "$tmp")
[ -z "$sleepers" ] || fail "left behind: $sleepers"
