"""The process of peers.py that holds the GPU: measures programs one after the other, a row for each.

Exits with 3 when the GPU's context is lost, after it wrote the row of the program that lost it."""

import contextlib
import ctypes
import gc
import json
import math
import pathlib
import re
import signal
import statistics
import subprocess
import sys
import time

import torch

import program_torch as pt
from peers import ONE_COMPILE

REPLAYS = 11
FEWEST_SETS, MOST_SETS = 8, 200
FEWEST_LAUNCHES = 64  # of one graph, so that what starts a graph does not count
ROTATION_BYTES = 300_000_000
SPIN_CYCLES = 600_000  # about 0.3 ms: longer than the host needs to enqueue a replay
ATTENTION = ("flash", "cudnn", "efficient")
TOLERANCE = {"f16": 2e-2, "bf16": 6e-2, "f32": 1e-3}


class TooLong(BaseException):
    """Not an Exception, so that autotuning, which tries and catches, does not swallow it."""


def stream_pointer():
    return ctypes.c_void_p(torch.cuda.current_stream().cuda_stream)


def first_line(error):
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    return f"{type(error).__name__}: {lines[0][:200]}" if lines else type(error).__name__


# ---- graphs and times ----


class Contender:
    """A call captured over all sets. `keep` holds what it returned, so that outputs have memory of their own."""

    def __init__(self, name, call, sets, repeats):
        self.name, self.times, self.keep = name, [], {}
        self.launches = len(sets) * repeats
        side = torch.cuda.Stream()
        side.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(side):
            for i in (0, 1, 0):
                call(sets[i % len(sets)])
        torch.cuda.synchronize()
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.stream(side):
            self.capture(call, sets, repeats)
        self.graph.replay()
        torch.cuda.synchronize()

    def capture(self, call, sets, repeats):
        """As torch.cuda.graph(), which collects garbage first: too slow for the floor's many grids."""
        gc.disable()
        self.graph.capture_begin(capture_error_mode="thread_local")
        try:
            for _ in range(repeats):
                for i, one in enumerate(sets):
                    self.keep[i] = call(one)
        except BaseException:
            # What ended the capture says more than that it was ended.
            with contextlib.suppress(Exception):
                self.graph.capture_end()
            raise
        else:
            self.graph.capture_end()
        finally:
            gc.enable()

    def replay(self, floor):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        floor.evict()
        start.record()
        self.graph.replay()
        end.record()
        torch.cuda.synchronize()
        self.times.append(start.elapsed_time(end) * 1000 / self.launches)

    def median(self):
        return statistics.median(self.times)


def alternate(contenders, floor, replays=REPLAYS):
    """Every contender once, then every one again, ...; forwards and backwards in turn."""
    for i in range(replays):
        for c in contenders if i % 2 == 0 else reversed(contenders):
            c.replay(floor)


def rotation(bytes_of_set, l2, room):
    """Sets, and how often the graph goes through them. Few bytes in all go through once: later they are warm."""
    sets = min(MOST_SETS, max(FEWEST_SETS, math.ceil(max(ROTATION_BYTES, 3 * l2) / bytes_of_set)))
    sets = max(2, min(sets, room // bytes_of_set))
    cold = sets * bytes_of_set > 3 * l2
    return sets, math.ceil(FEWEST_LAUNCHES / sets) if cold else 1


class Floor:
    """Plain reads, from floor.cu; also what evicts L2 before a replay."""

    def __init__(self, library, facts):
        self.library = ctypes.CDLL(library)
        self.l2, self.sms = facts["l2"], facts["sms"]
        pointer, size = ctypes.c_void_p, ctypes.c_size_t
        self.library.floor_read.argtypes = [pointer, size, ctypes.c_int, ctypes.c_int, pointer, pointer]
        self.library.floor_spin.argtypes = [ctypes.c_longlong, pointer]
        self.sink = torch.zeros(4, dtype=torch.int32, device="cuda")
        self.other = torch.zeros(4 * self.l2 // 4, dtype=torch.int32, device="cuda")
        self.best = {}  # bytes -> the grid that was fastest

    def read(self, address, count, blocks, threads):
        code = self.library.floor_read(address, count, blocks, threads, self.sink.data_ptr(), stream_pointer())
        if code != 0:
            raise RuntimeError(f"reading {count} bytes: CUDA error {code}")

    def evict(self):
        self.read(self.other.data_ptr(), 4 * self.l2, 8 * self.sms, 256)
        self.library.floor_spin(SPIN_CYCLES, stream_pointer())

    def grids(self, count):
        """Full waves for large sizes; one load or one round for each thread for small ones."""
        vectors = math.ceil(count / 16)
        for threads in (256, 512, 1024):
            whole = [self.sms * k // 2 for k in (1, 2, 4, 8) if self.sms * k // 2 * threads <= self.sms * 2048]
            needed = [math.ceil(vectors / (threads * k)) for k in (1, 2, 4, 8)]
            for blocks in sorted({b for b in whole + needed if 0 < b <= 65536}):
                yield blocks, threads

    def contender(self, count):
        """Reads `count` bytes (rounded up to 16) by the best of the grids."""
        count = 16 * math.ceil(count / 16)
        step = 256 * math.ceil(count / 256)
        sets, repeats = rotation(step, self.l2, torch.cuda.mem_get_info()[0] // 2)
        memory = torch.empty(sets * step // 4, dtype=torch.int32, device="cuda").random_()
        places = [memory.data_ptr() + i * step for i in range(sets)]

        def made(grid):
            c = Contender("floor", lambda place: self.read(place, count, *grid), places, repeats)
            c.keep["memory"] = memory
            return c

        if count not in self.best:
            tried = []
            for grid in self.grids(count):
                one = made(grid)
                alternate([one], self, 3)
                tried.append((one.median(), grid))
            self.best[count] = min(tried)[1]
        return made(self.best[count])


# ---- the emitted kernels ----


class Emitted:
    """The functions of one emitted file; outputs and workspace are made by the caller once shapes are known."""

    def __init__(self, source, library):
        text = source.read_text()
        found = re.search(r'^extern "C" size_t (\w+)_workspace_bytes\(void\)', text, re.MULTILINE)
        if found is None:
            raise RuntimeError(f"{source.name} defines no ..._workspace_bytes")
        symbol, loaded = found.group(1), ctypes.CDLL(str(library))
        pointer = ctypes.c_void_p
        size = getattr(loaded, symbol + "_workspace_bytes")
        size.restype, size.argtypes = ctypes.c_size_t, []
        init = getattr(loaded, symbol + "_workspace_init")
        init.restype, init.argtypes = ctypes.c_int, [pointer, pointer]
        self.launch = getattr(loaded, symbol + "_launch")
        self.launch.restype = ctypes.c_int
        self.launch.argtypes = [ctypes.POINTER(pointer), ctypes.POINTER(pointer), pointer, pointer]
        count = size()
        self.memory = torch.zeros(count, dtype=torch.uint8, device="cuda") if count > 0 else None
        self.workspace = None if self.memory is None else pointer(self.memory.data_ptr())
        self.check(init(self.workspace, stream_pointer()), "workspace_init")
        torch.cuda.synchronize()

    @staticmethod
    def check(code, what):
        if code != 0:
            raise RuntimeError(f"{what} returned CUDA error {code}")

    @staticmethod
    def pointers(tensors):
        return (ctypes.c_void_p * max(1, len(tensors)))(*[t.data_ptr() for t in tensors])

    def __call__(self, pair):
        inputs, outputs = pair
        self.check(self.launch(inputs, outputs, self.workspace, stream_pointer()), "launch")


# ---- correctness, for sanity: the tool's own gate is stricter ----


def relative_error(ours, theirs):
    a, b = ours.double(), theirs.double()
    finite = torch.isfinite(b)
    same = (a == b) | (torch.isnan(a) & torch.isnan(b))
    if bool((torch.isfinite(a) != finite).any()) or not bool(same[~finite].all()):
        return math.inf
    difference, size = (a - b)[finite].norm().item(), b[finite].norm().item()
    return difference / size if size > 0 else difference


def worst_error(ours, theirs):
    return max(relative_error(a, b) for a, b in zip(ours, theirs))


def tolerance(program):
    dtypes = {pt.dtype_name(t["dtype"]) for t in program["inputs"]}
    dtypes |= {pt.dtype_name(n["dtype"]) for n in program["nodes"] if n["op"] == "cast"}
    return max(TOLERANCE[d] for d in dtypes)


# ---- peers ----


def compiled_in_time(program, inputs, seconds):
    """The compiled function, and seconds spent; raises what went wrong with `.spent` on it."""
    function, _ = pt.function_of(program, masks_inside=True)
    compiled = torch.compile(function, mode="max-autotune-no-cudagraphs", fullgraph=True, dynamic=False)

    def alarm(*_):
        raise TooLong(f"took more than {seconds:.0f} s")

    start = time.monotonic()
    previous = signal.signal(signal.SIGALRM, alarm)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        compiled(*inputs)
        torch.cuda.synchronize()
    except BaseException as error:
        error.spent = time.monotonic() - start
        raise
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    return compiled, time.monotonic() - start


def attention_calls(program):
    """The program with fused attention, by each of PyTorch's back ends: name, and function of the inputs."""
    rewritten = pt.with_attention(program)
    if rewritten is None:
        return
    from torch.nn.attention import SDPBackend, sdpa_kernel

    function, _ = pt.function_of(rewritten)
    for name in ATTENTION:
        backend = getattr(SDPBackend, name.upper() + "_ATTENTION", None)

        def call(inputs, backend=backend):
            with sdpa_kernel(backend):
                return function(*inputs)

        if backend is not None:
            yield name, call


class Program:
    """One program on the GPU: its sets, its contenders, its row."""

    def __init__(self, name, job, floor):
        folder, self.work = pathlib.Path(job["folder"]), pathlib.Path(job["work"])
        self.name, self.job, self.floor = name, job, floor
        self.source = folder / f"{name}.cu"
        self.report = folder / f"{name}.report.json"
        self.program = json.loads((folder / f"{name}.json").read_text())
        self.row = {"program": name}
        self.notes, self.contenders = [], []

    def note(self, text):
        self.notes.append(text)

    def prepare(self):
        """Inputs, what eager makes of them, and copies to rotate over."""
        first = pt.make_inputs(self.program, "cuda")
        self.eager, _ = pt.function_of(self.program)
        self.expected = [x.clone() for x in self.eager(*first)]
        torch.cuda.synchronize()
        used = pt.used_inputs(self.program)
        out_bytes = sum(x.numel() * x.element_size() for x in self.expected)
        in_bytes = sum(pt.stored_bytes(self.program["inputs"][i]) for i in used)
        self.bytes = in_bytes + out_bytes
        # Every contender keeps outputs of its own.
        room = int(0.5 * torch.cuda.mem_get_info()[0] * self.bytes / (in_bytes + 6 * out_bytes))
        sets, self.repeats = rotation(self.bytes, self.floor.l2, room)
        self.sets = [first] + [[pt.copy_of(x) for x in first] for _ in range(sets - 1)]
        self.row.update(bytes=self.bytes, sets=sets)

    def attempt(self, what, action):
        """A contender that fails is missing in the row, with the reason; a lost GPU ends the process."""
        try:
            action()
        except (Exception, TooLong) as error:
            self.note(f"{what}: {first_line(error)}")
            if what == "ours":
                self.row["bad"] = True
            torch.cuda.synchronize()

    def add(self, name, call, sets):
        self.contenders.append(Contender(name, call, sets, self.repeats))

    def ours(self):
        emitted = Emitted(self.source, self.work / f"{self.name}.so")
        outputs = [[torch.empty_like(x) for x in self.expected] for _ in self.sets]
        for x in outputs[0]:
            x.fill_(math.nan)
        calls = [(emitted.pointers(i), emitted.pointers(o)) for i, o in zip(self.sets, outputs)]
        emitted(calls[0])
        torch.cuda.synchronize()
        error = self.row["error"] = worst_error(outputs[0], self.expected)
        if not error <= tolerance(self.program):
            self.note(f"ours: WRONG: error {error:.3g}")
            self.row["bad"] = True
        self.add("ours", emitted, calls)
        self.contenders[-1].keep["buffers"] = (emitted, outputs)

    def compiled(self):
        left = min(ONE_COMPILE, self.job["compile_seconds"])
        if left < 1:
            self.note("compiled: skipped, --compile-seconds is spent")
            return
        try:
            function, spent = compiled_in_time(self.program, self.sets[0], left)
        except BaseException as error:
            spent = getattr(error, "spent", 0.0)
            raise
        finally:
            self.row["compile_s"] = spent
            self.job["compile_seconds"] -= spent
        error = worst_error(function(*self.sets[0]), self.expected)
        if not error <= tolerance(self.program):
            raise RuntimeError(f"wrong, error {error:.3g}")
        self.add("compiled", lambda inputs: function(*inputs), self.sets)

    def attention(self, name, call):
        error = worst_error(call(self.sets[0]), self.expected)
        if not error <= tolerance(self.program):
            raise RuntimeError(f"wrong, error {error:.3g}")
        self.add(name, call, self.sets)

    def attention_peers(self):
        """Back ends refuse much; their reasons matter only when none is left."""
        before, reasons = len(self.contenders), self.notes
        self.notes = []
        for name, call in attention_calls(self.program):
            self.attempt(name, lambda n=name, c=call: self.attention(n, c))
        print("\n".join(self.notes), flush=True)
        self.notes = reasons + (self.notes if len(self.contenders) == before else [])

    def measure(self):
        self.prepare()
        self.attempt("ours", self.ours)
        self.attempt("eager", lambda: self.add("eager", lambda inputs: self.eager(*inputs), self.sets))
        if self.job["compile"]:
            self.attempt("compiled", self.compiled)
        self.attention_peers()
        self.attempt("floor", lambda: self.contenders.append(self.floor.contender(self.bytes)))
        alternate(self.contenders, self.floor)

    def finish(self):
        row, times = self.row, {c.name: c.median() for c in self.contenders if c.times}
        for name in ("ours", "eager", "compiled", "floor"):
            row[name + "_us"] = times.get(name)
        fused = [times[n] for n in ATTENTION if n in times]
        row["attention_us"] = min(fused) if fused else None
        peers = {n: t for n, t in times.items() if n not in ("ours", "floor")}
        if peers:
            row["best_peer"] = min(peers, key=peers.get)
            row["best_peer_us"] = peers[row["best_peer"]]
        if row["ours_us"] and peers and not row.get("bad"):
            row["peer_over_ours"] = row["best_peer_us"] / row["ours_us"]
        if row["ours_us"] and row["floor_us"]:
            row["ours_over_floor"] = row["ours_us"] / row["floor_us"]
        row["tool_us"] = self.tool_time()
        row["note"] = "; ".join(self.notes) or None
        return row

    def tool_time(self):
        try:
            winner = json.loads(self.report.read_text())["winner"]
            return float(winner["time_us"]["median"])
        except (OSError, ValueError, KeyError, TypeError):
            return None


# ---- the run ----


def driver_version():
    try:
        text = subprocess.run(["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
                              capture_output=True, text=True, timeout=30).stdout.split()
    except (OSError, subprocess.TimeoutExpired):
        text = []
    return text[0] if text else "unknown"


def facts_of_machine():
    properties = torch.cuda.get_device_properties(0)
    return {"gpu": properties.name, "driver": driver_version(), "torch": torch.__version__, "cuda": torch.version.cuda,
            "sms": properties.multi_processor_count, "l2": getattr(properties, "L2_cache_size", 0) or 64 << 20}


def measured(name, job, floor):
    """The row, and whether the GPU is still there."""
    one = None
    try:
        one = Program(name, job, floor)
        one.measure()
        torch.cuda.synchronize()
        return one.finish(), True
    except Exception as error:
        row = dict(one.row) if one is not None else {"program": name}
        reasons = (one.notes if one is not None else []) + [first_line(error)]
        row.update(note="; ".join(reasons), bad=True)
    try:
        torch.cuda.synchronize()
    except Exception:
        return row, False
    return row, True


def main(job):
    torch.cuda.init()
    facts = facts_of_machine()
    with open(job["rows"], "a", buffering=1) as out, torch.no_grad():
        floor = Floor(str(pathlib.Path(job["work"]) / "floor.so"), facts)
        floor.evict()
        torch.cuda.synchronize()
        out.write(json.dumps({"facts": facts}) + "\n")
        for name in job["names"]:
            print(f"== {name}", flush=True)
            row, alive = measured(name, job, floor)
            out.write(json.dumps(row) + "\n")
            if not alive:
                return 3
            torch._dynamo.reset()
            torch.cuda.empty_cache()
    return 0


if __name__ == "__main__":
    sys.exit("peers.py starts this")
