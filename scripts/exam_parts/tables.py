# The catalogue in words: every fault as a row, and how many kinds there are by the probe
# that finds them. The second is the table of README; a test compares the two.
GROUPS = (
    ("identity, health and sharing of cards", ("inventory",)),
    ("rates and results of products", ("gemm", "gemm_alone", "gemm_rows")),
    ("memory of cards", ("membw", "memtest")),
    ("time stolen", ("jitter",)),
    ("links and sums inside a node", ("p2p", "collective")),
    ("between nodes", ("collective_nodes", "rdma", "patterns", "net", "group")),
    ("training", ("training",)),
    ("shared storage", ("storage", "storage_all", "checkpoint", "dataset")),
    ("software", ("software", "frameworks", "frameworks_nodes")),
    ("papers, logs, bills", ("papers",)),
    ("others", ()),
)


def where_text(where):
    if isinstance(where, int):
        return f"card {where}"
    if isinstance(where, list):
        return f"cards {where[0]} and {where[1]}" if isinstance(where[0], int) else f"{where[0]} and {where[1]}"
    return where


def catalogue(cases):
    print("| fault | found by | subject | verdict |\n| --- | --- | --- | --- |")
    for case in cases.values():
        if "skip" in case:
            print(f"| {case['title']} | not yet: {case['skip']} | | |")
            continue
        first = case["expect"][0]
        print(f"| {case['title']} | {first['rule']}: {first['verdict']} | {where_text(first['subject'])} "
              f"| {case['verdict']} |")


def group_of(exam, case):
    """By the metric of the rule that is to find it first."""
    probe = exam.drawn.probe_of(exam.drawn.rules[case["expect"][0]["rule"]]["metric"])
    return next((title for title, probes in GROUPS if probe in probes), GROUPS[-1][0])


HEAD = "| what is planted | whole runs on doubles | drawn figures | rules |"


def counts(exam, cases):
    """Kinds of faults, a line each: by what finds them, and how they are planted."""
    rows = {title: {"doubles": 0, "drawn": 0, "rules": set()} for title, _ in GROUPS}
    for case in cases.values():
        if "skip" in case:
            continue
        row = rows[group_of(exam, case)]
        row["drawn" if "node" not in case else "doubles"] += 1
        row["rules"].update(want["rule"] for want in case["expect"])
    lines = [HEAD, "| --- | --- | --- | --- |"]
    for title, row in rows.items():
        if not row["rules"]:
            continue
        lines.append(f"| {title} | {row['doubles']} | {row['drawn']} | {len(row['rules'])} |")
    total = [sum(r[k] for r in rows.values()) for k in ("doubles", "drawn")]
    rules = set().union(*(r["rules"] for r in rows.values()))
    lines.append(f"| all | {total[0]} | {total[1]} | {len(rules)} of {len(exam.drawn.rules)} |")
    return lines


def write_counts(lines, path):
    """In the place of the table that is there."""
    with open(path, encoding="utf-8") as f:
        old = f.read().split("\n")
    first = old.index(HEAD)
    last = next(i for i in range(first, len(old)) if not old[i].startswith("|"))
    with open(path, "w", encoding="utf-8") as f:
        f.write("\n".join(old[:first] + lines + old[last:]))
