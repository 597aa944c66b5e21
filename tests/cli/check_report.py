"""check_report.py REPORT: does a report have every key of mirage-opt-report/1, with values of its type?

Prints what is missing or wrong; exits with 1 then.
"""
import json
import re
import sys

NUMBER, TEXT, FLAG, NULL = (int, float), (str,), (bool,), (type(None),)
DIMS = [NUMBER]

SHAPE = {
    "schema": TEXT, "version": TEXT, "seed": NUMBER, "options": {},
    "program": {"name": TEXT, "symbol": TEXT, "hash": TEXT},
    "target": {"arch": TEXT, "device": TEXT + NULL, "driver": TEXT + NULL, "nvrtc": TEXT + NULL},
    "subprograms": [{"name": TEXT, "lax": FLAG}],
    "search": {"seconds": NUMBER, "threads": NUMBER, "states": NUMBER,
               "pruned": {"expression": NUMBER, "shape": NUMBER, "memory": NUMBER, "duplicate": NUMBER,
                          "unsafe": NUMBER},
               "partitions": NUMBER, "peak_memory_bytes": NUMBER,
               "mugraphs": NUMBER, "verified": NUMBER, "rejected": NUMBER, "complete": FLAG},
    "verify": {"equivalence": TEXT, "delta": NUMBER + NULL, "rounds": NUMBER, "instance": (dict,) + NULL,
               "primes": DIMS, "full_shape": {"elements": NUMBER, "of": NUMBER}},
    "candidates": [{"id": NUMBER, "status": TEXT, "kernels": NUMBER, "cost_us": NUMBER, "time_us": (dict,) + NULL}],
    "best": {"id": NUMBER, "cost_us": NUMBER, "emitted": (bool,), "mugraph": (dict,) + NULL},
    "winner": {"id": NUMBER, "mugraph": {"format": TEXT, "inputs": [{"name": TEXT, "shape": DIMS, "dtype": TEXT}]},
               "kernels": [{"name": TEXT, "grid": DIMS, "cluster": DIMS, "block": DIMS, "loop": NUMBER + NULL,
                            "smem_bytes": NUMBER, "registers": NUMBER + NULL, "spills": NUMBER + NULL}],
               "time_us": (dict,) + NULL, "baseline_us": NUMBER + NULL, "speedup": NUMBER + NULL,
               "limit": {"bytes": NUMBER, "flops": NUMBER, "floor_us": NUMBER + NULL, "floor_source": TEXT,
                         "fraction": NUMBER + NULL, "bound": TEXT},
               "numeric": []},
}
STATUSES = {"timed", "estimated", "slower", "compile-error", "no-fit", "numeric-failure", "launch-failure", "timeout"}
complaints = []


def check(value, shape, path):
    if isinstance(shape, tuple):
        if not isinstance(value, shape) or (isinstance(value, bool) and bool not in shape):
            complaints.append(f"{path}: {value!r} is not one of {[t.__name__ for t in shape]}")
    elif isinstance(shape, dict):
        if not isinstance(value, dict):
            complaints.append(f"{path}: not an object")
            return
        for key, inner in shape.items():
            if key in value:
                check(value[key], inner, f"{path}/{key}")
            else:
                complaints.append(f"{path}/{key}: missing")
    elif not isinstance(value, list):
        complaints.append(f"{path}: not an array")
    else:
        for i, item in enumerate(value):
            if shape:
                check(item, shape[0], f"{path}/{i}")


with open(sys.argv[1], encoding="utf-8") as file:
    text = file.read()
report = json.loads(text)
check(report, SHAPE, "")
if not complaints:
    ids = [c["id"] for c in report["candidates"]]
    if ids != list(range(len(ids))):
        complaints.append("/candidates: ids are not 0, 1, ...")
    if report["winner"]["id"] not in ids:
        complaints.append("/winner/id: no such candidate")
    complaints += [f"/candidates/{c['id']}/status: {c['status']}" for c in report["candidates"]
                   if c["status"] not in STATUSES]
if re.search(r'"/(home|tmp|root|usr|work)', text):
    complaints.append("an absolute path")
print("\n".join(complaints) if complaints else "the report is complete")
sys.exit(1 if complaints else 0)
