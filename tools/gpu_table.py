"""gpu_table.py WORK OUT: the table of tools/gpu-check.sh from its working folder.

Reads WORK/names and, for each name, the report, the tool's exit code and verdict, and the output of nvcc and
of the self-check. Writes OUT/table.txt and OUT/table.tsv; exits with 1 when any program failed.
"""
import json
import os
import re
import sys

COLUMNS = ["program", "kernels", "time us", "unfused us", "floor us", "fraction", "speedup", "error/allowed",
           "self-check us", "spilled bytes", "sanitizers", "status"]


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def number(value, form):
    return "-" if value is None else form % value


def worst_error(outputs):
    """The output that is nearest to, or furthest over, its allowed error."""
    if not outputs:
        return "-"
    worst = max(outputs, key=lambda o: o["error"] / o["allowed"] if o["allowed"] else 0)
    return "%.2g/%.2g" % (worst["error"], worst["allowed"])


def self_check(work, name):
    """Time and status of the compiled program; the status is 'ok' or says what failed."""
    if not os.path.exists(f"{work}/{name}.demo"):
        first = next((line for line in read(f"{work}/{name}.nvcc").splitlines() if "error" in line), "no program")
        return "-", "nvcc: " + first.strip()[:60]
    text = read(f"{work}/{name}.run").strip()
    last = " ".join(text.splitlines()[-2:]) if "(exit" in text else (text.splitlines() or ["no output"])[-1]
    fields = dict(word.split("=", 1) for word in text.split() if "=" in word)
    return fields.get("time_us", "-"), "ok" if last.endswith(" ok") or last == "ok" else "self-check: " + last[:60]


def spilled(work, name):
    """Bytes of local memory of all kernels, as ptxas says; '-' where it said nothing."""
    frames = re.findall(r"(\d+) bytes stack frame, (\d+) bytes spill stores", read(f"{work}/{name}.nvcc"))
    return str(sum(int(frame) for frame, _ in frames)) if frames else "-"


def sanitizers(work, name):
    """'clean', '-' if they were not run, or the first that found something."""
    ran = [tool for tool in ("memcheck", "racecheck") if os.path.exists(f"{work}/{name}.{tool}")]
    found = [tool for tool in ran if not read(f"{work}/{name}.{tool}").rstrip().endswith("exit 0")]
    return found[0] if found else "clean" if ran else "-"


def row(work, name):
    code = read(f"{work}/{name}.code").strip()
    verdict = read(f"{work}/{name}.verdict").strip()
    shown = name.split("-", 1)[1]
    try:
        winner = json.loads(read(f"{work}/products/{name}.report.json"))["winner"]
    except (ValueError, KeyError):
        return [shown] + ["-"] * (len(COLUMNS) - 2) + [f"exit {code}: {verdict[:70]}"]
    limit = winner["limit"]
    time = (winner["time_us"] or {}).get("median")
    demo_time, status = self_check(work, name)
    if code != "0":
        status = f"exit {code}: {verdict[:70]}"
    elif any(not o["ok"] for o in winner["numeric"]):
        status = "numeric"
    elif sanitizers(work, name) not in ("-", "clean"):
        status = sanitizers(work, name)
    elif status == "ok" and time is None:
        status = "ok, not timed"
    return [shown, str(len(winner["kernels"])), number(time, "%.2f"), number(winner["baseline_us"], "%.2f"),
            number(limit["floor_us"], "%.2f"), number(limit["fraction"], "%.2f"), number(winner["speedup"], "%.2f"),
            worst_error(winner["numeric"]), demo_time, spilled(work, name), sanitizers(work, name), status]


def main():
    work, out = sys.argv[1:]
    rows = [row(work, name) for name in read(f"{work}/names").split()]
    widths = [max(len(r[i]) for r in [COLUMNS] + rows) for i in range(len(COLUMNS))]
    with open(f"{out}/table.txt", "w", encoding="utf-8") as file:
        for cells in [COLUMNS] + rows:
            file.write("  ".join(cell.ljust(width) for cell, width in zip(cells, widths)).rstrip() + "\n")
    with open(f"{out}/table.tsv", "w", encoding="utf-8") as file:
        for cells in [COLUMNS] + rows:
            file.write("\t".join(cells) + "\n")
    return 0 if rows and all(r[-1].startswith("ok") for r in rows) else 1


sys.exit(main())
