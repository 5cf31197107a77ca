"""Arithmetic of the comparison: paired ratios, their median with an interval that
needs no shape of their distribution, and the table of them."""
import math
import statistics


def interval(ratios):
    """(low, high, coverage) of the median by order statistics: the narrowest that covers
    95 %, or all that was seen, with what that covers, when the pairs are few."""
    n, ordered = len(ratios), sorted(ratios)
    outside, best = 0.0, None
    for k in range((n + 1) // 2):
        outside += 2 * math.comb(n, k) / 2 ** n
        coverage = max(0.0, 1 - outside)
        if best is None or coverage >= 0.95:
            best = (ordered[k], ordered[n - 1 - k], coverage)
    return best


class Comparison:
    """One row: a figure of ours against the same of theirs, larger is better."""

    def __init__(self, name, unit, bar=None, note=""):
        self.name, self.unit, self.bar, self.note = name, unit, bar, note
        self.ours, self.theirs = [], []

    def add(self, ours, theirs):
        self.ours.append(ours)
        self.theirs.append(theirs)

    def as_json(self):
        ratios = [a / b for a, b in zip(self.ours, self.theirs)]
        low, high, coverage = interval(ratios)
        return {"name": self.name, "unit": self.unit, "ours": self.ours, "theirs": self.theirs, "ratios": ratios,
                "median": statistics.median(ratios), "low": low, "high": high, "coverage": round(coverage, 4),
                "pairs": len(ratios), "bar": self.bar, "note": self.note}

    def line(self):
        r = self.as_json()
        bar = "" if self.bar is None else f"  >= {self.bar}: {'yes' if r['median'] >= self.bar else 'NO'}"
        return (f"{self.name:<12} {statistics.median(self.ours):>8.4g} {statistics.median(self.theirs):>8.4g} {self.unit:<8} "
                f"{r['median']:.3f}  {r['low']:.3f} to {r['high']:.3f}{bar}")


def table(rows):
    if not rows:
        return []
    counts = sorted({len(r.ours) for r in rows})
    covered = min(r.as_json()["coverage"] for r in rows)
    lines = [f"{'':<12} {'assay':>8} {'torch':>8} {'':<8} ratio  interval"]
    lines += [row.line() for row in rows]
    lines.append(f"ratio: median of {' to '.join(map(str, counts))} pairs; interval of that median, "
                 f"{'95 %' if covered >= 0.95 else f'{100 * covered:.0f} % or more'}")
    return lines + [f"{r.name}: {r.note}" for r in rows if r.note]
