#!/usr/bin/env python3
"""How coordinator, scoring and reports grow with the cluster: 10 to 10,000 nodes of
eight cards. Prints a table, and for each column the power of the number of nodes by
which it grows over the last decade: 1 is linear. ASSAY and TREE name program and build.

    tests/perf/curves.py [--most NODES] [--table FILE]
"""
import argparse
import math
import os
import shutil
import subprocess
import sys
import tempfile

CARDS, READINGS = 8, 120
SIZES = (10, 100, 1000, 10000)
REPORTS = ("html", "json", "csv", "markdown", "junit")


def measured(command):
    """Seconds of the clock, MiB at most, standard output."""
    out = tempfile.TemporaryFile()
    child = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.DEVNULL)
    start = os.times().elapsed
    _, status, used = os.wait4(child.pid, 0)
    seconds = os.times().elapsed - start
    child.returncode = os.waitstatus_to_exitcode(status)
    if child.returncode not in (0, 1, 2):
        raise SystemExit(f"exit code {child.returncode}: {' '.join(command)}")
    out.seek(0)
    # What it used of processors, since a busy machine only makes it wait.
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read().decode(), seconds


def one_size(assay, perf, nodes, folder):
    run, row = os.path.join(folder, "run"), {}
    subprocess.run([os.path.join(perf, "make_journal"), str(nodes), str(CARDS), str(READINGS), run], check=True,
                   stdout=subprocess.DEVNULL)
    row["journal"] = os.path.getsize(os.path.join(run, "readings.jsonl")) / 1e6
    row["score"], row["score MiB"], _, _ = measured([assay, "score", run])
    row["gate"], _, _, _ = measured([assay, "gate", run, "--baseline", run])
    for form in REPORTS:
        row[form], mib, _, _ = measured([assay, "report", run, "--" + form, os.path.join(folder, "report")])
        row["report MiB"] = max(mib, row.get("report MiB", 0))
    shutil.rmtree(run)
    _, _, said, _ = measured([os.path.join(perf, "lead"), str(nodes), str(CARDS), run])
    _, _, row["lead"], row["lead MiB"], readings = map(float, said.split())
    row["lead readings"] = readings
    shutil.rmtree(run)
    return row


def power(rows, column):
    """Of the last step, where the figure is large enough to tell."""
    sizes = sorted(rows)
    a, b = rows[sizes[-2]][column], rows[sizes[-1]][column]
    return math.log(b / a) / math.log(sizes[-1] / sizes[-2]) if a > 0.02 else math.nan


def table(rows):
    columns = ("lead", "lead MiB", "score", "score MiB", *REPORTS, "report MiB", "gate")
    titles = {"lead": "lead s", "score": "score s", "gate": "gate s", **{r: r + " s" for r in REPORTS}}
    lines = ["| nodes | " + " | ".join(titles.get(c, c) for c in columns) + " |", "|" + " --- |" * (len(columns) + 1)]
    for nodes, row in rows.items():
        lines.append(f"| {nodes:,} | " + " | ".join(f"{row[c]:.0f}" if "MiB" in c else f"{row[c]:.2f}" for c in columns) + " |")
    if len(rows) > 1:
        powers = (power(rows, c) for c in columns)
        lines.append("| power | " + " | ".join("" if math.isnan(p) else f"{p:.2f}" for p in powers) + " |")
    return "\n".join(lines)


def curves(assay, tree, most):
    rows, perf = {}, os.path.join(tree, "tests", "perf")
    for nodes in (n for n in SIZES if n <= most):
        with tempfile.TemporaryDirectory(dir="/var/tmp") as folder:
            rows[nodes] = one_size(assay, perf, nodes, folder)
    return table(rows)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--most", type=int, default=SIZES[-1])
    p.add_argument("--table")
    o = p.parse_args()
    text = curves(os.environ["ASSAY"], os.environ["TREE"], o.most)
    print(text)
    if o.table:
        with open(o.table, "w", encoding="utf-8") as f:
            f.write(text + "\n")


if __name__ == "__main__":
    sys.exit(main())
