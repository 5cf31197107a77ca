"""What must hold of the readings of one `assay probe storage`: holds.py FILE EXPRESSION...

Each expression is Python over outcome(), value(), code(), why() and param() of a
metric, at one depth where there are several. Says what did not hold, and what the
readings were; exits 1 then."""
import json
import re
import sys

with open(sys.argv[1], encoding="utf-8") as f:
    readings = [json.loads(line) for line in f]


def find(metric, depth=None):
    """Its last reading; one that holds for all points stands for that of a depth."""
    found = [r for r in readings if r["metric"] == metric]
    points = (f"depth={depth}", None) if depth else ()
    if points:
        found = [r for r in found if (r.get("params") or {}).get("point") in points]
    return found[-1] if found else {}


def outcome(metric, depth=None):
    return find(metric, depth).get("outcome")


def value(metric, depth=None):
    v = find(metric, depth).get("value")
    return float("nan") if v is None else v


def code(metric, depth=None):
    return (find(metric, depth).get("reason") or {}).get("code")


def why(metric, depth=None):
    return (find(metric, depth).get("reason") or {}).get("text", "")


def param(metric, key, depth=None):
    return (find(metric, depth).get("params") or {}).get(key)


def outcomes(prefix="storage_"):
    return {r["outcome"] for r in readings if r["metric"].startswith(prefix)}


def depths():
    return sorted({r["params"]["depth"] for r in readings
                   if r["metric"] == "storage_read_iops" and r["outcome"] == "measured"})


failed = False
for text in sys.argv[2:]:
    if eval(text):
        continue
    failed = True
    print(f"does not hold: {text}")
    for name in re.findall(r'"(storage_\w+)"', text):
        for r in readings:
            if r["metric"] == name:
                reason = (r.get("reason") or {}).get("text", "")
                print(f'  {name}: {r["outcome"]} {r["value"]} {reason} {json.dumps(r.get("params"))}')
sys.exit(failed)
