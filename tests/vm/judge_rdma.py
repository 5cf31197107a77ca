#!/usr/bin/env python3
"""Judges what the RDMA guests wrote down: judge_rdma.py FOLDER NAME..."""
import json
import sys

MEASURED = ("rdma_nic_write_gbps", "rdma_nic_read_gbps", "rdma_nic_send_gbps", "rdma_write_latency_us",
            "rdma_read_latency_us", "rdma_send_latency_us", "rdma_nic_one_qp_gbps", "rdma_write_gbps",
            "rdma_expected_gbps", "rdma_error_rises", "rdma_ends_agree")
folder, wanted = sys.argv[1], sys.argv[2:]
bad = []


class Readings:
    def __init__(self, name):
        self.name, self.rows = name, []
        with open(f"{folder}/{name}", encoding="utf-8") as f:
            for line in f:
                metric, subject, outcome, value, code, text, params = line.rstrip("\n").split("\t")
                self.rows.append((metric, subject, outcome, None if value == "-" else float(value), code, text, json.loads(params)))
        if not self.rows:
            self.fails("nothing was said")

    def fails(self, why):
        bad.append(f"{self.name}: {why}")

    def of(self, metric, subject=None):
        return [r for r in self.rows if r[0] == metric and subject in (None, r[1])]

    def measured(self, *metrics):
        for metric in metrics:
            for r in self.of(metric) or [(metric, "?", "missing", None, "-", "no reading", {})]:
                if r[2] != "measured" or r[3] is None or r[3] < 0:
                    self.fails(f"{metric} of {r[1]}: {r[2]} {r[3]} {r[5]}")

    def expects(self, metric, outcome, codes, says=()):
        """One reading of the metric at least with this outcome, one of the codes, and these words."""
        rows = self.of(metric)
        if not any(r[2] == outcome and r[4] in codes and all(w in r[5] for w in says) for r in rows):
            self.fails(f"{metric}: wanted {outcome} {codes} {says}, got {[r[2:6] for r in rows]}")


def whole(r):
    r.measured(*MEASURED)
    if not all(x[6]["from"]["software"] for x in r.of("rdma_nic_write_gbps")):
        r.fails("a software device was not labelled")


def patterns(r):
    """One permutation, two halves, four turns of three to one: everything is there."""
    r.measured("rdma_incast_share", "rdma_incast_fairness", "rdma_bisection_share", "rdma_permutation_share",
               "rdma_permutation_worst", "rdma_flow_gbps")
    flows, nodes = len(r.of("rdma_flow_gbps")), {x[1] for x in r.of("rdma_incast_share")}
    if flows != 20 or nodes != {"n001", "n002", "n003", "n004"}:
        r.fails(f"{flows} flows of 20, receivers {sorted(nodes)}")


THERE, BACK = "node0|node1|rxe0", "node1|node0|rxe0"


def rate(r, subject):
    return max([x[3] or 0 for x in r.of("rdma_nic_write_gbps", subject)] or [0])


def clean(r):
    whole(r)


def type_(r):
    for metric in ("rdma_ends_agree", "rdma_write_gbps", "rdma_send_latency_us"):
        r.expects(metric, "failed", ("rdma_differ_type",), ("node0 rxe0", "RoCE v2", "node1 rxe0", "RoCE v1"))


def family(r):
    for metric in ("rdma_ends_agree", "rdma_write_gbps", "rdma_send_latency_us"):
        r.expects(metric, "failed", ("rdma_differ_family",), ("node0 rxe0", "IPv4", "node1 rxe0", "link-local"))


def mtu(r):
    r.expects("rdma_ends_agree", "failed", ("rdma_differ_mtu",), ("node0 rxe0 has an MTU of 1024", "node1 rxe0 of 512"))
    r.measured("rdma_write_gbps", "rdma_expected_gbps")
    if any(x[6]["mtu"] != 512 for x in r.of("rdma_write_gbps")):
        r.fails("not the smaller MTU")


def loss(r):
    """A fabric that loses packets: errors rise, whether or not it still carries something."""
    if r.of("rdma_write_gbps")[0][2] == "failed":
        r.expects("rdma_write_gbps", "failed", ("verbs_retries",), ("node0", "node1"))
    errors = r.of("rdma_error_rises")[0]
    names = set(errors[6].get("from_rises", {})) | set(errors[6].get("to_rises", {}))
    if not errors[3] or not names & {"out_of_seq_request", "rcvd_seq_err"}:
        r.fails(f"no errors rose: {errors}")


def slow(r):
    """4 Mbit/s one way: writes of the second, and not those of the first."""
    there, back = rate(r, THERE), rate(r, BACK)
    if not 0 < back <= 0.0042 or there < 2 * back:
        r.fails(f"writes there {there}, back {back}")
    rows = r.of("rdma_write_gbps")
    if rows[0][3] != back or rows[0][6]["from"]["device"] != "rxe0":
        r.fails(f"the pair is not as slow as its slower way: {rows}")


def down(r):
    r.expects("rdma_write_gbps", "failed", ("verbs_retries", "verbs_flushed"), ("node0", "node1", "::ffff:10.88.0."))


for name in wanted:
    judge = globals()["type_" if name == "type" else name]
    try:
        judge(Readings(name))
    except OSError as e:
        bad.append(f"{name}: {e}")
print("\n".join(bad) or f"{', '.join(wanted)}: as it should be")
sys.exit(1 if bad else 0)
