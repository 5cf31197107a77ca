# What a scorecard says against what was planted: found, missed, falsely blamed.
import json

BLAME = ("fail", "warn", "inconclusive", "not_measured", "too_short", "too_few", "stated_only")


def card_places(nodes):
    """Names of cards: their positions, with the node's where there are several."""
    places = {}
    for n, node in enumerate(nodes):
        for i, card in enumerate(node["cards"]):
            places[card["uuid"]] = i if len(nodes) == 1 else f"node{n} card {i}"
            if len(nodes) == 1:
                places[card["pci"]] = i
    return places


def place(cards, several, finding):
    """Where a finding points: a card's number, [a, b] for a link or a pair of nodes, "node", "all"."""
    subject = finding["subject"]
    if subject["kind"] == "card":
        return cards.get(subject.get("id"), cards.get(subject.get("pci"), "all"))
    if subject["kind"] == "link":
        ends = [cards.get(end.get("card")) for end in subject.get("ends", [])]
        return ends if None not in ends and ends else "links"
    if subject["kind"] in ("node", "environment") and several:
        return subject.get("id")
    if subject["kind"] == "pair" and len(subject.get("ends", [])) == 2:
        return [end.get("node") for end in subject["ends"]]
    return subject["kind"]


def same_place(wanted, found):
    if isinstance(wanted, list) and isinstance(found, list):
        return all(w in found for w in wanted if w != "*")
    return wanted in (found, "*")


def matches(want, finding, where):
    if want["rule"] not in (finding["rule"], "*") or not same_place(want["subject"], where):
        return False
    if want.get("verdict", finding["verdict"]) != finding["verdict"]:
        return False
    text = (finding.get("reason") or {}).get("text") or ""
    return want.get("says", "") in text


def describe(finding, where):
    text = (finding.get("reason") or {}).get("text") or f"value {finding['value']}"
    return f"{finding['rule']} of {where}: {finding['verdict']} ({text})"


def judge(case, card, nodes):
    """Lists of what was missed, and of who was blamed falsely."""
    rules = {r["id"]: r for r in card["rule_results"]}
    cards = card_places(nodes)
    findings = [(f, place(cards, len(nodes) > 1, f)) for f in card["findings"]]
    missed, blamed, warned = [], [], []
    for want in case["expect"]:
        if not any(matches(want, f, where) for f, where in findings):
            seen = [describe(f, where) for f, where in findings
                    if f["rule"] == want["rule"] and f["verdict"] != "pass"]
            missed.append(f"no {want['rule']} of {want['subject']}: {want['verdict']}"
                          + (f" that says \"{want['says']}\"" if "says" in want else "")
                          + (f"; there is {'; '.join(seen[:3])}" if seen else ""))
    for want in case.get("blames", []):
        named = [loc["explanations"][0] for loc in card["localised"] if loc["identified"]]
        if not any(all(said.get(k) == v for k, v in want.items()) for said in named):
            missed.append(f"nobody is named as {json.dumps(want)}; there is {json.dumps(named)}")
    if card["verdict_if_measured"] != case["verdict"]:
        missed.append(f"verdict {card['verdict_if_measured']}, not {case['verdict']}")
    if card["overall"] == "ACCEPT":
        blamed.append("ACCEPT of figures that nobody measured")
    culprits = [want["subject"] for want in case["expect"]]
    for f, where in findings:
        rule = rules[f["rule"]]
        if f["verdict"] not in BLAME or not rule["required"] or rule["reading"] != "sound" \
                or rule["stage"] != case.get("stage", "delivery") \
                or any(same_place(c, where) for c in culprits if c != "*"):
            continue
        if any(matches({"verdict": f["verdict"], **a}, f, where) for a in case.get("allow", [])):
            continue
        # The fleet's warns and those of a card at the edge of its band have a rate of
        # their own, by method: counted apart.
        if f["verdict"] == "warn" and (f.get("reason") or {}).get("code") in ("fleet_worse", "near_limit"):
            warned.append((f["reason"]["code"], describe(f, where)))
        else:
            blamed.append(describe(f, where))
    return missed, blamed, warned
