#!/usr/bin/env python3
"""peers.py --emitted FOLDER [--out FOLDER] [--only PATTERN] [--no-compile] [--compile-seconds N]

Times emitted files against PyTorch on the same GPU, in one process, by one method. FOLDER holds pairs of NAME.json
(the program) and NAME.cu (what mirage-opt made of it); a NAME.report.json beside them adds the time that
the tool itself measured.

For each program: eager PyTorch, torch.compile(mode="max-autotune-no-cudagraphs"), fused attention where the program
is plain attention, the emitted kernels, and the floor, which is reading as many bytes as inputs and outputs have.
Each is captured into a CUDA graph of its own that rotates over many input sets; L2 is evicted before each
replay. The replays of all contenders alternate, so that a drift of the clocks touches all alike; a time is the
median over replays of the mean for one launch.

Writes peers.md and peers.tsv to --out (default $OUT, else the current directory), and peers.log with what PyTorch
said. Needs PyTorch and nvcc. A program that fails has the reason in its row; one that takes the GPU down, or hangs,
costs itself alone: measuring goes on in a new process. Exit code 1 when one of our files failed or was wrong.
"""

import argparse
import concurrent.futures
import datetime
import fnmatch
import json
import math
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
ONE_COMPILE = 90  # seconds that torch.compile gets for one program at most

COLUMNS = ["program", "ours_us", "eager_us", "compiled_us", "attention_us", "best_peer", "best_peer_us",
           "peer_over_ours", "floor_us", "ours_over_floor", "error", "tool_us", "bytes", "sets", "compile_s", "note"]


def options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[1], usage=__doc__.split("\n\n")[0])
    parser.add_argument("--emitted", type=pathlib.Path, metavar="FOLDER", help="pairs of NAME.json and NAME.cu")
    parser.add_argument("--out", type=pathlib.Path, default=pathlib.Path(os.environ.get("OUT") or "."))
    parser.add_argument("--only", metavar="PATTERN", help="names to measure, with * and ?")
    parser.add_argument("--no-compile", action="store_true", help="leave torch.compile out")
    parser.add_argument("--compile-seconds", type=float, default=300, metavar="N",
                        help="bound on torch.compile for all programs together (default 300)")
    parser.add_argument("--program-seconds", type=float, default=240, metavar="N",
                        help="a program that takes longer counts as hung (default 240)")
    parser.add_argument("--arch", default="sm_90a")
    parser.add_argument("--worker", type=pathlib.Path, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.worker is None and (chosen.emitted is None or not chosen.emitted.is_dir()):
        parser.error("--emitted FOLDER is needed")
    return chosen


def pairs(folder, only):
    names = sorted(p.stem for p in folder.glob("*.json") if p.with_suffix(".cu").is_file())
    return [n for n in names if only is None or fnmatch.fnmatch(n, only)]


# ---- compiling ----


def nvcc(source, library, arch):
    """None, or why it failed."""
    command = ["nvcc", "-O3", "-std=c++17", f"-arch={arch}", "-shared", "-Xcompiler", "-fPIC", str(source), "-o",
               str(library)]
    try:
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=300)
    except subprocess.TimeoutExpired:
        return "nvcc took more than 300 s"
    if done.returncode == 0:
        return None
    lines = [line for line in done.stderr.splitlines() if "error" in line] or done.stderr.splitlines() or ["no message"]
    return f"nvcc: {lines[0].strip()}"


def compile_all(folder, names, work, arch):
    """What failed: reasons by name."""
    jobs = {name: (folder / f"{name}.cu", work / f"{name}.so") for name in names}
    # One thread waits for one nvcc, which is a chain of single-threaded programs.
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count() or 1) as pool:
        floor = pool.submit(nvcc, HERE / "floor.cu", work / "floor.so", arch)
        futures = {name: pool.submit(nvcc, *job, arch) for name, job in jobs.items()}
        failed = {name: future.result() for name, future in futures.items() if future.result() is not None}
    if floor.result() is not None:
        sys.exit(f"peers.py: floor.cu: {floor.result()}")
    return failed


# ---- the process that measures, seen from the one that supervises ----


def read_rows(path):
    """Whole lines only: the last may still be in the making."""
    if not path.exists():
        return []
    return [json.loads(line) for line in path.read_text().splitlines(True) if line.endswith("\n")]


def stop(child):
    """Ends a worker with all that it started (torch.compile starts compilers)."""
    try:
        os.killpg(child.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    child.wait()


class Table:
    """The rows so far. Written again with each new row: a run that is cut short leaves what it has."""

    def __init__(self, out, names, rows):
        self.out, self.names, self.rows, self.seen = out, names, rows, 0
        self.facts, self.have = None, {}  # of the machine; rows by program

    def append(self, row):
        with self.rows.open("a") as out:
            out.write(json.dumps(row) + "\n")
        self.update()

    def update(self):
        """Shows what is new; true if there was anything."""
        found = read_rows(self.rows)
        if len(found) == self.seen:
            return False
        for row in found[self.seen:]:
            say(row)
        self.seen = len(found)
        self.facts = next((r["facts"] for r in found if "facts" in r), None)
        self.have = {r["program"]: r for r in found if "program" in r}
        if self.facts is not None:
            rows = [self.have[n] for n in self.names if n in self.have]
            (self.out / "peers.tsv").write_text(tsv(rows, self.facts))
            (self.out / "peers.md").write_text(markdown(rows, self.facts))
        return True


def run_worker(job, work, log, seconds, table):
    """Runs one worker until it is done or has hung; says how it ended."""
    path = work / "job.json"
    path.write_text(json.dumps(job))
    child = subprocess.Popen([sys.executable, __file__, "--worker", str(path)], stdin=subprocess.DEVNULL, stdout=log,
                             stderr=log, start_new_session=True)
    since = time.monotonic()
    try:
        while child.poll() is None:
            time.sleep(0.2)
            if table.update():
                since = time.monotonic()
            if time.monotonic() - since > seconds:
                return f"took more than {seconds:.0f} s"
    finally:
        stop(child)
        table.update()
    return None if child.returncode == 0 else f"the process ended with {child.returncode}"


def supervise(chosen, names, failed, work):
    """Measures until every program has a row."""
    table = Table(chosen.out, names, work / "rows.jsonl")
    for name, why in failed.items():
        table.append({"program": name, "note": why, "bad": True})
    log = (chosen.out / "peers.log").open("w")
    while rest := [n for n in names if n not in table.have]:
        spent = sum(r.get("compile_s") or 0 for r in table.have.values())
        job = {"names": rest, "folder": str(chosen.emitted.resolve()), "work": str(work), "rows": str(table.rows),
               "compile": not chosen.no_compile, "compile_seconds": max(0.0, chosen.compile_seconds - spent)}
        why = run_worker(job, work, log, chosen.program_seconds, table)
        if table.facts is None:
            tail = (chosen.out / "peers.log").read_text().strip().splitlines()[-1:] or [why or "no message"]
            sys.exit(f"peers.py: cannot measure here: {tail[0]}")
        missing = [n for n in rest if n not in table.have]
        if missing:
            # The one that it was at: the worker writes a row for each, in order.
            table.append({"program": missing[0], "note": why or "no row was written", "bad": True})
    return table


def say(row):
    if "program" not in row:
        return
    times = [f"{k[:-3]} {row[k]:.2f}" for k in COLUMNS if k.endswith("_us") and k != "best_peer_us" and row.get(k)]
    compiled = f", torch.compile took {row['compile_s']:.0f} s" if row.get("compile_s") else ""
    note = f" ({row['note']})" if row.get("note") else ""
    print(f"{row['program']}: {', '.join(times) or 'not measured'}{compiled}{note}", flush=True)


# ---- tables ----


def number(value, digits=2):
    return "-" if value is None else f"{value:.{digits}f}"


def heading(facts):
    day = datetime.date.today().isoformat()
    return (f"{day}, {facts['gpu']}, driver {facts['driver']}, PyTorch {facts['torch']} (CUDA {facts['cuda']}), L2 "
            f"{facts['l2'] >> 20} MB. Microseconds for one launch inside a CUDA graph, cold L2.")


def markdown(rows, facts):
    lines = [heading(facts), "",
             "| program | ours | eager | compiled | best peer | peer / ours | floor | ours / floor |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for r in rows:
        best = f"{r['best_peer']} {number(r.get('best_peer_us'))}" if r.get("best_peer") else "-"
        cells = [r["program"], number(r.get("ours_us")), number(r.get("eager_us")), number(r.get("compiled_us")), best,
                 number(r.get("peer_over_ours")), number(r.get("floor_us")), number(r.get("ours_over_floor"))]
        lines.append("| " + " | ".join(cells) + " |")
    ratios = [r["peer_over_ours"] for r in rows if r.get("peer_over_ours")]
    if ratios:
        mean = math.exp(sum(map(math.log, ratios)) / len(ratios))
        lines += ["", f"Geometric mean of peer / ours over {len(ratios)} programs: {mean:.2f}."]
    notes = [f"- {r['program']}: {r['note']}" for r in rows if r.get("note")]
    return "\n".join(lines + ([""] + notes if notes else [])) + "\n"


def tsv(rows, facts):
    def cell(value):
        return "" if value is None else re.sub(r"\s+", " ", f"{value:.6g}" if isinstance(value, float) else str(value))

    lines = ["# " + heading(facts), "\t".join(COLUMNS)]
    lines += ["\t".join(cell(r.get(c)) for c in COLUMNS) for r in rows]
    return "\n".join(lines) + "\n"


def main():
    chosen = options()
    if chosen.worker is not None:
        sys.path.insert(0, str(HERE))
        import peers_measure

        return peers_measure.main(json.loads(chosen.worker.read_text()))
    names = pairs(chosen.emitted, chosen.only)
    if not names:
        sys.exit(f"peers.py: no pair of NAME.json and NAME.cu in {chosen.emitted}")
    if shutil.which("nvcc") is None:
        sys.exit("peers.py: nvcc is not in PATH")
    chosen.out.mkdir(parents=True, exist_ok=True)
    # A bound from outside must not leave a worker behind on the GPU.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    with tempfile.TemporaryDirectory(prefix="peers-") as folder:
        work = pathlib.Path(folder)
        failed = compile_all(chosen.emitted, names, work, chosen.arch)
        table = supervise(chosen, names, failed, work)
    if table.facts is None:
        sys.exit("peers.py: no file compiled")
    print("\n" + (chosen.out / "peers.md").read_text(), end="")
    return 1 if any(r.get("bad") for r in table.have.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
