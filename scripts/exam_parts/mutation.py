# Every rule of the default profile disabled in turn: the runs of the catalogue are judged
# again without it, and at least one fault must then go unnoticed. A rule that nothing
# needs is not tested, or superfluous; tests/exam/unneeded.json names those that are so on
# purpose, each with the reason.
import concurrent.futures
import json
import os

from exam_parts import drawn
from exam_parts.judging import BLAME, card_places, place, same_place


def profile_without(profile, rule):
    rules = [dict(r) for r in profile.get("rules", [])]
    own = next((r for r in rules if r["id"] == rule), None)
    if own is None:
        rules.append({"id": rule, "when": drawn.NEVER})
    else:
        own["when"] = drawn.NEVER
    return {**profile, "rules": rules}


class Kept:
    """A run of the catalogue as it was left, and what its scorecard says."""

    def __init__(self, exam, name, case):
        self.exam, self.name, self.case = exam, name, case
        self.folder = os.path.join(exam.keep, name)
        self.profile = exam.drawn.read(self.folder + "/profile.json")
        self.nodes = exam.drawn.nodes() if "node" not in case else \
            [exam.node(case, i) for i in range(len(case.get("nodes", [0])))]
        self.cards = card_places(self.nodes)
        self.wanted = {want["rule"] for want in case["expect"]}
        with open(self.folder + "/run/scorecard.json", encoding="utf-8") as f:
            self.card = json.load(f)
        self.speaks = {f["rule"] for f in self.card["findings"] if f["verdict"] in BLAME}

    def scored(self, word, profile):
        path = f"{self.folder}/mutant-{word}.json"
        with open(path, "w", encoding="utf-8") as f:
            json.dump(profile, f)
        card, _ = drawn.score(self.exam.assay, self.case, self.folder + "/run", path, path + ".card")
        os.remove(path)
        os.remove(path + ".card")
        return card

    def places(self, card, rule=None):
        """Where the rules that decide (or the one rule) blame somebody."""
        info = {r["id"]: r for r in card["rule_results"]}
        found = []
        for f in card["findings"]:
            r = info[f["rule"]]
            decides = r["required"] and r["reading"] == "sound" and r["stage"] == self.case.get("stage", "delivery")
            if f["verdict"] in BLAME and (f["rule"] == rule if rule else decides):
                found.append(place(self.cards, len(self.nodes) > 1, f))
        return found

    def about(self, places):
        return [w["subject"] for w in self.case["expect"] if any(same_place(w["subject"], p) for p in places)]

    def unnoticed(self, rule, decides):
        """What is no longer noticed without the rule; "" if all of it still is."""
        card = self.scored(rule, profile_without(self.profile, rule))
        if not decides:
            gone = rule in self.wanted and self.about(self.places(self.card, rule)) and not self.places(card, rule)
            return "what it says is gone" if gone else ""
        if card["verdict_if_measured"] != self.card["verdict_if_measured"]:
            return f"{self.card['verdict_if_measured']} becomes {card['verdict_if_measured']}"
        before, after = self.about(self.places(self.card)), self.about(self.places(card))
        lost = [w for w in before if w not in after]
        return f"{lost[0]} is blamed no more" if lost else ""


def needed_by(kept, rule, decides, first):
    """Where few rules speak it is likeliest that one of them is needed."""
    found = []
    candidates = [k for k in kept if rule in (k.speaks if decides else k.wanted)]
    for k in sorted(candidates, key=lambda k: (rule not in k.wanted, len(k.speaks), k.name)):
        how = k.unnoticed(rule, decides)
        if how:
            found.append((k.name, how))
        if found and first:
            break
    return found


def mutate(exam, planted, jobs, first):
    """Prints which faults need which rule (`first`: one for each is enough); the rules that
    are needed, and what is wrong."""
    excused = exam.drawn.read(os.path.join(exam.drawn.here, "tests/exam/unneeded.json"))
    needed, wrong = {}, []
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        kept = list(pool.map(lambda n: Kept(exam, n, planted[n]), planted))
        work = {}
        for name, r in exam.drawn.rules.items():
            decides = r.get("required", True) and r.get("reading", "sound") == "sound"
            work[name] = pool.submit(needed_by, kept, name, decides, first)
        for name, job in work.items():
            needed[name] = job.result()
    for name, faults in needed.items():
        said = ", ".join(f"{fault} ({how})" for fault, how in faults) or f"nothing: {excused.get(name, 'UNTESTED')}"
        print(f"rule  {name}: {said}")
        if not faults and name not in excused:
            wrong.append(f"{name} is needed by no fault of the catalogue")
        if faults and name in excused:
            wrong.append(f"{name} is needed and has an excuse in tests/exam/unneeded.json")
    wrong += [f"tests/exam/unneeded.json: no rule {n}" for n in excused if n not in exam.drawn.rules]
    tested = sum(1 for faults in needed.values() if faults)
    print(f"without each of {len(needed)} rules in turn: {tested} leave a fault unnoticed, "
          f"{len(needed) - tested} do not", *wrong, sep="\n      ")
    return needed, wrong
