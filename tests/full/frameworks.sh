# The jobs of frameworks that PyPI has for this machine: TensorFlow for CPUs runs, and
# a PyTorch whose torchrun starts (1.12 with Python 3.10; a current one brings several
# GB of CUDA) loses a worker and goes on. DeepSpeed runs on Debian's PyTorch (ZeRO-1, since
# gloo of that age lacks what ZeRO-3 needs), and compiles nothing. Horovod, of which PyPI
# has the sources alone, is built against Debian's PyTorch (6 minutes of a CPU) and runs
# under horovodrun over gloo. Megatron-core is only found: it needs cards. Says at its end
# what ran and what did not, and why.
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
ran="" not=""
runs() { ran="$ran${ran:+, }$1"; }
only() { not="$not${not:+; }$1 ($2)"; }
why() { tail -n 1 "$tmp/pip.log" | cut -c 1-200; }

python=$(python3 -c 'import sys; print(sys.executable)')
if fetch "$python" "$tmp/tf" tensorflow-cpu; then
	measure "$tmp/run-tf" "$tmp/tf" "$python"
	is "$tmp/run-tf" cpu_fw_tensorflow_runs "measured 1"
	is "$tmp/run-tf" fw_tensorflow_level "measured runs on CPU"
	is "$tmp/run-tf" fw_tensorflow_runs "not_measured no card here: TensorFlow*proves function only"
	runs TensorFlow
else
	only TensorFlow "cannot be had: $(why)"
fi

debian=""
/usr/bin/python3 -c 'import torch, sys; sys.exit(sys.version_info[:2] != (3, 11))' 2>/dev/null && debian=1
if [ -z "$debian" ]; then
	only DeepSpeed "no Debian 12 with python3-torch"
elif fetch "$python" "$tmp/ds" --no-deps --python-version 3.11 --implementation cp --only-binary :all: psutil pydantic pydantic-core annotated-types \
	typing-extensions typing-inspection tqdm packaging einops msgpack nvidia-ml-py ninja py-cpuinfo &&
	fetch "$python" "$tmp/ds" --no-deps --upgrade deepspeed==0.14.5 hjson; then
	before=$(find ~/.cache/torch_extensions 2>/dev/null | wc -l)
	measure "$tmp/run-ds" "$tmp/ds" /usr/bin/python3 --set frameworks.elastic=0
	is "$tmp/run-ds" cpu_fw_deepspeed_runs "measured 1"
	is "$tmp/run-ds" fw_deepspeed_level "measured runs on CPU"
	[ "$before" = "$(find ~/.cache/torch_extensions 2>/dev/null | wc -l)" ] || fail "DeepSpeed compiled into the home"
	runs DeepSpeed
else
	only DeepSpeed "cannot be had: $(why)"
fi

# Debian's headers of PyTorch lie in /usr/include; a compiler of today wants <cstdint> said.
horovod() {
	local venv=$1
	/usr/bin/python3 -m venv --system-site-packages "$venv" >"$tmp/pip.log" 2>&1 &&
		"$venv/bin/python" -m pip install -q --no-input packaging setuptools wheel cloudpickle psutil pyyaml >"$tmp/pip.log" 2>&1 &&
		HOROVOD_WITH_PYTORCH=1 HOROVOD_WITHOUT_TENSORFLOW=1 HOROVOD_WITHOUT_MXNET=1 HOROVOD_WITH_GLOO=1 HOROVOD_WITHOUT_MPI=1 \
			MAKEFLAGS=-j2 CXXFLAGS="-include cstdint -g0" nice timeout 1500 "$venv/bin/python" -m pip install -q --no-input \
			--no-build-isolation --no-deps horovod==0.28.1 >"$tmp/pip.log" 2>&1
}
lacks=""
for file in /usr/include/torch/extension.h:libtorch-dev /usr/include/pybind11/pybind11.h:pybind11-dev /usr/bin/cmake:cmake /usr/bin/c++:g++; do
	[ -e "${file%:*}" ] || lacks="$lacks ${file#*:}"
done
if [ -z "$debian" ]; then
	only Horovod "no Debian 12 with python3-torch to build it for"
elif [ -n "$lacks" ]; then
	only Horovod "PyPI has its sources alone, and to build them here lacks:$lacks"
elif horovod "$tmp/hvd"; then
	measure "$tmp/run-hvd" "" "$tmp/hvd/bin/python" --set frameworks.elastic=0
	is "$tmp/run-hvd" cpu_fw_horovod_runs "measured 1"
	is "$tmp/run-hvd" fw_horovod_level "measured runs on CPU"
	is "$tmp/run-hvd" fw_horovod_runs "not_measured no card here: Horovod runs on the CPU over gloo*"
	runs Horovod
else
	only Horovod "did not build: $(why)"
fi

if fetch "$python" "$tmp/found" --no-deps megatron-core; then
	measure "$tmp/run-found" "$tmp/found" "$python"
	is "$tmp/run-found" fw_megatron_level "measured present"
	is "$tmp/run-found" cpu_fw_megatron_runs "failed Megatron-core*does not load*"
	only Megatron-core "found; its job needs cards"
else
	only Megatron-core "cannot be had: $(why)"
fi

old=""
for p in python3.10 "$HOME"/.pyenv/versions/3.10.*/bin/python3; do
	"$p" -m pip --version >/dev/null 2>&1 && old=$(command -v "$p")
done
if [ -z "$old" ]; then
	only "PyTorch with torchrun" "no Python 3.10 with pip"
elif fetch "$old" "$tmp/torch" --no-deps torch==1.12.1 typing_extensions 'numpy<2'; then
	measure "$tmp/run-torch" "$tmp/torch" "$old"
	is "$tmp/run-torch" cpu_fw_pytorch_runs "measured 1"
	is "$tmp/run-torch" cpu_fw_parallel_modes "measured 3"
	is "$tmp/run-torch" cpu_fw_elastic_resume_s "measured [0-9]*"
	is "$tmp/run-torch" fw_elastic_resume_s "not_measured no card here*"
	runs "PyTorch with torchrun"
else
	only "PyTorch with torchrun" "1.12 cannot be had: $(why)"
fi
echo "ran: ${ran:-none}"
echo "did not run: ${not:-none}"
sleepers=$(live_processes "$tmp")
[ -z "$sleepers" ] || fail "left behind: $sleepers"
