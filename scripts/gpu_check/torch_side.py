"""The other side of the comparison: torch in a process of its own, which answers one
line of JSON with one line. It stays alive between pairs, since starting it takes longer
than a measurement; memory is given back after each."""
import json
import math
import os
import statistics
import sys

# our name: torch dtype, float32_matmul_precision
FORMATS = {"fp64": ("float64", "highest"), "fp32": ("float32", "highest"), "tf32": ("float32", "high"),
           "fp16": ("float16", "highest"), "bf16": ("bfloat16", "highest"), "fp8": ("float8_e4m3fn", "highest")}
WARM_CALLS = 3


def seconds_per_call(torch, call, window_s, windows):
    """Median over windows of equal work, timed by the card's own events."""
    def timed(calls):
        begin, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        begin.record()
        for _ in range(calls):
            call()
        end.record()
        return begin, end

    def seconds(pair):
        pair[1].synchronize()
        return pair[0].elapsed_time(pair[1]) / 1e3

    timed(WARM_CALLS)
    once = seconds(timed(WARM_CALLS)) / WARM_CALLS
    if not once > 0:
        raise RuntimeError("torch's events show no time")
    calls = max(1, math.ceil(window_s / once))
    pairs = [timed(calls) for _ in range(windows)]
    return statistics.median([seconds(p) for p in pairs]) / calls


def products(torch, name, m, n, k):
    """(layout, call) for each way the operands may lie in memory."""
    dtype, precision = FORMATS[name]
    torch.set_float32_matmul_precision(precision)
    kind = getattr(torch, dtype)
    if name == "fp8":
        a = torch.randn(m, k, device="cuda").to(kind)
        b = torch.randn(n, k, device="cuda").to(kind).t()
        one = torch.ones((), device="cuda")
        yield "tn", lambda: torch._scaled_mm(a, b, scale_a=one, scale_b=one, out_dtype=torch.bfloat16, use_fast_accum=True)
        return
    a = torch.randn(m, k, device="cuda", dtype=kind)
    c = torch.empty(m, n, device="cuda", dtype=kind)
    straight = torch.randn(k, n, device="cuda", dtype=kind)
    yield "nn", lambda: torch.matmul(a, straight, out=c)
    turned = torch.randn(n, k, device="cuda", dtype=kind).t()
    yield "nt", lambda: torch.matmul(a, turned, out=c)


def gemm(torch, request):
    out = []
    for m, n, k in request["shapes"]:
        for layout, call in products(torch, request["format"], m, n, k):
            s = seconds_per_call(torch, call, request["window_s"], request["windows"])
            out.append({"m": m, "n": n, "k": k, "layout": layout, "seconds": s, "tflops": 2.0 * m * n * k / s / 1e12})
    return {"products": out}


def copy(torch, request):
    words = request["bytes"] // 8
    source = torch.randn(words, device="cuda", dtype=torch.float64)
    target = torch.empty(words, device="cuda", dtype=torch.float64)
    s = seconds_per_call(torch, lambda: target.copy_(source), request["window_s"], request["windows"])
    return {"seconds": s, "gbs": 2.0 * 8 * words / s / 1e9}


def hello(torch):
    if not torch.cuda.is_available():
        raise RuntimeError(f"torch {torch.__version__} sees no card")
    return {"torch": str(torch.__version__), "cuda": torch.version.cuda, "card": torch.cuda.get_device_name(0),
            "simulated": hasattr(torch, "assay_standin")}


def serve():
    # Whatever torch prints goes to the error output: the other one is the wire.
    wire = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)
    torch = None
    for line in sys.stdin:
        request = json.loads(line)
        try:
            if torch is None:
                import torch
            answer = {"hello": lambda: hello(torch), "gemm": lambda: gemm(torch, request),
                      "copy": lambda: copy(torch, request)}[request["op"]]()
            torch.cuda.empty_cache()
        except Exception as e:  # torch raises all kinds, and each is an answer
            answer = {"error": f"{type(e).__name__}: {str(e).strip().splitlines()[0] if str(e).strip() else ''}"}
        wire.write(json.dumps(answer) + "\n")
        wire.flush()
