#!/usr/bin/env python3
"""The performance bars, as paired ratios: Assay against the bare thing, taking
turns so that a noisy machine disturbs both alike. Prints figures, asserts
nothing but that they could be taken. ASSAY and TREE name program and build."""
import json
import os
import re
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
import curves  # noqa: E402

ASSAY, TREE = os.environ["ASSAY"], os.environ["TREE"]
PAIRS = int(os.environ.get("PAIRS", "5"))
REPEATS = min(3, PAIRS)
perf = os.path.join(TREE, "tests", "perf")
lines = []


def say(name, text):
    lines.append(f"{name:<34} {text}")
    print(lines[-1], flush=True)


def probe(name, *args):
    out = subprocess.run([ASSAY, "probe", name, *args], capture_output=True, text=True)
    readings = [json.loads(line) for line in out.stdout.splitlines()]
    return {r["metric"]: r for r in readings if r["outcome"] == "measured"}, readings


def paired(name, ours, theirs, bar, pairs=PAIRS):
    """Alternates, in changing order; the median of the ratios and their spread."""
    ratios, a_all, b_all = [], [], []
    for i in range(pairs):
        if i % 2:
            b, a = theirs(), ours()
        else:
            a, b = ours(), theirs()
        ratios.append(a / b)
        a_all.append(a)
        b_all.append(b)
    say(name, f"{statistics.median(ratios):.3f} (bar {bar}; {pairs} pairs, {min(ratios):.3f} to {max(ratios):.3f}; "
              f"medians {statistics.median(a_all):.5g} and {statistics.median(b_all):.5g})")


def start_time():
    def run(command):
        t = time.perf_counter()
        subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return time.perf_counter() - t
    for command in (["list"], ["--help"]):
        own, bare = [], []
        for _ in range(4 * PAIRS):
            own.append(run([ASSAY, *command]))
            bare.append(run(["/bin/true"]))
        say(f"assay {command[0]}", f"{statistics.median(own) * 1e3:.1f} ms (bar 20 ms; /bin/true {statistics.median(bare) * 1e3:.1f} ms)")


def dry_run():
    """The plan of far more nodes than anybody rents."""
    times = []
    for _ in range(5):
        t = time.perf_counter()
        subprocess.run([ASSAY, "run", "--dry-run", "--nodes", "10000", "--cards", "8"], check=True, stdout=subprocess.DEVNULL)
        times.append(time.perf_counter() - t)
    say("run --dry-run, 10,000 nodes", f"{min(times):.2f} s (bar 1 s)")


def gemm():
    # The bare loop knows how to set the threads of OpenBLAS only.
    library = ("--set", "blas=openblas")
    first, _ = probe("gemm", "--set", "windows=1", "--set", "warmup_s=0", *library)
    for precision in ("fp32", "fp64"):
        r = first.get(f"cpu_gemm_{precision}_gflops")
        if not r:
            say(f"gemm {precision} / bare BLAS loop", "not taken: no OpenBLAS here")
            continue
        p = r["params"]
        path, n, threads = p["library_path"], p["m"], p["threads"]

        def ours():
            return probe("gemm", "--set", "windows=4", "--set", f"order={n}", *library)[0][f"cpu_gemm_{precision}_gflops"]["value"]

        def bare():
            return float(subprocess.run([os.path.join(perf, "blas_loop"), path, precision, str(n), str(threads), "2"],
                                        capture_output=True, text=True, check=True).stdout)
        paired(f"gemm {precision} / bare BLAS loop", ours, bare, ">= 0.98")


def membw():
    first, _ = probe("membw", "--set", "windows=1")
    r = first.get("cpu_membw_triad_gbs")
    if not r:
        say("membw / plain triad", "not taken")
        return
    size, threads = r["params"]["array_bytes"], r["params"]["threads"]

    def ours():
        return probe("membw", "--set", f"size={size}")[0]["cpu_membw_triad_gbs"]["value"]

    def bare():
        return float(subprocess.run([os.path.join(perf, "triad"), str(size), str(threads), "2"],
                                    capture_output=True, text=True, check=True).stdout)
    paired("membw / plain -O3 triad", ours, bare, "within 3 %")


def fio():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        data = os.path.join(d, "byhand")
        with open(data, "wb") as f:
            for _ in range(256):
                f.write(os.urandom(1 << 20))
            f.flush()
            os.fsync(f.fileno())
        seen = {}

        def ours():
            found, all_ = probe("storage", "--storage", d, "--set", "size=256M", "--set", "depths=16", "--set", "runtime_s=3",
                                "--set", "ramp_s=1", "--set", "hold_s=0", "--set", "pairs=0")
            r = found.get("storage_read_iops")
            if not r:
                raise SystemExit(f"no IOPS: {all_}")
            seen.update(r["params"])
            return r["value"]

        def by_hand():
            if not seen:
                ours()
            jobs = seen["jobs"]
            out = subprocess.run(
                ["fio", "--output-format=json+", "--thread", "--name=r", f"--filename={data}", "--size=256M", "--rw=randread",
                 "--bs=4k", f"--ioengine={seen['engine']}", f"--direct={int(seen['direct'])}", f"--iodepth={16 // jobs}",
                 f"--numjobs={jobs}", "--time_based", "--runtime=3", "--ramp_time=1", "--norandommap", "--randrepeat=0",
                 "--group_reporting", "--clat_percentiles=1", "--lat_percentiles=1",
                 "--percentile_list=50:90:95:99:99.5:99.9:99.99:100"], capture_output=True, text=True, check=True)
            return json.loads(out.stdout)["jobs"][0]["read"]["iops"]
        paired("storage / fio by hand, depth 16", ours, by_hand, ">= 0.99")


def score():
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        run = os.path.join(d, "run")
        subprocess.run([os.path.join(perf, "make_journal"), "1000", "8", "120", run], check=True, stdout=subprocess.DEVNULL)
        size = os.path.getsize(os.path.join(run, "readings.jsonl"))
        times = []
        for _ in range(REPEATS):
            t = time.perf_counter()
            subprocess.run([ASSAY, "score", run], stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - t)
        peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
        say("score + terminal, 1,000 x 8", f"{min(times):.2f} s, {peak:.0f} MiB peak (bars 2 s, 300 MB; journal {size / 1e6:.0f} MB, 120,000 readings)")
        best = 0
        for i in range(3):
            out = subprocess.run([os.path.join(perf, "append_lines"), run, os.path.join(d, f"again{i}")], check=True,
                                 capture_output=True, text=True).stdout
            best = max(best, float(out.split()[2]))
        say("readings of nodes into the journal", f"{best:,.0f} a second (bar 50,000; parsed, chained, on the disk)")
        times = []
        for _ in range(REPEATS):
            t = time.perf_counter()
            subprocess.run([ASSAY, "gate", run, "--baseline", run], stdout=subprocess.DEVNULL)
            times.append(time.perf_counter() - t)
        say("gate of two, 1,000 x 8", f"{min(times):.2f} s (bar 3 s)")


def software():
    """The software probe on an image of 2,000 packages, once it is in the page cache."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        for i in range(2000):
            info = f"{d}/opt/conda/lib/python3.11/site-packages/pkg_{i}-1.{i % 50}.dist-info"
            os.makedirs(info)
            with open(info + "/METADATA", "w") as f:
                f.write(f"Metadata-Version: 2.1\nName: pkg-{i}\nVersion: 1.{i % 50}\n\n" + "y" * 2000)
        times = []
        for _ in range(4):
            t = time.perf_counter()
            out = subprocess.run([ASSAY, "probe", "software", "--sys-root", d], capture_output=True, text=True).stdout
            times.append(time.perf_counter() - t)
        assert '"metric":"sw_packages","unit":"1","value":2000,' in out
        say("software, 2,000 packages, warm", f"{min(times[1:]):.2f} s (bar 2 s)")


def reports():
    """All reports of a large cluster at once, and the map of the pairs of 512 nodes."""
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        for name, size, formats in (("all reports, 1,000 x 8", ("1000", "8", "120"), ("html", "markdown", "csv", "json", "junit")),
                                    ("heat map of 512 nodes", ("512", "0", "5", "512"), ("html",))):
            run = os.path.join(d, "run" + size[0])
            subprocess.run([os.path.join(perf, "make_journal"), *size[:3], run, *size[3:]], check=True, stdout=subprocess.DEVNULL)
            files = [w for f in formats for w in ("--" + f, os.path.join(d, f))]
            times = []
            for _ in range(REPEATS):
                t = time.perf_counter()
                subprocess.run([ASSAY, "report", run, *files], check=True)
                times.append(time.perf_counter() - t)
            peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
            page = os.path.getsize(os.path.join(d, "html")) / 1e6
            bars = "5 s, 500 MB, HTML 10 MB" if len(formats) > 1 else "HTML 2 MB"
            say(name, f"{min(times):.2f} s, {peak:.0f} MiB peak, HTML {page:.2f} MB (bars {bars})")


# --- many nodes, as ranks on this host ------------------------------------------------

# As scripts/cluster/launch has them: a verdict is no reason to end the others in haste.
MPIRUN = {"openmpi": ["mpirun.openmpi", "--oversubscribe", "--bind-to", "none", "--enable-recovery",
                      "--mca", "orte_abort_on_non_zero_status", "0", "-np"],
          "mpich": ["mpirun.mpich", "-disable-auto-cleanup", "-np"]}
# Nothing of it can be measured without cards: what is left is the coordinator.
NO_OP = ["--only", "collective", "--budget", "quick"]


def cluster():
    env = {**os.environ, "OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        runs = []

        def script(name, command):
            path = os.path.join(d, name)
            with open(path, "w") as f:
                f.write(f'#!/bin/sh\nexec {command} "$@"\n')
            os.chmod(path, 0o755)
            return path

        def timed(family, ranks, *command):
            t = time.perf_counter()
            done = subprocess.run([*MPIRUN[family], str(ranks), *command], env={**env, "TMPDIR": d}, capture_output=True,
                                  text=True, stdin=subprocess.DEVNULL, timeout=600)
            return time.perf_counter() - t, done

        # Two starts of 128 ranks on few cores take minutes.
        worlds = [("openmpi", 4, 4 * PAIRS), ("mpich", 4, 4 * PAIRS), ("mpich", 32, PAIRS)]
        if PAIRS > 1:
            worlds += [("openmpi", 128, 2), ("mpich", 128, 2)]
        for i in range(max(ranks for _, ranks, _ in worlds)):  # ranks on one host are refused: each has a kernel of its own
            kernel = os.path.join(d, f"root{i}", "proc/sys/kernel/random")
            os.makedirs(kernel)
            with open(os.path.join(kernel, "boot_id"), "w") as f:
                f.write(f"00000000-0000-4000-8000-{i:012}\n")
        assay = script("assay", f'{ASSAY} run --sys-root {d}/root${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}}')

        def start_to_scorecard(family, ranks):
            runs.append(os.path.join(d, f"run{len(runs)}"))
            seconds, done = timed(family, ranks, assay, "--nodes", str(ranks), "--out", runs[-1], *NO_OP)
            if not os.path.exists(os.path.join(runs[-1], "scorecard.json")):
                raise SystemExit(f"no scorecard of {ranks} ranks: {done.stderr[-500:]}")
            return seconds

        for family, ranks, pairs in worlds:
            program = os.path.join(perf, "mpi_hello_" + family)
            name = f"{ranks} ranks / hello, {family}"
            if not os.path.exists(program) or not shutil.which(MPIRUN[family][0]):
                say(name, "not taken: no such MPI here")
                continue
            hello = script("hello", program)

            def bare():
                seconds, done = timed(family, ranks, hello)
                if f"hello from {ranks} of {ranks}" not in done.stdout:
                    raise SystemExit(f"no hello of {ranks} ranks: {done.stderr[-500:]}")
                return seconds
            # Of few ranks it is a fraction of a second.
            paired(name, lambda: start_to_scorecard(family, ranks), bare, "<= 1.3", pairs)
            if ranks == 4:
                idle(family, timed)


def idle(family, timed):
    _, done = timed(family, 4, os.path.join(TREE, "ring"), "idle", "2")
    shares = [float(w) for w in re.findall(r"idle ([0-9.]+) %", done.stdout)]
    sizes = [float(w) for w in re.findall(r"core, ([0-9.]+) MB", done.stdout)]
    if len(shares) != 4:
        raise SystemExit(f"no figures of idle ranks: {done.stdout}{done.stderr}")
    say(f"an idle rank, {family}", f"{max(shares):.2f} % of a core, {max(sizes):.0f} MB (bars 1 %, 30 MB; the worst of 4)")


# --- the watch -------------------------------------------------------------------------

def watch():
    """Some time at ten times the usual pace with 125 peers."""
    seconds = min(60, 10 * PAIRS)
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        peers = os.path.join(d, "peers")
        with open(peers, "w") as f:
            f.writelines(f"n{i:03}=127.0.0.1:1\n" for i in range(125))
        run = subprocess.Popen([ASSAY, "watch", "--out", os.path.join(d, "w"), "--node", "n", "--period", "1",
                                "--probe-every", "30", "--for", str(seconds), "--peers", peers], stdout=subprocess.DEVNULL)
        _, _, used = os.wait4(run.pid, 0)
        cpu = (used.ru_utime + used.ru_stime) / seconds
        say("watch, a beat a second, 125 peers", f"{cpu:.2%} of a core, {used.ru_maxrss / 1024:.0f} MiB "
            "(bars 1 %, 30 MB, at a beat in 10 s; with its probes)")


# --- the bill --------------------------------------------------------------------------

def bill():
    """Half a million lines of 700 machines by the hour, with our own log of them."""
    columns = ("BilledCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,BillingPeriodStart,BillingPeriodEnd,InvoiceId,"
               "ChargeCategory,ServiceName,SkuId,ChargeDescription,ResourceId,PricingQuantity,PricingUnit")
    month = "2024-11-01T00:00:00Z,2024-12-01T00:00:00Z"
    with tempfile.TemporaryDirectory(dir="/var/tmp") as d:
        names = [os.path.join(d, n) for n in ("q.json", "b.csv", "u.csv")]
        with open(names[0], "w") as f:
            json.dump({"v": 1, "name": "q", "figures": [], "quote": {"currency": "CNY", "tax": "excluded", "items": [
                {"item": "node", "match": ["gn8*"], "per": "hour", "price": "98.40", "gpus": 8}]}}, f)
        with open(names[1], "w") as f:
            f.write(columns + "\n")
            for i in range(500000):
                day, hour = i % 720 // 24 + 1, i % 24
                f.write(f"98.40,CNY,2024-11-{day:02}T{hour:02}:00:00Z,2024-11-{day:02}T{hour:02}:59:59Z,{month},I1,Usage,"
                        f"云服务器,gn8.a100.x,,i-{i // 720},1,Hours\n")
        with open(names[2], "w") as f:
            f.write("resource,start,end\n" + "".join(f"i-{m},{month}\n" for m in range(700)))
        best, most = None, 0
        for _ in range(REPEATS):
            begin = time.monotonic()
            run = subprocess.Popen([ASSAY, "bill", "--quote", names[0], "--bill", names[1], "--usage", names[2],
                                    "--as-of", "2024-12-05"], stdout=subprocess.DEVNULL)
            _, status, used = os.wait4(run.pid, 0)
            seconds = time.monotonic() - begin
            if os.waitstatus_to_exitcode(status) > 2:
                raise SystemExit(f"assay bill: exit {os.waitstatus_to_exitcode(status)}")
            best, most = min(best or seconds, seconds), max(most, used.ru_maxrss)
        say("bill of 500,000 lines, with a log", f"{best:.1f} s, {most / 1024:.0f} MiB (bars 5 s, 500 MB)")


def growth():
    """Curves over 10 to 10,000 nodes; one pair only, as in the suite of every day, takes none."""
    if PAIRS == 1 and "growth" not in sys.argv[1:]:
        return
    lines.append(curves.curves(ASSAY, TREE, curves.SIZES[-1]))
    print(lines[-1], flush=True)


for part in (start_time, dry_run, score, software, reports, watch, bill, cluster, gemm, membw, fio, growth):
    if len(sys.argv) < 2 or part.__name__ in sys.argv[1:]:
        part()
with open(os.path.join(TREE, "perf.txt"), "w") as f:
    f.write("\n".join(lines) + "\n")
