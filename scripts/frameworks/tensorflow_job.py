# The smallest real distributed job of TensorFlow: MultiWorkerMirroredStrategy, a
# worker a process, on made data. The rules are those of torch_job.py: a known sum, a
# loss that falls, variables equal on all workers.
import hashlib
import json
import os
import time


def finish(line):
    print(json.dumps(line, allow_nan=False), flush=True)
    os._exit(1 if line.get("error") else 0)


SPEC = json.loads(os.environ["ASSAY_JOB"])
CUDA = SPEC["device"] == "cuda"
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
if not CUDA:
    os.environ["CUDA_VISIBLE_DEVICES"] = "-1"
elif not SPEC.get("count"):
    cards = os.environ.get("CUDA_VISIBLE_DEVICES")
    local = int(os.environ["LOCAL_RANK"])
    os.environ["CUDA_VISIBLE_DEVICES"] = cards.split(",")[local] if cards else str(local)
try:
    import tensorflow as tf
except Exception as trouble:
    finish({"error": "import", "detail": "%s: %s" % (type(trouble).__name__, trouble)})

WIDTH, BATCH = (2048, 256) if CUDA else (32, 16)


def all_of(context, value, op):
    return float(context.all_reduce(op, tf.constant(value, tf.float64)))


def run():
    cards = tf.config.list_physical_devices("GPU")
    if SPEC.get("count"):
        finish({"cards": len(cards)})
    if CUDA and not cards:
        return {"error": "cards", "detail": "tf.config.list_physical_devices finds no GPU"}
    kind = tf.distribute.experimental.CommunicationImplementation
    strategy = tf.distribute.MultiWorkerMirroredStrategy(
        communication_options=tf.distribute.experimental.CommunicationOptions(
            implementation=kind.NCCL if CUDA else kind.RING))
    size, rank = int(os.environ["WORLD_SIZE"]), int(os.environ["RANK"])
    with strategy.scope():
        tf.random.set_seed(SPEC["seed"])
        w = [tf.Variable(tf.random.stateless_normal((WIDTH, WIDTH), (SPEC["seed"], i))
                         / WIDTH ** 0.5) for i in range(2)]
    x = tf.random.stateless_normal((BATCH, WIDTH), (SPEC["seed"], 10 + rank))
    y = tf.random.stateless_normal((BATCH, WIDTH), (SPEC["seed"], 100 + rank))

    def part():
        replica = tf.distribute.get_replica_context()
        with tf.GradientTape() as tape:
            loss = tf.reduce_mean((tf.tanh(x @ w[0]) @ w[1] - y) ** 2)
        gradients = replica.all_reduce(tf.distribute.ReduceOp.MEAN, tape.gradient(loss, w))
        for v, g in zip(w, gradients):
            v.assign_sub(0.1 * g)
        ranks = replica.all_reduce(tf.distribute.ReduceOp.SUM, tf.constant(float(rank)))
        return replica.all_reduce(tf.distribute.ReduceOp.MEAN, loss), ranks

    @tf.function
    def step():
        return strategy.run(part)

    losses, times, total = [], [], 0.0
    for _ in range(SPEC["steps"]):
        begin = time.perf_counter()
        loss, ranks = step()
        losses.append(float(strategy.experimental_local_results(loss)[0]))
        total = float(strategy.experimental_local_results(ranks)[0])
        times.append(time.perf_counter() - begin)
    if total != size * (size - 1) / 2:
        return {"error": "job", "detail": "an all-reduce of ranks gave %g" % total}
    h = hashlib.sha256()
    for v in w:
        h.update(strategy.experimental_local_results(v)[0].numpy().tobytes())
    mark = float(int.from_bytes(h.digest()[:2], "big"))

    @tf.function
    def marks():
        def part():
            return tf.distribute.get_replica_context().all_reduce(
                tf.distribute.ReduceOp.SUM, tf.constant([mark, mark * mark], tf.float64))
        return strategy.run(part)

    both = strategy.experimental_local_results(marks())[0].numpy()
    finite = all(v == v and abs(v) < 1e30 for v in losses)
    if not finite or losses[-1] >= losses[0]:
        return {"error": "job", "detail": "the loss does not fall, or is not finite"}
    return {"framework": "tensorflow", "version": tf.__version__, "device": SPEC["device"],
            "backend": "nccl" if CUDA else "ring", "steps": SPEC["steps"],
            "params_equal": bool(both[0] == size * mark and both[1] == size * mark * mark),
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
