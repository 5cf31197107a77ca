#!/usr/bin/env python3
"""The probe beside perftest: judge_turns.py FILE PAIRS. Lines of the file are "who what
value", pair after pair. Prints the median of the ratios with its 95 % interval (by
order statistics, exact); fails where all of the interval is on the wrong side of 1."""
import statistics
import sys
from math import comb

path, wanted = sys.argv[1], int(sys.argv[2])
values = {}
for line in open(path, encoding="utf-8"):
    who, what, value = line.split()
    values.setdefault(what, {}).setdefault(who, []).append(None if value in ("none", "-") else float(value))


def interval(n):
    """Places (from 0) of the narrowest pair of order statistics that has 95 % of the median."""
    k = 0
    while k + 1 <= (n - 1) // 2 and 2 * sum(comb(n, i) for i in range(k + 1)) / 2**n + 2 * comb(n, k + 1) / 2**n <= 0.05:
        k += 1
    return k, n - 1 - k


bad = 0
for what in sorted(values):
    turns = zip(values[what].get("probe", []), values[what].get("perftest", []))
    turns = [(a, b) for a, b in turns if a and b]
    n = len(turns)
    if n < max(1, wanted * 3 // 4):
        print(f"{what}: only {n} pairs of {wanted}")
        bad += 1
        continue
    ours, theirs = zip(*turns)
    ratios = sorted(a / b for a, b in turns)
    low, high = (ratios[i] for i in interval(n))
    slower = high < 1 if what.endswith("_bw") else low > 1
    bad += slower
    unit = "Gb/s" if what.endswith("_bw") else "us"
    print(f"{what:<9} {statistics.median(ratios):.2f} (95 %: {low:.2f} to {high:.2f}; {n} pairs; medians "
          f"{statistics.median(ours):.3g} and {statistics.median(theirs):.3g} {unit}){'  BEHIND' if slower else ''}")
sys.exit(1 if bad or not values else 0)
