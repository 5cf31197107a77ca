# The smallest real distributed job of plain PyTorch, over env://: an all-reduce whose
# sum is known, data parallel (DDP) on a small transformer, tensor and pipeline
# parallel against the same sum done in one place, a step in each lower precision.
# Seeded, on made data. Every rank checks; the first one's last line is the result.
import datetime
import hashlib
import json
import os
import sys
import time


def finish(line):
    print(json.dumps(line, allow_nan=False), flush=True)
    # Threads of a back end that lost a peer would keep the process.
    sys.stdout.flush()
    os._exit(1 if line.get("error") else 0)


try:
    import torch
    import torch.distributed as dist
    from torch import nn
    from torch.nn import functional as F
except Exception as trouble:
    finish({"error": "import", "detail": "%s: %s" % (type(trouble).__name__, trouble)})

SPEC = json.loads(os.environ["ASSAY_JOB"])
CUDA = SPEC["device"] == "cuda"
# Width, layers, sequence, batch: on a card large enough that a step is no launch
# overhead, on a CPU a second for all.
WIDTH, LAYERS, LENGTH, BATCH = (1024, 4, 512, 8) if CUDA else (32, 2, 16, 4)
RATE = 0.01


class Wrong(Exception):
    """A check that did not hold."""


def wanted(holds, what):
    if not holds:
        raise Wrong(what)


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.qkv, self.out = nn.Linear(WIDTH, 3 * WIDTH), nn.Linear(WIDTH, WIDTH)
        self.up, self.down = nn.Linear(WIDTH, 4 * WIDTH), nn.Linear(4 * WIDTH, WIDTH)

    def forward(self, x):
        q, k, v = self.qkv(self.norm1(x)).chunk(3, dim=-1)
        weights = torch.softmax(q @ k.transpose(-1, -2) / WIDTH ** 0.5, dim=-1)
        x = x + self.out(weights @ v)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self, layers=LAYERS):
        super().__init__()
        self.blocks = nn.Sequential(*[Block() for _ in range(layers)])
        self.head = nn.Linear(WIDTH, WIDTH)

    def forward(self, x):
        return self.head(self.blocks(x))


class Job:
    def __init__(self):
        self.rank, self.size = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
        self.device = torch.device("cpu")
        if CUDA:
            self.device = torch.device("cuda", int(os.environ["LOCAL_RANK"]))
            torch.cuda.set_device(self.device)
        self.backend = "nccl" if CUDA else "gloo"

    def seed(self, more=0):
        torch.manual_seed(SPEC["seed"] + more)

    def data(self, more=0):
        """The same on every run, another on every rank."""
        self.seed(1000 + more)
        x = torch.randn(BATCH, LENGTH, WIDTH)
        return x.to(self.device), torch.randn(BATCH, LENGTH, WIDTH).to(self.device)

    def reduced(self, value, op, kind=None):
        t = torch.tensor([value], dtype=kind or torch.float64, device=self.device)
        dist.all_reduce(t, op=op)
        return t.item()

    def mean(self, value):
        return self.reduced(value, dist.ReduceOp.SUM) / self.size

    def sync(self):
        if CUDA:
            torch.cuda.synchronize()

    def same_everywhere(self, tensors):
        h = hashlib.sha256()
        for t in tensors:
            h.update(t.detach().cpu().contiguous().numpy().tobytes())
        mark = int.from_bytes(h.digest()[:6], "big")
        return (self.reduced(mark, dist.ReduceOp.MIN, torch.int64) == mark
                and self.reduced(mark, dist.ReduceOp.MAX, torch.int64) == mark)

    def close(self, a, b, what):
        scale = float(b.detach().abs().max()) or 1.0
        off = float((a.detach() - b.detach()).abs().max()) / scale
        wanted(off < 1e-3, "%s is off by %.3g of its largest element" % (what, off))

    def falls(self, losses, what):
        wanted(all(x == x and abs(x) < 1e30 for x in losses), "%s: a loss is not finite" % what)
        wanted(losses[-1] < losses[0], "%s: the loss does not fall (%.6g, then %.6g)"
               % (what, losses[0], losses[-1]))

    # --- the parts -----------------------------------------------------------------

    def all_reduce(self):
        got = self.reduced(self.rank, dist.ReduceOp.SUM)
        wanted(got == self.size * (self.size - 1) / 2, "an all-reduce of ranks gave %g" % got)

    def steps(self, model, x, y, count):
        optimizer = torch.optim.SGD(model.parameters(), lr=RATE)
        losses, times = [], []
        for _ in range(count):
            self.sync()
            begin = time.perf_counter()
            optimizer.zero_grad()
            loss = F.mse_loss(model(x), y)
            loss.backward()
            optimizer.step()
            self.sync()
            times.append(time.perf_counter() - begin)
            losses.append(float(loss.detach()))
        return losses, sorted(times[2:])[(count - 2) // 2] * 1e3

    def data_parallel(self):
        self.seed()
        model = Model().to(self.device)
        x, y = self.data(self.rank)
        # Alone, all ranks at once: what a step costs without the others.
        _, alone = self.steps(Model().to(self.device), x, y, SPEC["steps"])
        dist.barrier()
        parallel = nn.parallel.DistributedDataParallel(
            model, device_ids=[self.device.index] if CUDA else None)
        losses, ms = self.steps(parallel, x, y, SPEC["steps"])
        first, last = self.mean(losses[0]), self.mean(losses[-1])
        wanted(all(v == v and abs(v) < 1e30 for v in losses), "data parallel: a loss is not finite")
        self.falls([first, last], "data parallel")
        return {"params_equal": self.same_everywhere(model.parameters()), "loss_first": first,
                "loss_last": last, "step_ms": self.reduced(ms, dist.ReduceOp.MAX),
                "alone_ms": self.mean(alone)}

    def sums(self):
        """Milliseconds of an all-reduce of each size: median of five, slowest rank."""
        told = {}
        for size in SPEC["sums"]:
            t = torch.empty(size // 4, device=self.device)
            times = []
            for _ in range(7):
                t.fill_(1)
                dist.barrier()
                self.sync()
                begin = time.perf_counter()
                dist.all_reduce(t)
                self.sync()
                times.append(time.perf_counter() - begin)
            wanted(float(t[0]) == self.size and float(t[-1]) == self.size,
                   "an all-reduce of %d bytes is wrong" % size)
            told[str(size)] = self.reduced(sorted(times[2:])[2] * 1e3, dist.ReduceOp.MAX)
        return told

    def tensor_parallel(self):
        """Columns of the first matrix and rows of the second, one part a rank."""
        part = 4 * WIDTH // self.size
        self.seed(7)
        up = (torch.randn(part * self.size, WIDTH) / WIDTH ** 0.5).to(self.device)
        down = (torch.randn(WIDTH, part * self.size) / (4 * WIDTH) ** 0.5).to(self.device)
        x, y = self.data(0)
        mine = slice(self.rank * part, (self.rank + 1) * part)
        whole = [up.clone().requires_grad_(), down.clone().requires_grad_()]
        split = [up[mine].clone().requires_grad_(), down[:, mine].clone().requires_grad_()]
        losses = []
        for step in range(4):
            partial = F.gelu(x @ split[0].t()) @ split[1].t()
            total = partial.detach().clone()
            dist.all_reduce(total)
            reference = F.gelu(x @ whole[0].t()) @ whole[1].t()
            self.close(total, reference, "tensor parallel: the sum of the parts")
            loss = F.mse_loss(total.requires_grad_(), y)
            loss.backward()
            # The gradient of a sum is that of each of its parts.
            partial.backward(total.grad)
            F.mse_loss(reference, y).backward()
            self.close(split[0].grad, whole[0].grad[mine], "tensor parallel: a gradient")
            losses.append(float(loss.detach()))
            for t in whole + split:
                with torch.no_grad():
                    t -= 10 * RATE * t.grad
                t.grad = None
        self.falls(losses, "tensor parallel")

    def pipeline_parallel(self):
        """A stage a rank, micro-batches one after another, activations there and
        gradients back; against all stages in one place."""
        stages = []
        for i in range(self.size):
            self.seed(20 + i)
            stages.append(nn.Linear(WIDTH, WIDTH).to(self.device))
        self.seed(20 + self.rank)
        mine = nn.Linear(WIDTH, WIDTH).to(self.device)
        x, y = self.data(0)
        last, losses = self.size - 1, []
        for step in range(4):
            total = 0.0
            for part_x, part_y in zip(x.chunk(2), y.chunk(2)):
                total += self.through(mine, part_x, part_y, last) / 2
            reference = x
            for stage in stages:
                reference = torch.tanh(stage(reference))
            loss = F.mse_loss(reference, y)
            loss.backward()
            self.close(mine.weight.grad / 2, stages[self.rank].weight.grad,
                       "pipeline parallel: a gradient")
            losses.append(self.reduced(total, dist.ReduceOp.SUM))
            wanted(abs(losses[-1] - float(loss)) < 1e-4 * abs(float(loss)),
                   "pipeline parallel: loss %.6g instead of %.6g" % (losses[-1], float(loss)))
            with torch.no_grad():
                for p in mine.parameters():
                    p -= 5 * RATE * p.grad
                for p in [q for s in stages for q in s.parameters()]:
                    p -= 10 * RATE * p.grad
            mine.zero_grad()
            for s in stages:
                s.zero_grad()
        self.falls(losses, "pipeline parallel")

    def through(self, stage, x, y, last):
        if self.rank:
            x = torch.empty_like(x)
            dist.recv(x, self.rank - 1)
            x.requires_grad_()
        out = torch.tanh(stage(x))
        loss = 0.0
        if self.rank < last:
            dist.send(out.detach().contiguous(), self.rank + 1)
            gradient = torch.empty_like(out)
            dist.recv(gradient, self.rank + 1)
            out.backward(gradient)
        else:
            error = F.mse_loss(out, y)
            error.backward()
            loss = float(error.detach())
        if self.rank:
            dist.send(x.grad.contiguous(), self.rank - 1)
        return loss

    def precision(self, kind):
        """One DDP step under autocast; absent where this build or card has none."""
        if kind == "fp8":
            return self.fp8()
        dtype = torch.bfloat16 if kind == "bf16" else torch.float16
        if CUDA and kind == "bf16" and not torch.cuda.is_bf16_supported():
            return "absent"
        self.seed(3)
        model = Model(1).to(self.device)
        x, y = self.data(self.rank)
        try:
            with torch.autocast(self.device.type, dtype=dtype):
                if model(x).dtype != dtype:
                    return "absent"
        except (RuntimeError, ValueError, TypeError):
            return "absent"
        # FP16 gradients underflow: on a card the loss is scaled up, as is the custom.
        scaler = torch.cuda.amp.GradScaler(enabled=CUDA and kind == "fp16")
        parallel = nn.parallel.DistributedDataParallel(
            model, device_ids=[self.device.index] if CUDA else None)
        optimizer = torch.optim.SGD(parallel.parameters(), lr=RATE)
        losses = []
        for _ in range(6):
            optimizer.zero_grad()
            with torch.autocast(self.device.type, dtype=dtype):
                loss = F.mse_loss(parallel(x).float(), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            losses.append(self.mean(float(loss.detach())))
        self.falls(losses, kind)
        wanted(self.same_everywhere(model.parameters()), "%s: ranks differ" % kind)
        return "ok"

    def fp8(self):
        if not (CUDA and hasattr(torch, "float8_e4m3fn") and hasattr(torch, "_scaled_mm")
                and torch.cuda.get_device_capability() >= (8, 9)):
            return "absent"
        self.seed(5)
        a = torch.randn(256, 256, device=self.device)
        b = torch.randn(256, 256, device=self.device)
        one = torch.ones((), device=self.device)
        kind = torch.float8_e4m3fn
        got = torch._scaled_mm(a.to(kind), b.to(kind).t(), scale_a=one, scale_b=one,
                               out_dtype=torch.bfloat16)
        got = got[0] if isinstance(got, tuple) else got
        expected = a.to(kind).float() @ b.to(kind).float().t()
        off = float((got.float() - expected).abs().max() / expected.abs().max())
        wanted(off < 0.02, "fp8: a product is off by %.3g" % off)
        return "ok"

    def run(self):
        line = {"framework": "pytorch", "version": torch.__version__,
                "cuda": torch.version.cuda or "none", "device": SPEC["device"],
                "backend": self.backend, "steps": SPEC["steps"]}
        if CUDA:
            line["nccl"] = ".".join(map(str, torch.cuda.nccl.version()))
        self.all_reduce()
        line.update(self.data_parallel())
        if SPEC.get("sums"):
            line["sums_ms"] = self.sums()
        if not SPEC.get("brief"):
            line["modes"] = {"data": "ok"}
            for name, part in (("tensor", self.tensor_parallel),
                               ("pipeline", self.pipeline_parallel)):
                line["modes"][name] = self.attempt(part) if self.size > 1 else "absent"
            line["precision"] = {k: self.attempt(lambda k=k: self.precision(k))
                                 for k in ("bf16", "fp16", "fp8")}
        return line

    def attempt(self, part):
        """All ranks go on alike: what one finds wrong holds for all."""
        said = "ok"
        try:
            said = part() or "ok"
        except Wrong as wrong:
            said = "wrong: %s" % wrong
        words = [None] * self.size
        dist.all_gather_object(words, said)
        bad = [w for w in words if w.startswith("wrong")]
        return bad[0] if bad else "absent" if "absent" in words else "ok"


def main():
    if CUDA:
        if not torch.cuda.is_available():
            finish({"error": "cards", "detail": "torch.cuda.is_available() is False; built for "
                    "CUDA %s" % (torch.version.cuda or "none")})
        if not dist.is_nccl_available():
            finish({"error": "cards", "detail": "built without NCCL"})
    if not dist.is_available() or (not CUDA and not getattr(dist, "is_gloo_available",
                                                            lambda: True)()):
        finish({"error": "job", "detail": "built without torch.distributed or gloo"})
    if SPEC.get("count"):
        finish({"cards": torch.cuda.device_count()})
    torch.set_num_threads(1)
    line = {}
    try:
        job = Job()
        dist.init_process_group(job.backend, init_method="env://",
                                timeout=datetime.timedelta(seconds=SPEC["seconds"]))
        line = job.run()
        dist.barrier()
        dist.destroy_process_group()
    except Wrong as wrong:
        line = {"error": "job", "detail": str(wrong), "version": torch.__version__}
    except Exception as trouble:
        line = {"error": "worker", "detail": "%s: %s" % (type(trouble).__name__, trouble)}
    line["rank"] = int(os.environ["RANK"])
    if line["rank"] and not line.get("error"):
        os._exit(0)
    finish(line)


main()
