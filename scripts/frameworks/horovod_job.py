# The smallest real distributed job of Horovod, under horovodrun, with the PyTorch it
# was built for: a known sum, a broadcast, steps of the distributed optimiser.
import hashlib
import json
import os
import time


def finish(line):
    print(json.dumps(line, allow_nan=False), flush=True)
    os._exit(1 if line.get("error") else 0)


SPEC = json.loads(os.environ["ASSAY_JOB"])
CUDA = SPEC["device"] == "cuda"
try:
    import horovod
    import horovod.torch as hvd
    import torch
    from torch import nn
    from torch.nn import functional as F
except Exception as trouble:
    finish({"error": "import", "detail": "%s: %s" % (type(trouble).__name__, trouble)})

WIDTH, BATCH = (2048, 64) if CUDA else (32, 8)


def run():
    if CUDA and not torch.cuda.is_available():
        return {"error": "cards", "detail": "torch.cuda.is_available() is False"}
    if SPEC.get("count"):
        finish({"cards": torch.cuda.device_count()})
    hvd.init()
    rank, size, device = hvd.rank(), hvd.size(), torch.device("cpu")
    if CUDA:
        if not hvd.nccl_built():
            return {"error": "cards", "detail": "built without NCCL"}
        device = torch.device("cuda", hvd.local_rank())
        torch.cuda.set_device(device)
    total = float(hvd.allreduce(torch.tensor([float(rank)], device=device), op=hvd.Sum))
    if total != size * (size - 1) / 2:
        return {"error": "job", "detail": "an all-reduce of ranks gave %g" % total}
    torch.manual_seed(SPEC["seed"] + rank)  # unequal, until the broadcast
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.Tanh(), nn.Linear(WIDTH, WIDTH)).to(device)
    hvd.broadcast_parameters(model.state_dict(), root_rank=0)
    optimizer = hvd.DistributedOptimizer(torch.optim.SGD(model.parameters(), lr=0.1),
                                         named_parameters=model.named_parameters())
    x, y = torch.randn(BATCH, WIDTH, device=device), torch.randn(BATCH, WIDTH, device=device)
    losses, times = [], []
    for _ in range(SPEC["steps"]):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = F.mse_loss(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(hvd.allreduce(loss.detach(), op=hvd.Average)))
        times.append(time.perf_counter() - begin)
    if not all(v == v and abs(v) < 1e30 for v in losses) or losses[-1] >= losses[0]:
        return {"error": "job", "detail": "the loss does not fall, or is not finite"}
    h = hashlib.sha256()
    for p in model.parameters():
        h.update(p.detach().cpu().numpy().tobytes())
    marks = hvd.allgather_object(h.hexdigest())
    return {"framework": "horovod", "version": horovod.__version__, "device": SPEC["device"],
            "backend": "nccl" if CUDA else "mpi" if hvd.mpi_enabled() else "gloo", "steps": SPEC["steps"],
            "params_equal": len(set(marks)) == 1, "loss_first": losses[0],
            "loss_last": losses[-1], "rank": rank,
            "step_ms": sorted(times[2:])[(len(times) - 2) // 2] * 1e3}


def main():
    try:
        line = run()
    except Exception as trouble:
        line = {"error": "worker", "detail": "%s: %s" % (type(trouble).__name__, trouble)}
    if line.get("rank") and not line.get("error"):
        hvd.shutdown()
        os._exit(0)
    finish(line)


main()
