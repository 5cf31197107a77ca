# The smallest real distributed job of Megatron-core: two linear layers split over all
# cards by its tensor parallel layers, against the same product in one place. Needs
# cards: its layers keep their random states on them.
import json
import os
import time


def finish(line):
    print(json.dumps(line, allow_nan=False), flush=True)
    os._exit(1 if line.get("error") else 0)


SPEC = json.loads(os.environ["ASSAY_JOB"])
CUDA = SPEC["device"] == "cuda"
try:
    import torch
    import torch.distributed as dist
    from torch.nn import functional as F
    import megatron.core as core
    from megatron.core import parallel_state, tensor_parallel
    from megatron.core.model_parallel_config import ModelParallelConfig
except Exception as trouble:
    finish({"error": "import", "detail": "%s: %s" % (type(trouble).__name__, trouble)})

WIDTH, LENGTH, BATCH = 1024, 128, 4


def whole(layer, dim, size):
    """The full matrix of a split layer."""
    parts = [torch.empty_like(layer.weight) for _ in range(size)]
    dist.all_gather(parts, layer.weight.detach().contiguous())
    return torch.cat(parts, dim)


def run():
    if not CUDA or not torch.cuda.is_available():
        return {"error": "cards", "detail": "Megatron-core trains on cards only"}
    if SPEC.get("count"):
        finish({"cards": torch.cuda.device_count()})
    device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
    torch.cuda.set_device(device)
    dist.init_process_group("nccl")
    size = dist.get_world_size()
    parallel_state.initialize_model_parallel(tensor_model_parallel_size=size)
    tensor_parallel.model_parallel_cuda_manual_seed(SPEC["seed"])
    config = ModelParallelConfig(tensor_model_parallel_size=size)

    def start(weight):
        torch.nn.init.normal_(weight, std=WIDTH ** -0.5)

    up = tensor_parallel.ColumnParallelLinear(WIDTH, 4 * WIDTH, config=config, init_method=start,
                                              bias=False, gather_output=False).to(device)
    down = tensor_parallel.RowParallelLinear(4 * WIDTH, WIDTH, config=config, init_method=start,
                                             bias=False, input_is_parallel=True,
                                             skip_bias_add=False).to(device)
    torch.manual_seed(SPEC["seed"])
    x = torch.randn(LENGTH, BATCH, WIDTH).to(device)
    y = torch.randn(LENGTH, BATCH, WIDTH).to(device)

    def forward():
        return down(F.gelu(up(x)[0]))[0]

    expected = F.gelu(x @ whole(up, 0, size).t()) @ whole(down, 1, size).t()
    off = float((forward().detach() - expected).abs().max() / expected.abs().max())
    if not off < 1e-3:
        return {"error": "job", "detail": "tensor parallel: off by %.3g" % off}
    optimizer = torch.optim.SGD(list(up.parameters()) + list(down.parameters()), lr=0.1)
    losses, times = [], []
    for _ in range(SPEC["steps"]):
        begin = time.perf_counter()
        optimizer.zero_grad()
        loss = F.mse_loss(forward(), y)
        loss.backward()
        optimizer.step()
        losses.append(float(loss.detach()))
        times.append(time.perf_counter() - begin)
    if not all(v == v and abs(v) < 1e30 for v in losses) or losses[-1] >= losses[0]:
        return {"error": "job", "detail": "the loss does not fall, or is not finite"}
    # Each rank has other parts; what all have is the loss, to the bit.
    seen = [None] * size
    dist.all_gather_object(seen, losses)
    return {"framework": "megatron", "version": core.__version__, "device": "cuda",
            "backend": "nccl", "steps": SPEC["steps"], "params_equal": all(s == losses for s in seen),
            "loss_first": losses[0], "loss_last": losses[-1],
            "step_ms": sorted(times[2:])[(len(times) - 2) // 2] * 1e3}


def main():
    try:
        line = run()
    except Exception as trouble:
        line = {"error": "worker", "detail": "%s: %s" % (type(trouble).__name__, trouble)}
    if int(os.environ["RANK"]) and not line.get("error"):
        os._exit(0)
    finish(line)


main()
