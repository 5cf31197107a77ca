"""Makes a node file of tests/standin from what the inventory read, so that a machine
once met can be met again without it. Shares of the rated figures come from the gemm,
membw and p2p readings where they are there."""
import csv
import re

# share of the node file: metric, column of accelerators.csv
RATES = {
    "fp64": ("gemm_fp64_tflops", "fp64_tflops"), "fp32": ("gemm_fp32_tflops", "fp32_tflops"),
    "tf32": ("gemm_tf32_tflops", "tf32_tensor_tflops"), "fp16": ("gemm_fp16_tflops", "fp16_tensor_tflops"),
    "bf16": ("gemm_bf16_tflops", "bf16_tensor_tflops"), "fp8": ("gemm_fp8_tflops", "fp8_tflops"),
    "memory": ("membw_triad_gbs", "mem_bw_gbs"),
}


class NoNodeFile(Exception):
    """Why there is none, in words."""


def measured(readings):
    """{subject id: {metric: reading}} of what has a figure."""
    out = {}
    for r in readings:
        if r["outcome"] == "measured":
            out.setdefault(r["subject"].get("id"), {})[r["metric"]] = r
    return out


def value(card, metric):
    return card[metric]["value"] if metric in card else None


def params(card, metric):
    return (card[metric].get("params") or {}) if metric in card else {}


def table_row(table, name, pci_device):
    """The row whose pattern takes the name; the PCI device decides between several."""
    rows = [row for row in table if row["vendor"] == "NVIDIA" and row["nvml_name_patterns"]
            and re.search(row["nvml_name_patterns"], name)]
    exact = [row for row in rows if pci_device in row["pci_device_ids"].split("|")]
    if not rows:
        raise NoNodeFile(f"accelerators.csv has no row for {name} ({pci_device})")
    return (exact or rows)[0]


def share(figure, of):
    return float(f"{figure / of:.4g}")


def achieved(card, row):
    shares = {}
    for name, (metric, column) in RATES.items():
        if metric in card and row[column]:
            shares[name] = share(value(card, metric), float(row[column]))
    if "pcie_h2d_gbs" in card and value(card, "pcie_rate_gbs"):
        shares["pcie"] = share(value(card, "pcie_h2d_gbs"), value(card, "pcie_rate_gbs"))
    return shares


def links_of(card):
    each = params(card, "nvlink_links_active").get("each", [])
    return [link for link in each if link.get("state") != "down"]


def one_card(card, table):
    name, pci = value(card, "card_name"), card["card_name"]["subject"].get("pci")
    device = value(card, "card_pci_device") or ""
    row = table_row(table, name, device)
    out = {"model": row["key"], "uuid": card["card_name"]["subject"]["id"], "pci": pci}
    if params(card, "card_name").get("serial"):
        out["serial"] = params(card, "card_name")["serial"]
    if params(card, "card_pci_device").get("numa", -1) >= 0:
        out["numa_node"] = params(card, "card_pci_device")["numa"]
    out["ecc"] = value(card, "card_ecc_mode") == "on"
    power = params(card, "card_power_limit_share")
    if isinstance(power.get("now_w"), (int, float)):
        out["idle_w"] = power["now_w"]
    if isinstance(params(card, "gemm_fp16_tflops").get("power_w"), (int, float)):
        out["load_w"] = params(card, "gemm_fp16_tflops")["power_w"]
    out["achieved"] = achieved(card, row)
    facts = {"name": name, "sm_count": value(card, "card_sm_count"), "memory_mib": value(card, "card_memory_mib"),
             "sm_clock_mhz": value(card, "card_max_sm_clock_mhz"), "capability": value(card, "card_capability"),
             "pci_device": device.split(":")[-1] or None, "links": params(card, "nvlink_links_active").get("links", 0),
             "power_limit_w": power.get("default_w")}
    out["is"] = {k: f"{v:.12g}" if isinstance(v, float) else str(v) for k, v in facts.items() if v is not None}
    return out


def nvlink(cards, found):
    """switch, none, or the matrix of links between cards."""
    links = [links_of(card) for card in found]
    if any(link.get("peer") == "switch" for each in links for link in each):
        return "switch"
    index = {card["pci"]: i for i, card in enumerate(cards)}
    matrix = [[0] * len(cards) for _ in cards]
    for i, each in enumerate(links):
        for link in each:
            if link.get("peer_pci") in index:
                matrix[i][index[link["peer_pci"]]] += 1
    return matrix if any(map(any, matrix)) else "none"


def make(readings, table_path):
    """The node file as a tree. NoNodeFile with the reason when a card has no row."""
    with open(table_path, encoding="utf-8", newline="") as f:
        table = list(csv.DictReader(f))
    by_subject = measured(readings)
    found = [card for card in by_subject.values() if "card_name" in card and "card_memory_mib" in card]
    found.sort(key=lambda card: card["card_name"]["subject"].get("index", 0))
    if not found:
        raise NoNodeFile("no card was read")
    node = next((m for m in by_subject.values() if "node_driver_version" in m), {})
    cards = [one_card(card, table) for card in found]
    out = {"id": "recorded"}
    if node:
        out["driver"] = value(node, "node_driver_version")
        cuda = re.fullmatch(r"(\d+)\.(\d+)", str(params(node, "node_driver_version").get("cuda")))
        if cuda:
            out["cuda"] = int(cuda[1]) * 1000 + int(cuda[2]) * 10
    if params(found[0], "card_name").get("vbios"):
        out["vbios"] = params(found[0], "card_name")["vbios"]
    blas = re.match(r"(\d+)\.(\d+)\.(\d+)", params(found[0], "gemm_fp16_tflops").get("library") or "")
    if blas:
        out["cublas"] = int(blas[1]) * 10000 + int(blas[2]) * 100 + int(blas[3])
    out["cards"] = cards
    out["nvlink"] = nvlink(cards, found)
    return out
