"""The double of torch: only what scripts/gpu-check calls, on a virtual clock. Rates are
those of the JSON in ASSAY_STANDIN_TORCH: TFLOP/s by precision, `copy_gbs`, `square` and
`turned` (factors for m = n = k and for a second operand that is turned), `fails`
(precisions that raise), `hangs` and `dies` (names of operations)."""
import json
import os
import time

assay_standin = True
__version__ = "0.0 stand-in"
_node = json.loads(os.environ["ASSAY_STANDIN_TORCH"])
_now = [1.0]
_precision = ["highest"]


class version:
    cuda = "13.0"


class _Type:
    def __init__(self, name, size):
        self.name, self.size = name, size


float64, float32, float16 = _Type("fp64", 8), _Type("fp32", 4), _Type("fp16", 2)
bfloat16, float8_e4m3fn = _Type("bf16", 2), _Type("fp8", 1)


class _Tensor:
    def __init__(self, shape, dtype, turned=False):
        self.shape, self.dtype, self.turned = tuple(shape), dtype, turned

    def to(self, dtype):
        return _Tensor(self.shape, dtype, self.turned)

    def t(self):
        return _Tensor(self.shape[::-1], self.dtype, not self.turned)

    def copy_(self, other):
        assert self.shape == other.shape and self.dtype is other.dtype
        _occasion("copy")
        _now[0] += 2 * self.shape[0] * self.dtype.size / (_node["copy_gbs"] * 1e9)
        return self


def _make(*shape, device, dtype=float32):
    assert device == "cuda"
    return _Tensor(shape, dtype)


randn = empty = _make


def ones(shape, device):
    return _make(*shape, device=device)


def set_float32_matmul_precision(word):
    assert word in ("highest", "high")
    _precision[0] = word


def _occasion(name):
    if name in _node.get("fails", []):
        raise RuntimeError(f"{name} is not supported on this card\nand more lines")
    if name in _node.get("hangs", []):
        time.sleep(3600)
    if name in _node.get("dies", []):
        os._exit(41)


def _multiply(a, b):
    (m, k), (k2, n) = a.shape, b.shape
    assert k == k2 and a.dtype is b.dtype
    name = "tf32" if a.dtype is float32 and _precision[0] == "high" else a.dtype.name
    _occasion(name)
    rate = _node[name] * (_node.get("square", 1) if m == n == k else 1)
    if b.turned and name != "fp8":
        rate *= _node.get("turned", 1)
    _now[0] += 2.0 * m * n * k / (rate * 1e12)
    return m, n


def matmul(a, b, out):
    assert _multiply(a, b) == out.shape
    return out


def _scaled_mm(a, b, scale_a, scale_b, out_dtype, use_fast_accum):
    assert b.turned and out_dtype is bfloat16 and use_fast_accum
    return _Tensor(_multiply(a, b), out_dtype)


class _Event:
    def __init__(self, enable_timing):
        assert enable_timing

    def record(self):
        self.at = _now[0]

    def synchronize(self):
        pass

    def elapsed_time(self, later):
        return (later.at - self.at) * 1e3


class cuda:
    Event = _Event

    @staticmethod
    def is_available():
        return not _node.get("no_card")

    @staticmethod
    def get_device_name(index):
        return f"card {index} of CUDA_VISIBLE_DEVICES={os.environ['CUDA_VISIBLE_DEVICES']}"

    @staticmethod
    def empty_cache():
        pass
