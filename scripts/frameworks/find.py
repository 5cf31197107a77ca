# Says which training frameworks this interpreter has, as one JSON line. Nothing of
# theirs is imported, which could take minutes and wake a driver: the names of
# installed packages and their version files are read.
import importlib.util
import json
import os
import re
import sys

# Framework: the module that must be there, and names its package may have.
FRAMEWORKS = {
    "pytorch": ("torch", ["torch"]),
    "tensorflow": ("tensorflow", ["tensorflow", "tensorflow-cpu", "tensorflow-gpu"]),
    "deepspeed": ("deepspeed", ["deepspeed"]),
    "megatron": ("megatron.core", ["megatron-core"]),
    "horovod": ("horovod", ["horovod"]),
    "mxnet": ("mxnet", ["mxnet"]),
}


def text_of(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as f:
            return f.read(65536)
    except OSError:
        return ""


def packaged(names):
    try:
        from importlib import metadata
    except ImportError:
        return None
    for name in names:
        try:
            return str(metadata.version(name))
        except Exception:  # not installed, or its metadata is broken
            continue
    return None


def written(folder, names):
    for name in names:
        found = re.search(r"^(?:__version__|__release__)\b[^=]*=\s*['\"](\d[^'\"]*)['\"]",
                          text_of(os.path.join(folder, name)), re.M)
        if found:
            return found.group(1)
    return None


def look(module, names):
    folder = None
    # The parent of megatron.core is a folder without code: nothing runs.
    try:
        spec = importlib.util.find_spec(module)
    except Exception:
        spec = None
    if spec is None:
        return None
    if spec.submodule_search_locations:
        folder = list(spec.submodule_search_locations)[0]
    version = written(folder, ["version.py", "libinfo.py", "package_info.py"]) if folder else None
    found = {"version": version or packaged(names) or "unknown", "path": folder or spec.origin}
    if module == "torch" and folder:
        build = re.search(r"^cuda\b[^=]*=\s*['\"]([^'\"]+)['\"]",
                          text_of(os.path.join(folder, "version.py")), re.M)
        found["cuda"] = build.group(1) if build else "none"
    return found


def main():
    found = {}
    for name, (module, names) in FRAMEWORKS.items():
        seen = look(module, names)
        if seen:
            found[name] = seen
    print(json.dumps({"python": ".".join(map(str, sys.version_info[:3])),
                      "executable": os.path.realpath(sys.executable or ""), "found": found}))


main()
