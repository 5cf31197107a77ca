"""Steps with a time limit each: what one does wrong is kept and said, and the next one
starts. Programs run in a process group of their own, so that nothing stays behind."""
import json
import os
import select
import signal
import subprocess
import time

GRACE_S = 10  # for Assay to end by itself once told to: it closes its journal


class Failed(Exception):
    """Why a step failed, in words."""


class Gone(Failed):
    """The child does not answer any more, or answers what it was asked before."""


class Clock:
    """What is left of the whole, and of the step that runs."""

    def __init__(self, total_s):
        self.end = self.step_end = time.monotonic() + total_s

    def begin(self, limit_s):
        self.step_end = min(self.end, time.monotonic() + limit_s)

    def left(self):
        return self.step_end - time.monotonic()


class Steps:
    def __init__(self, clock, limits, say):
        self.clock, self.limits, self.say = clock, limits, say
        self.done = []

    def run(self, name, work):
        """The result of work(), or None: then the step has failed."""
        begun = time.monotonic()
        result, reason = None, None
        self.clock.begin(self.limits[name])
        if self.clock.left() < 1:
            reason = "not run: the time of the whole is used up"
        else:
            try:
                result = work()
            except Failed as e:
                reason = str(e)
            except Exception as e:  # a mistake of ours in one step is no reason to lose the others
                reason = f"{type(e).__name__}: {e}"
        seconds = time.monotonic() - begun
        self.done.append({"step": name, "ok": reason is None, "reason": reason, "seconds": round(seconds, 1),
                          "limit_s": self.limits[name]})
        self.say(f"{'ok' if reason is None else 'FAILED':<7}{seconds:>6.0f} s  {name}" + (f": {reason}" if reason else ""))
        return result

    def failed(self):
        return [s["step"] for s in self.done if not s["ok"]]


def stop(process):
    """TERM, and KILL for the whole group after a while."""
    for sig, wait in ((signal.SIGTERM, GRACE_S), (signal.SIGKILL, None)):
        try:
            os.killpg(process.pid, sig)
        except ProcessLookupError:
            pass
        try:
            process.wait(wait)
            return
        except subprocess.TimeoutExpired:
            pass


def run_program(command, log, clock, env=None):
    """The exit code; both streams go to `log`. Failed when the time is over."""
    with open(log, "wb") as out:
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
                                   start_new_session=True, env=env)
        try:
            return process.wait(max(0.1, clock.left()))
        except subprocess.TimeoutExpired:
            raise Failed("did not end within its time limit and was stopped") from None
        finally:
            if process.poll() is None:
                stop(process)


class Talk:
    """A child that answers a line of JSON with a line of JSON."""

    def __init__(self, command, log, env):
        self.log = open(log, "wb")
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self.log,
                                        start_new_session=True, env=env)
        self.pending = b""

    def ask(self, request, clock):
        try:
            self.process.stdin.write(json.dumps(request).encode() + b"\n")
            self.process.stdin.flush()
        except BrokenPipeError:
            raise Gone(f"the child ended with exit code {self.process.wait()}") from None
        while b"\n" not in self.pending:
            ready, _, _ = select.select([self.process.stdout], [], [], max(0, clock.left()))
            if not ready:
                raise Gone(f"no answer to {request['op']} within the time limit")
            chunk = os.read(self.process.stdout.fileno(), 1 << 16)
            if not chunk:
                raise Gone(f"the child ended with exit code {self.process.wait()}")
            self.pending += chunk
        line, self.pending = self.pending.split(b"\n", 1)
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer

    def close(self, at_once=False):
        self.process.stdin.close()
        try:
            self.process.wait(0 if at_once else 1)
        except subprocess.TimeoutExpired:
            stop(self.process)
        self.log.close()
