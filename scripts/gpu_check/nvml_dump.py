"""Everything NVML tells of each card, by name of the function, as it answers: the
value, or the number of the error. Asked a second time and with declarations of its own,
so that a mistake in those of the program can be seen by comparing."""
import ctypes
import os

TEXT_BYTES = 96
LINK_LIMIT = 64
ALL_LINKS = 0xFFFFFFFF

SYSTEM_TEXTS = ["nvmlSystemGetDriverVersion", "nvmlSystemGetNVMLVersion"]
TEXTS = ["nvmlDeviceGetName", "nvmlDeviceGetUUID", "nvmlDeviceGetSerial", "nvmlDeviceGetVbiosVersion"]
# name: types of what it writes
NUMBERS = {
    "nvmlDeviceGetMinorNumber": "I", "nvmlDeviceGetCudaComputeCapability": "ii", "nvmlDeviceGetArchitecture": "I",
    "nvmlDeviceGetNumGpuCores": "I", "nvmlDeviceGetMemoryBusWidth": "I", "nvmlDeviceGetPowerUsage": "I",
    "nvmlDeviceGetEnforcedPowerLimit": "I", "nvmlDeviceGetPowerManagementDefaultLimit": "I",
    "nvmlDeviceGetPowerManagementLimitConstraints": "II", "nvmlDeviceGetTotalEnergyConsumption": "Q",
    "nvmlDeviceGetPerformanceState": "i", "nvmlDeviceGetCurrentClocksEventReasons": "Q",
    "nvmlDeviceGetCurrentClocksThrottleReasons": "Q", "nvmlDeviceGetEccMode": "II", "nvmlDeviceGetMigMode": "II",
    "nvmlDeviceGetMaxMigDeviceCount": "I", "nvmlDeviceGetComputeMode": "i", "nvmlDeviceGetPersistenceMode": "i",
    "nvmlDeviceGetVirtualizationMode": "i", "nvmlDeviceGetRetiredPagesPendingStatus": "i",
    "nvmlDeviceGetRemappedRows": "IIII", "nvmlDeviceGetCurrPcieLinkGeneration": "I",
    "nvmlDeviceGetCurrPcieLinkWidth": "I", "nvmlDeviceGetMaxPcieLinkGeneration": "I",
    "nvmlDeviceGetMaxPcieLinkWidth": "I", "nvmlDeviceGetGpuMaxPcieLinkGeneration": "I",
    "nvmlDeviceGetPcieReplayCounter": "I",
}
# name: ranges of its one argument, then types of what it writes
BY_NUMBER = {
    "nvmlDeviceGetClockInfo": (range(3), "I"), "nvmlDeviceGetMaxClockInfo": (range(3), "I"),
    "nvmlDeviceGetTemperature": (range(1), "I"), "nvmlDeviceGetTemperatureThreshold": (range(2), "I"),
}
LINK_NUMBERS = {"nvmlDeviceGetNvLinkState": "i", "nvmlDeviceGetNvLinkVersion": "I",
                "nvmlDeviceGetNvLinkRemoteDeviceType": "i"}
# Ids that meant the same in every header from 11.0 to 13.3.
FIELDS = [38, 52, 59, 74, 75, 82, 90, 91, 138, 139, 142, 143, 144, 145, 185, 186, 230]
TYPES = {"I": ctypes.c_uint, "i": ctypes.c_int, "Q": ctypes.c_ulonglong}


class Pci(ctypes.Structure):
    _fields_ = [("legacy", ctypes.c_char * 16), ("domain", ctypes.c_uint), ("bus", ctypes.c_uint),
                ("device", ctypes.c_uint), ("device_id", ctypes.c_uint), ("subsystem_id", ctypes.c_uint),
                ("bus_id", ctypes.c_char * 32)]


class MemoryV2(ctypes.Structure):
    _fields_ = [("version", ctypes.c_uint), ("total", ctypes.c_ulonglong), ("reserved", ctypes.c_ulonglong),
                ("free", ctypes.c_ulonglong), ("used", ctypes.c_ulonglong)]


class Field(ctypes.Structure):
    _fields_ = [("id", ctypes.c_uint), ("scope", ctypes.c_uint), ("timestamp", ctypes.c_longlong),
                ("latency", ctypes.c_longlong), ("type", ctypes.c_int), ("result", ctypes.c_int),
                ("value", ctypes.c_ulonglong)]


class Nvml:
    def __init__(self, lib_dir):
        name = "libnvidia-ml.so.1"
        self.lib = ctypes.CDLL(os.path.join(lib_dir, name) if lib_dir else name)

    def ask(self, name, *args):
        """The error's number, 0 for none, None where the driver has no such function."""
        try:
            function = getattr(self.lib, name)
        except AttributeError:
            return None
        function.restype = ctypes.c_int
        return function(*args)

    def values(self, name, kinds, *args):
        out = [TYPES[k]() for k in kinds]
        return self.answer(self.ask(name, *args, *[ctypes.byref(o) for o in out]),
                           lambda: out[0].value if len(out) == 1 else [o.value for o in out])

    def text(self, name, *args):
        buffer = ctypes.create_string_buffer(TEXT_BYTES)
        return self.answer(self.ask(name, *args, buffer, ctypes.c_uint(TEXT_BYTES)),
                           lambda: buffer.value.decode("utf-8", "replace"))

    @staticmethod
    def answer(code, value):
        if code is None:
            return {"error": "no such function"}
        return value() if code == 0 else {"error": code}

    def pci(self, name, *args):
        pci = Pci()
        return self.answer(self.ask(name, *args, ctypes.byref(pci)), lambda: {
            "bus_id": pci.bus_id.decode("ascii", "replace"), "device_id": f"{pci.device_id:08x}",
            "subsystem_id": f"{pci.subsystem_id:08x}"})

    def memory(self, device):
        memory = MemoryV2(version=ctypes.sizeof(MemoryV2) | 2 << 24)
        return self.answer(self.ask("nvmlDeviceGetMemoryInfo_v2", device, ctypes.byref(memory)), lambda: {
            n: getattr(memory, n) for n in ("total", "reserved", "free", "used")})

    def fields(self, device):
        table = (Field * len(FIELDS))()
        for entry, number in zip(table, FIELDS):
            entry.id, entry.scope = number, ALL_LINKS if number in (138, 139) else 0
        return self.answer(self.ask("nvmlDeviceGetFieldValues", device, ctypes.c_int(len(FIELDS)), table), lambda: {
            str(e.id): {"type": e.type, "bits": str(e.value)} if e.result == 0 else {"error": e.result} for e in table})

    def links(self, device):
        found = []
        for link in range(LINK_LIMIT):
            number = ctypes.c_uint(link)
            entry = {name: self.values(name, kinds, device, number) for name, kinds in LINK_NUMBERS.items()}
            if isinstance(entry["nvmlDeviceGetNvLinkState"], dict):
                break
            entry["nvmlDeviceGetNvLinkRemotePciInfo_v2"] = self.pci("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, number)
            found.append(entry)
        return found

    def card(self, device):
        out = {name: self.text(name, device) for name in TEXTS}
        out.update({name: self.values(name, kinds, device) for name, kinds in NUMBERS.items()})
        for name, (numbers, kinds) in BY_NUMBER.items():
            out[name] = [self.values(name, kinds, device, ctypes.c_uint(n)) for n in numbers]
        out["nvmlDeviceGetPciInfo_v3"] = self.pci("nvmlDeviceGetPciInfo_v3", device)
        out["nvmlDeviceGetMemoryInfo_v2"] = self.memory(device)
        out["nvmlDeviceGetFieldValues"] = self.fields(device)
        out["links"] = self.links(device)
        return out


def dump(lib_dir):
    """A tree of plain values. OSError: no library; RuntimeError: it does not start."""
    nvml = Nvml(lib_dir)
    code = nvml.ask("nvmlInit_v2")
    if code != 0:
        raise RuntimeError(f"nvmlInit_v2 answers {code}")
    out = {name: nvml.text(name) for name in SYSTEM_TEXTS}
    out["nvmlSystemGetCudaDriverVersion_v2"] = nvml.values("nvmlSystemGetCudaDriverVersion_v2", "i")
    out["nvmlDeviceGetCount_v2"] = count = nvml.values("nvmlDeviceGetCount_v2", "I")
    devices, out["cards"] = [], []
    for index in range(count if isinstance(count, int) else 0):
        device = ctypes.c_void_p()
        code = nvml.ask("nvmlDeviceGetHandleByIndex_v2", ctypes.c_uint(index), ctypes.byref(device))
        devices.append(device if code == 0 else None)
        out["cards"].append(nvml.card(device) if code == 0 else {"error": code})
    # Columns: read, write, NVLink, atomics, PCI; 0 is fine, 5 not supported.
    out["nvmlDeviceGetP2PStatus"] = [
        [None if a is None or b is None or a is b else [nvml.values("nvmlDeviceGetP2PStatus", "i", a, b, ctypes.c_int(k))
                                                       for k in range(5)] for b in devices] for a in devices]
    nvml.ask("nvmlShutdown")
    return out
