# Training that survives the loss of a worker, under torchrun: the last worker ends
# itself by SIGKILL at a step, torchrun brings all back, they go on from the state
# that was saved, not from the beginning. The state lies in the launcher's memory.
import json
import os
import signal
import time

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F

KILL_AT, STEPS = 5, 12
SPEC = json.loads(os.environ["ASSAY_JOB"])
CUDA = SPEC["device"] == "cuda"


def saved():
    state = os.environ["ASSAY_STATE"]
    return torch.load(state) if os.path.getsize(state) else None


def save(step, model, times):
    torch.save({"step": step, "model": model.state_dict(), **times}, os.environ["ASSAY_STATE"])


def main():
    with open(os.environ["ASSAY_BEGUN"], "a") as f:
        f.write("begun\n")
    if CUDA:
        torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    dist.init_process_group("nccl" if CUDA else "gloo")
    rank, size = dist.get_rank(), dist.get_world_size()
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"])) if CUDA else torch.device("cpu")
    torch.manual_seed(SPEC["seed"])
    model = nn.Linear(16, 16).to(device)
    x, y = torch.randn(64, 16).to(device), torch.randn(64, 16).to(device)
    parallel = nn.parallel.DistributedDataParallel(
        model, device_ids=[device.index] if CUDA else None)
    optimizer = torch.optim.SGD(parallel.parameters(), lr=0.1)
    state, first, resumed = saved(), 0, None
    if state:
        model.load_state_dict(state["model"])
        first = state["step"] + 1
    losses = []
    for step in range(first, STEPS):
        optimizer.zero_grad()
        loss = F.mse_loss(parallel(x), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        if state and resumed is None:
            resumed = time.time() - state["killed"]
        if not state and step == KILL_AT:
            dist.barrier()
            # The step is done everywhere: what is lost is a worker, and no work.
            if rank == 0:
                save(step, model, {"killed": time.time(), "loss": losses[0]})
            dist.barrier()
            if rank == size - 1:
                os.kill(os.getpid(), signal.SIGKILL)
    dist.barrier()
    if rank == 0:
        print(json.dumps({"resume_s": resumed, "resumed_at": first, "steps": STEPS,
                          "loss_first": state["loss"] if state else losses[0],
                          "loss_last": losses[-1], "version": torch.__version__}), flush=True)


main()
