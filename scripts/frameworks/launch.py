# Starts the smallest distributed job of a framework on this node (or this node's
# part of one over several), waits for it with a limit of time, and says as its last
# line, in JSON, what came of it. Only the standard library: it must work where the
# framework does not. Nothing is written to disk: the job's source lies in memory and
# is gone with this process.
#
#   python3 -c LAUNCH '{"source": …, "workers": 2, "device": "cpu", "seconds": 60, …}'
#
# Of a failure: {"error": KIND, "detail": text}. KIND: import (the framework did not
# load), cards (it loaded and sees no card, or lacks what drives them), launcher (its
# own launcher did not start), worker (a worker ended), time (not done in time),
# silent (no JSON line), job (a check did not hold, or the job says so itself).
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

GRACE_S = 2  # the others of a job that lost a worker
SHOWN = 300  # characters of a worker's last words


class Trouble(Exception):
    def __init__(self, kind, detail):
        super().__init__(detail)
        self.kind, self.detail = kind, detail


def last_line(text):
    lines = [l.strip() for l in text.splitlines() if l.strip()]
    # The last line of a traceback is what went wrong; what loggers add after it is not.
    told = [l for l in lines if l.split(":")[0].endswith(("Error", "Exception"))]
    return (told or lines or [""])[-1][:SHOWN]


def json_line(text):
    # Launchers put the rank before it: "[0]<stdout>:{".
    for line in reversed(text.splitlines()):
        if "{" in line:
            try:
                value = json.loads(line[line.index("{"):])
            except ValueError:
                continue
            if isinstance(value, dict):
                return value
    return None


def in_memory(name, data=b""):
    fd = os.memfd_create(name)
    os.write(fd, data)
    return "/proc/%d/fd/%d" % (os.getpid(), fd)


def free_ports(count):
    held = []
    for _ in range(count):
        s = socket.socket()
        s.bind(("127.0.0.1", 0))
        held.append(s)
    ports = [s.getsockname()[1] for s in held]
    for s in held:
        s.close()
    return ports


class Worker:
    def __init__(self, command, env):
        self.texts = {"out": [], "err": []}
        self.process = subprocess.Popen(command, env=env, stdin=subprocess.DEVNULL,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                        text=True, errors="replace")
        self.threads = [threading.Thread(target=self.read, args=(stream, self.texts[name]),
                                         daemon=True)
                        for name, stream in (("out", self.process.stdout),
                                             ("err", self.process.stderr))]
        for t in self.threads:
            t.start()

    def read(self, stream, kept):
        size = 0
        for line in stream:
            size += len(line)
            if size < 1 << 20:
                kept.append(line)

    def text(self, name):
        for t in self.threads:
            t.join(1)
        return "".join(self.texts[name])

    def kill(self):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


def environment(spec, rank, local, size, address, port, ports):
    env = dict(os.environ)
    for name, value in (spec.get("env") or {}).items():
        if value is None:
            env.pop(name, None)
        else:
            env[name] = value
    env.update({
        "RANK": str(rank), "LOCAL_RANK": str(local), "WORLD_SIZE": str(size),
        "LOCAL_WORLD_SIZE": str(spec["workers"]), "MASTER_ADDR": address,
        "MASTER_PORT": str(port), "OMP_NUM_THREADS": "1", "PYTHONUNBUFFERED": "1",
        "PYTHONDONTWRITEBYTECODE": "1",
        "ASSAY_JOB": json.dumps({k: v for k, v in spec.items() if k not in ("source", "env")}),
    })
    # What the site has chosen stays; else over several nodes the way they met.
    if spec["device"] == "cpu":
        env.setdefault("GLOO_SOCKET_IFNAME", spec.get("interface") or "lo")
    if ports:
        env["TF_CONFIG"] = json.dumps({
            "cluster": {"worker": ["127.0.0.1:%d" % p for p in ports]},
            "task": {"type": "worker", "index": rank}})
    return env


def ended_badly(workers):
    for rank, w in enumerate(workers):
        if w.process.poll() not in (None, 0):
            return rank
    return None


def follow(workers, until):
    """Waits for all; the number of the first that failed, or None."""
    bad, grace = None, None
    while any(w.process.poll() is None for w in workers):
        now = time.monotonic()
        if bad is None:
            bad = ended_badly(workers)
            grace = now + GRACE_S if bad is not None else None
        if grace and now > grace:
            break
        if now > until:
            raise Trouble("time", "")
        time.sleep(0.02)
    return ended_badly(workers) if bad is None else bad


def told_by(workers):
    """A job that cannot go on says why in its own line, and ends with 1."""
    for w in workers:
        line = json_line(w.text("out"))
        if line and line.get("error"):
            return line
    return None


def run_once(spec, path, until):
    count = spec["workers"]
    size, first = spec.get("size", count), spec.get("first", 0)
    address = spec.get("address", "127.0.0.1")
    port = spec.get("port") or free_ports(1)[0]
    ports = free_ports(count) if spec.get("tf_config") else None
    workers = []
    try:
        for i in range(count):
            env = environment(spec, first + i, i, size, address, port, ports)
            workers.append(Worker([sys.executable, path], env))
        bad = follow(workers, until)
        told = told_by(workers)
        if told:
            return told
        if bad is not None:
            w = workers[bad]
            code = w.process.returncode
            how = "signal %d" % -code if code < 0 else "exit %d" % code
            raise Trouble("worker", "worker %d: %s: %s"
                          % (first + bad, how, last_line(w.text("err")) or "no word"))
        line = json_line(workers[0].text("out"))
        if not line and first:
            return {"ended": True}  # the first rank of all speaks, on another node
        if not line:
            raise Trouble("silent", last_line(workers[0].text("out")))
        return line
    finally:
        for w in workers:
            w.kill()


def cards_seen(spec, path, until):
    env = environment(dict(spec, count=True), 0, 0, 1, "127.0.0.1", 0, None)
    w = Worker([sys.executable, path], env)
    try:
        bad = follow([w], until)
        line = json_line(w.text("out"))
        if line and line.get("error"):
            raise Trouble(line["error"], str(line.get("detail", "")))
        if bad is not None or not line:
            raise Trouble("import", last_line(w.text("err")) or "no word")
        return int(line["cards"])
    finally:
        w.kill()


def own_launcher(spec, path):
    """The command of the framework's own launcher, and what it calls itself."""
    if spec["own"] == "torchrun":
        return "torchrun", [sys.executable, "-m", "torch.distributed.run", "--nnodes=1",
                            "--nproc_per_node=%d" % spec["workers"], "--max_restarts=2",
                            "--rdzv_backend=c10d", "--rdzv_endpoint=localhost:0",
                            "--rdzv_id=assay", "--monitor_interval=0.2", path]
    return "horovodrun", [sys.executable, "-m", "horovod.runner.launch", "-np",
                          str(spec["workers"]), sys.executable, path]


def run_own(spec, path, until):
    begun, state = in_memory("begun"), in_memory("state")
    env = environment(spec, 0, 0, spec["workers"], "127.0.0.1", 0, None)
    for name in ("RANK", "LOCAL_RANK", "WORLD_SIZE", "LOCAL_WORLD_SIZE", "MASTER_ADDR",
                 "MASTER_PORT"):
        env.pop(name)
    env["ASSAY_BEGUN"], env["ASSAY_STATE"] = begun, state
    name, command = own_launcher(spec, path)
    w = Worker(command, env)
    try:
        bad = follow([w], until)
        line = json_line(w.text("out"))
        if line:
            return line
        with open(begun) as f:
            started = bool(f.read())
        if bad is not None and not started:
            raise Trouble("launcher", "%s: %s" % (name, last_line(w.text("err"))))
        if bad is not None:
            raise Trouble("worker", last_line(w.text("err")) or "no word")
        raise Trouble("silent", last_line(w.text("out")))
    finally:
        if w.process.poll() is None:
            w.process.send_signal(signal.SIGTERM)  # so that it ends its workers
            try:
                w.process.wait(GRACE_S)
            except subprocess.TimeoutExpired:
                w.kill()


def main():
    spec = json.loads(sys.argv[1])
    until = time.monotonic() + spec["seconds"]
    path = in_memory("job", spec["source"].encode())
    started = time.monotonic()
    try:
        if spec["workers"] == 0:
            spec["workers"] = cards_seen(spec, path, until)
            if spec["workers"] == 0:
                raise Trouble("cards", "it sees no card")
        if spec.get("count_only"):
            line = {"cards": spec["workers"]}
        elif spec.get("own"):
            line = run_own(spec, path, until)
        else:
            line = run_once(spec, path, until)
            # Somebody took the port between its choice and its use.
            if not spec.get("port") and "ddress already in use" in str(line.get("detail", "")):
                line = run_once(spec, path, until)
    except Trouble as t:
        line = {"error": t.kind, "detail": t.detail}
    line["workers"] = spec["workers"]
    line["total_s"] = round(time.monotonic() - started, 3)
    print(json.dumps(line), flush=True)


main()
