# The smallest real distributed job of DeepSpeed: ZeRO stages 1 and 3 with a stock
# optimiser, so that nothing is compiled, on made data. Checks as in torch_job.py.
import hashlib
import json
import os
import time


def finish(line):
    print(json.dumps(line, allow_nan=False), flush=True)
    os._exit(1 if line.get("error") else 0)


SPEC = json.loads(os.environ["ASSAY_JOB"])
CUDA = SPEC["device"] == "cuda"
if not CUDA:
    os.environ["DS_ACCELERATOR"] = "cpu"
    # Else it asks numactl, which few images have, how many sockets there are.
    os.environ.setdefault("LOCAL_SIZE", os.environ["LOCAL_WORLD_SIZE"])
try:
    import torch
    import torch.distributed as dist
    if not CUDA and int(torch.__version__.split(".")[0]) < 2:
        # Gloo cannot do them yet: without the names DeepSpeed gathers another way.
        for name in ("all_gather_into_tensor", "_all_gather_base"):
            if hasattr(dist, name):
                delattr(dist, name)
    import deepspeed
    from torch import nn
    from torch.nn import functional as F
except Exception as trouble:
    finish({"error": "import", "detail": "%s: %s" % (type(trouble).__name__, trouble)})

# On CPUs it would compile its sums over shared memory into the user's home: it goes
# without, as no op is needed for a stock optimiser.
if not CUDA:
    ops = getattr(deepspeed.ops, "__compatible_ops__", {})
    for name in ops:
        ops[name] = False

WIDTH, BATCH = (2048, 64) if CUDA else (32, 8)


def reduced(value, op, device, kind=torch.float64):
    t = torch.tensor([value], dtype=kind, device=device)
    dist.all_reduce(t, op=op)
    return t.item()


def train(stage, device):
    rank, size = dist.get_rank(), dist.get_world_size()
    torch.manual_seed(SPEC["seed"])
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)).to(device)
    config = {"train_micro_batch_size_per_gpu": BATCH, "gradient_accumulation_steps": 1,
              "zero_optimization": {"stage": stage}, "zero_allow_untested_optimizer": True}
    if CUDA:
        config["bf16"] = {"enabled": torch.cuda.is_bf16_supported()}
    engine, _, _, _ = deepspeed.initialize(
        model=model, optimizer=torch.optim.Adam(model.parameters(), lr=1e-3), config=config)
    torch.manual_seed(SPEC["seed"] + 1 + rank)
    kind = next(engine.module.parameters()).dtype
    x = torch.randn(BATCH, WIDTH).to(device, kind)
    y = torch.randn(BATCH, WIDTH).to(device, kind)
    losses, times = [], []
    for _ in range(SPEC["steps"]):
        begin = time.perf_counter()
        loss = F.mse_loss(engine(x).float(), y.float())
        engine.backward(loss)
        engine.step()
        losses.append(reduced(float(loss.detach()), dist.ReduceOp.SUM, device) / size)
        times.append(time.perf_counter() - begin)
    if not all(v == v and abs(v) < 1e30 for v in losses) or losses[-1] >= losses[0]:
        raise ArithmeticError("ZeRO-%d: the loss does not fall, or is not finite" % stage)
    h = hashlib.sha256()
    with deepspeed.zero.GatheredParameters(list(engine.module.parameters())):
        for p in engine.module.parameters():
            h.update(p.detach().float().cpu().numpy().tobytes())
    mark = int.from_bytes(h.digest()[:6], "big")
    equal = (reduced(mark, dist.ReduceOp.MIN, device, torch.int64) == mark
             and reduced(mark, dist.ReduceOp.MAX, device, torch.int64) == mark)
    return {"params_equal": equal, "loss_first": losses[0], "loss_last": losses[-1],
            "step_ms": sorted(times[2:])[(len(times) - 2) // 2] * 1e3}


def run():
    if CUDA and not torch.cuda.is_available():
        return {"error": "cards", "detail": "torch.cuda.is_available() is False"}
    if SPEC.get("count"):
        finish({"cards": torch.cuda.device_count()})
    device = torch.device("cpu")
    if CUDA:
        device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
        torch.cuda.set_device(device)
    deepspeed.init_distributed(dist_backend="nccl" if CUDA else "gloo", verbose=False)
    line = {"framework": "deepspeed", "version": deepspeed.__version__,
            "device": SPEC["device"], "backend": "nccl" if CUDA else "gloo",
            "steps": SPEC["steps"], "stages": "1, 3"}
    first = train(1, device)
    try:
        line.update(train(3, device))
        line["params_equal"] = line["params_equal"] and first["params_equal"]
    except RuntimeError as trouble:
        # What ZeRO-3 needs gloo learnt late, and all ranks meet that alike.
        if CUDA or not any(w in str(trouble) for w in ("no support for", "not support")):
            raise
        line.update(first, stages="1")
    return line


def main():
    try:
        line = run()
    except ArithmeticError as wrong:
        line = {"error": "job", "detail": str(wrong)}
    except Exception as trouble:
        line = {"error": "worker", "detail": "%s: %s" % (type(trouble).__name__, trouble)}
    if int(os.environ["RANK"]) and not line.get("error"):
        os._exit(0)
    finish(line)


main()
