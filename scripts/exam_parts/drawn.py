# Clusters whose figures are drawn instead of measured: a journal as a run leaves it, made
# by tests/exam/make_run from tests/exam/healthy.json and judged by assay score. For faults
# that no double of a library can play - shared storage, software, papers - and for a
# thousand clean clusters.
import json
import os
import random
import re
import subprocess

BASE = "thousand-card"
# More nodes than there are: the rule holds for nobody.
NEVER = {"nodes_min": 1000000}
# Of a planted fault: steady, so that nothing but the fault is to be seen.
QUIET = {"card": 0.003, "window": 0.001, "rho": 0.5}


class Drawn:
    def __init__(self, here, build, read_json, noise):
        self.here = here
        self.read = read_json
        self.noise = noise
        self.assay = os.path.join(build, "assay")
        self.tool = os.path.join(build, "tests", "exam", "make_run")
        self.probes = None
        self.healthy = read_json(os.path.join(here, "tests/exam/healthy.json"))
        self.rules = {r["id"]: r for r in self.profile_file(BASE)["rules"]}

    def profile_file(self, name):
        return self.read(os.path.join(self.here, "configs/profiles", name + ".json"))

    def probe_of(self, metric):
        """The probe whose table has the metric, by `assay list`; papers where none has."""
        if self.probes is None:
            self.probes = {}
            with open(os.path.join(self.here, "bench/probes.def"), encoding="utf-8") as f:
                names = re.findall(r"^PROBE\((\w+)\)", f.read(), re.M)
            for name in names:
                said = subprocess.run([self.assay, "list", name, "--lang", "en"], capture_output=True, text=True,
                                      check=True, env={**os.environ, "LC_ALL": "C.UTF-8"}).stdout
                rows = said.split("\nMetrics", 1)[-1].split("\n\n", 1)[0]
                self.probes.update({m: name for m in re.findall(r"^  (\w+) ", rows, re.M)})
        return self.probes.get(metric, "papers")

    def without_figure(self):
        """Rules about metrics that no healthy cluster of ours has yet: judged by nobody here."""
        return sorted(i for i, r in self.rules.items() if r["metric"] not in self.healthy["healthy"])

    def profile(self, case):
        off = [{"id": i, "when": NEVER} for i in self.without_figure()]
        return {"v": 1, "name": "exam", "extends": case.get("profile", self.healthy["profile"]), "rules": off}

    def description(self, case):
        card = case.get("profile", self.healthy["profile"])
        base = {k: v for k, v in self.healthy.items() if k != "others"}
        return {**base, "profile": card, "seed": case.get("seed", 1), "noise": case.get("noise", QUIET),
                "change": case["change"], "healthy": {**base["healthy"], **self.healthy["others"].get(card, {})}}

    def clean(self, which, seed):
        """Another strength and length of memory of the noise for each, by configs/noise."""
        draw = random.Random(f"{seed}/drawn-{which}")
        within = self.noise["within"]["gemm_fp16_tflops"]
        return {"title": f"drawn cluster {which}", "change": [], "expect": [], "verdict": "ACCEPT",
                "seed": draw.randrange(1, 1 << 30),
                "noise": {"card": self.noise["between"]["gemm_fp16_tflops"]["sd"],
                          "window": draw.uniform(0, within["sigma_max"]), "rho": draw.uniform(*within["rho"])}}

    def nodes(self):
        """As card_places of scripts/exam wants them; named as make_run does."""
        return [{"cards": [{"uuid": f"GPU-{n:04x}{c:04x}-0000-4000-8000-{c:012x}",
                            "pci": f"0000:{0x17 + 0x13 * c % 0xe0:02x}:00.0"} for c in range(self.healthy["cards"])]}
                for n in range(self.healthy["nodes"])]

    def make(self, case, folder):
        """The run below `folder`; raises CalledProcessError when the description is wrong."""
        for name, value in (("description", self.description(case)), ("profile", self.profile(case))):
            with open(f"{folder}/{name}.json", "w", encoding="utf-8") as f:
                json.dump(value, f)
        subprocess.run([self.tool, f"{folder}/description.json", f"{folder}/run"], check=True, capture_output=True)


def score(assay, case, run, profile, to):
    """Judges a run by a profile; the scorecard and the exit code."""
    done = subprocess.run([assay, "score", run, "--profile", profile, "--stage", case.get("stage", "delivery"),
                           "--json", to, "--lang", "en"], capture_output=True, text=True, stdin=subprocess.DEVNULL)
    if done.returncode not in (0, 1, 2):
        raise subprocess.CalledProcessError(done.returncode, "assay score", stderr=done.stderr.encode())
    with open(to, encoding="utf-8") as f:
        return json.load(f), done.returncode
