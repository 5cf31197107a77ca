#!/usr/bin/env python3
"""Judges what guests/storage_*.sh wrote down: DIR/nfs, DIR/dm and DIR/hang. Prints a
line for each wrong thing; limits are wide, since the machines are emulated."""
import json
import os
import re
import sys

folder = ""
wrong = 0


def check(good, text):
    global wrong
    if not good:
        wrong += 1
        print(f"WRONG: {folder}: {text}")


def text(name):
    try:
        with open(os.path.join(folder, name)) as f:
            return f.read()
    except OSError:
        check(False, f"{name} is missing")
        return ""


def readings(name):
    """(metric, point) -> reading; the last one counts."""
    found = {}
    for line in text(name).splitlines():
        r = json.loads(line)
        if r.get("metric", "").startswith("storage_"):
            found[r["metric"], (r.get("params") or {}).get("point", r.get("point"))] = r
    check(found, f"{name} has no readings of storage")
    return found


def measured(found, metric, point=None):
    r = found.get((metric, point))
    check(r and r["outcome"] == "measured", f"{metric} {point or ''} is not measured: {r and (r['outcome'], r['reason'])}")
    return r["value"] if r and r["outcome"] == "measured" else None


def numbers(name):
    return [int(n) for n in text(name).split()] or [-1, -1]


POINTS = ["depth=1", "depth=2", "depth=8"]


def figures_are_there(found, kind, fs):
    for point in POINTS:
        for metric in ("storage_read_iops", "storage_read_lat_mean_ms", "storage_read_lat_p99_ms"):
            check((measured(found, metric, point) or 0) > 0, f"{metric} {point} is not above 0")
    check(measured(found, "storage_fs") == fs, f"file system is not {fs}")
    check((found.get(("storage_fs", None), {}).get("params") or {}).get("kind") == kind, f"kind is not {kind}")
    check(measured(found, "storage_data_real") == 1, "data is not real")
    check(measured(found, "storage_direct") == "yes", "reads are not direct")
    check((measured(found, "storage_write_mbs") or 0) > 0, "nothing written")
    check((measured(found, "storage_lat_depth1_us") or 0) > 0, "no latency at depth 1")
    ratio = measured(found, "storage_counter_ratio")
    # A card counts what a packet adds, too.
    most = 3 if kind == "remote" else 1.5
    check(ratio and 0.9 <= ratio <= most, f"counters saw {ratio} of the bytes read")


def none_left(name):
    left = text(name).split("\n")[:-1]
    check(not left, f"{name}: left behind: {left}")


def nothing_runs(name):
    left = [line for line in text(name).splitlines() if "assay --" in line or line.split()[1] == "fio"]
    check(not left, f"{name}: still runs: {left}")


def broken(found, outcomes, codes):
    """At least one point says why, and no point that was lost has a figure."""
    bad = [r for (m, p), r in found.items() if m == "storage_read_iops" and r["outcome"] != "measured"]
    check(bad, "all points are measured")
    for r in bad:
        code = (r["reason"] or {}).get("code")
        check(r["outcome"] in outcomes and code in codes, f"point ended as {r['outcome']}, {r['reason']}")
        check(r["value"] is None, "a lost point has a figure")


def ended_in_time(name):
    """Within the deadline, which follows from the seconds that were planned, and
    the time for KILL (12 s), for cleaning (120 s) and for giving up on it (10 s)."""
    code, seconds = numbers(name + ".end")[:2]
    planned = re.search(r"storage \S+ \((\d+) s\)", text(name + ".err"))
    check(planned, f"{name}: no plan on stderr")
    most = 3 * int(planned.group(1)) + 60 + 12 + 120 + 10 + 10 if planned else 0
    check(code in (1, 2), f"{name}: exit code {code}")
    check(seconds <= most, f"{name}: ended after {seconds} s, not {most}")
    print(f"{name}: ended after {seconds} s, at most {most}")


HUNG = ("timed_out", "failed"), ("fio_stuck", "fio_timed_out", "child_stuck", "child_deadline")


def judge_nfs():
    figures_are_there(readings("peace.jsonl"), "remote", "nfs")
    none_left("peace.left")
    broken(readings("cut.jsonl"), *HUNG)
    ended_in_time("cut")
    broken(readings("cut-run/readings.jsonl"), *HUNG)
    ended_in_time("cut-run")
    check("run digest" in text("cut-run.out"), "no scorecard without the server")
    nothing_runs("back.processes")
    none_left("swept.left")


def judge_dm():
    delay = 0.020
    found = readings("slow.jsonl")
    figures_are_there(found, "device", "ext4")
    latency = measured(found, "storage_lat_depth1_us") or 0
    check(latency >= delay * 1e6, f"depth 1 takes {latency} us, less than the delay")
    for point, depth in zip(POINTS, (1, 2, 8)):
        iops = measured(found, "storage_read_iops", point) or 0
        check(0.2 * depth / delay <= iops <= 1.05 * depth / delay, f"{point}: {iops} IOPS, not about {depth / delay}")
    broken(readings("errors.jsonl"), ("failed",), ("fio_io_error", "storage_gone"))
    ended_in_time("errors")
    nothing_runs("errors.processes")
    found = readings("clock-run/readings.jsonl")
    figures_are_there(found, "device", "ext4")
    for point in POINTS:
        seconds = found["storage_read_iops", point]["params"]["runtime_s"]
        check(3.9 <= seconds <= 4.6, f"{point} ran {seconds} s of 4 while the clock was stepped")
    check(numbers("clock.end")[0] in (1, 2) and numbers("clock.end")[1:] == [0], f"clock: exit codes {numbers('clock.end')} of run and verify")
    check("intact" in text("clock.verify"), "the journal does not verify")
    none_left("clock.left")


def judge_hang():
    broken(readings("hang.jsonl"), *HUNG)
    ended_in_time("hang")
    nothing_runs("resumed.processes")


for name, judge in (("nfs", judge_nfs), ("dm", judge_dm), ("hang", judge_hang)):
    folder = os.path.join(sys.argv[1], name)
    judge()
sys.exit(wrong > 0)
