"""A program (format mirage-opt/1) as PyTorch source, and its inputs.

The source is straight-line code, one statement for each node, so that torch.compile sees nothing but operators
and an eager run costs nothing but them. Values have the dtypes that docs/format.md gives them: operands of different
dtypes are widened to f32 explicitly, because PyTorch's own promotion differs for scalars of rank 0.
"""

import linecache
import math

DTYPES = {"f16": "float16", "bf16": "bfloat16", "f32": "float32"}
ALIASES = {"float16": "f16", "half": "f16", "fp16": "f16", "bfloat16": "bf16", "float32": "f32", "float": "f32",
           "fp32": "f32"}
SIZES = {"f16": 2, "bf16": 2, "f32": 4}
BINARY = {"add": "+", "sub": "-", "mul": "*", "div": "/"}
UNARY = {"exp": "torch.exp", "log": "torch.log", "sqrt": "torch.sqrt", "rsqrt": "torch.rsqrt",
         "square": "torch.square", "abs": "torch.abs", "reciprocal": "torch.reciprocal", "relu": "torch.relu",
         "sigmoid": "torch.sigmoid", "silu": "F.silu", "tanh": "torch.tanh", "neg": "torch.neg"}
REDUCTIONS = {"sum": "torch.sum", "mean": "torch.mean", "max": "torch.amax", "min": "torch.amin"}
VIEWS = {"reshape", "transpose", "slice", "split", "broadcast_to"}


def dtype_name(text):
    """The canonical name of a dtype or of one of its aliases."""
    lower = text.lower()
    return ALIASES.get(lower, lower)


def promoted(dtypes):
    return dtypes[0] if len(set(dtypes)) == 1 else "f32"


def in_order(program):
    """The nodes, each behind those it needs, without those that no output needs."""
    maker = {}
    for node in program["nodes"]:
        for name in node.get("outputs") or [node["output"]]:
            maker[name] = node
    order, done = [], set()
    # An explicit stack: programs may be long chains.
    stack = [(maker[name], False) for name in reversed(program["outputs"]) if name in maker]
    while stack:
        node, ready = stack.pop()
        if id(node) in done:
            continue
        if ready:
            done.add(id(node))
            order.append(node)
            continue
        stack.append((node, True))
        stack += [(maker[x], False) for x in node["inputs"] if isinstance(x, str) and x in maker]
    return order


class Writer:
    """Writes the function. `constants` are masks that eager code would keep between calls; compiled code makes
    them itself, which it fuses."""

    def __init__(self, program, masks_inside):
        self.program = program
        self.masks_inside = masks_inside
        self.lines = []
        self.variable = {}  # tensor name -> Python variable
        self.dtype = {}
        self.borrowed = set()  # tensors that are views of an input
        self.masks = []  # (variable, operand's tensor name, offset)
        for i, tensor in enumerate(program["inputs"]):
            self.define(tensor["name"], f"x{i}", dtype_name(tensor["dtype"]))
            self.borrowed.add(tensor["name"])

    def define(self, name, variable, dtype):
        self.variable[name] = variable
        self.dtype[name] = dtype

    def operand(self, x, dtype):
        """A tensor, widened where the operator's dtype is not its own, or a number."""
        if not isinstance(x, str):
            return repr(x)
        text = self.variable[x]
        return text if self.dtype[x] == dtype else f"{text}.to(torch.{DTYPES[dtype]})"

    def write(self):
        for node in in_order(self.program):
            self.node(node)
        results = []
        for name in self.program["outputs"]:
            text = f"{self.variable[name]}"
            # Outputs are dense buffers of their own, as those of the emitted function.
            again = name in self.borrowed or text in results or f"{text}.contiguous()" in results
            results.append(f"{text}.clone(memory_format=torch.contiguous_format)" if again else f"{text}.contiguous()")
        arguments = ", ".join(f"x{i}" for i in range(len(self.program["inputs"])))
        body = "\n".join("    " + line for line in self.lines)
        return f"def program({arguments}):\n{body}\n    return ({', '.join(results)},)\n"

    def node(self, node):
        op, inputs = node["op"], node["inputs"]
        dtype = promoted([self.dtype[x] for x in inputs if isinstance(x, str)])
        operands = [self.operand(x, dtype) for x in inputs]
        result = dtype_name(node["dtype"]) if op == "cast" else dtype
        if op == "split":
            self.split(node, operands[0], dtype)
            return
        name = node["output"]
        variable = f"v{len(self.variable)}"
        self.lines.append(f"{variable} = {self.expression(node, operands, result)}")
        self.define(name, variable, result)
        view = op in VIEWS or (op == "cast" and result == dtype) or (op == "concat" and len(inputs) == 1)
        if view and inputs[0] in self.borrowed:
            self.borrowed.add(name)

    def split(self, node, x, dtype):
        sections, names = node["sections"], node["outputs"]
        first = len(self.variable)
        variables = [f"v{first + i}" for i in range(len(names))]
        size = sections if isinstance(sections, list) else f"{x}.shape[{node['axis']}] // {sections}"
        self.lines.append(f"{', '.join(variables)}, = torch.split({x}, {size}, dim={node['axis']})")
        for name, variable in zip(names, variables):
            self.define(name, variable, dtype)
            if node["inputs"][0] in self.borrowed:
                self.borrowed.add(name)

    def expression(self, node, o, dtype):
        op = node["op"]
        if op in BINARY:
            return f"{o[0]} {BINARY[op]} {o[1]}"
        if op in UNARY:
            return f"{UNARY[op]}({o[0]})"
        if op in REDUCTIONS:
            axes = tuple(node["axes"]) if "axes" in node else f"tuple(range({o[0]}.dim()))"
            return f"{REDUCTIONS[op]}({o[0]}, dim={axes}, keepdim={bool(node.get('keepdims', False))})"
        return getattr(self, "op_" + op)(node, o, dtype)

    def op_matmul(self, node, o, _):
        a = f"{o[0]}.mT" if node.get("transpose_a") else o[0]
        b = f"{o[1]}.mT" if node.get("transpose_b") else o[1]
        return f"torch.matmul({a}, {b})"

    def extremum(self, node, o, function, bound):
        x, y = node["inputs"]
        if isinstance(x, str) and isinstance(y, str):
            return f"{function}({o[0]}, {o[1]})"
        tensor, number = (o[0], o[1]) if isinstance(x, str) else (o[1], o[0])
        return f"torch.clamp({tensor}, {bound}={number})"

    def op_maximum(self, node, o, _):
        return self.extremum(node, o, "torch.maximum", "min")

    def op_minimum(self, node, o, _):
        return self.extremum(node, o, "torch.minimum", "max")

    def op_pow(self, _, o, __):
        return f"torch.pow({o[0]}, {o[1]})"

    def op_gelu(self, node, o, _):
        return f"F.gelu({o[0]}, approximate={node['approximate']!r})"

    def op_clamp(self, node, o, _):
        return f"torch.clamp({o[0]}, min={node.get('min')!r}, max={node.get('max')!r})"

    def op_cast(self, _, o, dtype):
        return f"{o[0]}.to(torch.{DTYPES[dtype]})"

    def op_softmax(self, node, o, _):
        return f"torch.softmax({o[0]}, dim={node['axis']})"

    def op_rms_norm(self, node, o, _):
        weight = o[1] if len(o) > 1 else "None"
        return f"F.rms_norm({o[0]}, {o[0]}.shape[-{len(node['axes'])}:], {weight}, {node['eps']!r})"

    def op_layer_norm(self, node, o, _):
        weight, bias = (o[1:] + ["None", "None"])[:2]
        return f"F.layer_norm({o[0]}, {o[0]}.shape[-{len(node['axes'])}:], {weight}, {bias}, {node['eps']!r})"

    def op_l2_norm(self, node, o, dtype):
        axes, eps = tuple(node["axes"]), node["eps"]
        norm = f"torch.linalg.vector_norm({o[0]}, dim={axes}, keepdim=True"
        # A tiny eps only guards against zero rows: what a user would write is then the shorter form.
        if eps <= 1e-8:
            return f"{o[0]} / {norm})"
        return f"{o[0]} * torch.rsqrt({norm}, dtype=torch.float32).square() + {eps!r}).to(torch.{DTYPES[dtype]})"

    def op_causal_mask(self, node, o, _):
        # Keeps j <= i + offset: what is masked lies on diagonal offset + 1 and above it.
        diagonal = node.get("offset", 0) + 1
        made = f"torch.ones({o[0]}.shape[-2:], dtype=torch.bool, device={o[0]}.device).triu({diagonal})"
        if not self.masks_inside:
            made = f"kept_mask({o[0]}, {diagonal})"
        return f"{o[0]}.masked_fill({made}, float('-inf'))"

    def op_reshape(self, node, o, _):
        return f"{o[0]}.reshape({tuple(node['shape'])})"

    def op_transpose(self, node, o, _):
        return f"{o[0]}.permute({tuple(node['perm'])})"

    def op_concat(self, node, o, _):
        return f"torch.cat([{', '.join(o)}], dim={node['axis']})"

    def op_slice(self, node, o, _):
        start, stop = node["start"], node["stop"]
        x, axis = o[0], node["axis"]
        size = f"{x}.shape[{axis}]"
        first = f"{size} - {-start}" if start < 0 else f"{start}"
        last = f"{size} - {-stop}" if stop < 0 else f"{stop}"
        return f"{x}.narrow({axis}, {first}, ({last}) - ({first}))"

    def op_broadcast_to(self, node, o, _):
        return f"{o[0]}.expand({tuple(node['shape'])})"

    def op_attention(self, node, o, _):
        return f"fused_attention({', '.join(o)}, {node['scale']!r}, {node['causal']})"


_kept = {}


def kept_mask(x, diagonal):
    """The mask that an eager program would make once and keep."""
    import torch

    key = (x.shape[-2], x.shape[-1], diagonal, str(x.device))
    if key not in _kept:
        _kept[key] = torch.ones(x.shape[-2:], dtype=torch.bool, device=x.device).triu(diagonal)
    return _kept[key]


def function_of(program, masks_inside=False):
    """The program as a Python function of its input tensors, giving a tuple of its outputs, and its source."""
    import torch
    import torch.nn.functional as F

    source = Writer(program, masks_inside).write()
    # Tracebacks and torch.compile ask for the lines.
    place = f"<program {program.get('name', '')} {id(program)} {masks_inside}>"
    linecache.cache[place] = (len(source), None, source.splitlines(True), place)
    space = {"torch": torch, "F": F, "kept_mask": kept_mask, "fused_attention": fused_attention}
    exec(compile(source, place, "exec"), space)
    return space["program"], source


def used_inputs(program):
    names = {x for node in in_order(program) for x in node["inputs"] if isinstance(x, str)} | set(program["outputs"])
    return [i for i, tensor in enumerate(program["inputs"]) if tensor["name"] in names]


def extent(tensor):
    """Elements from the first to the last one of an input, gaps included."""
    shape, strides = tensor["shape"], tensor.get("strides")
    if strides is None:
        return math.prod(shape)
    return 1 + sum((d - 1) * s for d, s in zip(shape, strides))


def stored_bytes(tensor):
    """Bytes that reading an input once moves: neither gaps nor repeated elements."""
    strides = tensor.get("strides") or [1] * len(tensor["shape"])
    elements = math.prod(d for d, s in zip(tensor["shape"], strides) if s != 0)
    return elements * SIZES[dtype_name(tensor["dtype"])]


def make_inputs(program, device, seed=0):
    """Input tensors of N(0, 1); what is only ever a right operand of products has variance 1/K."""
    import torch

    generator = torch.Generator(device=device).manual_seed(seed)
    tensors = []
    for tensor in program["inputs"]:
        users = [n for n in program["nodes"] if tensor["name"] in n["inputs"]]
        right = [n for n in users if n["op"] == "matmul" and n["inputs"][0] != tensor["name"]]
        scale = 1.0
        if right and len(right) == len(users):
            scale = tensor["shape"][-1 if right[0].get("transpose_b") else -2] ** -0.5
        flat = torch.randn(extent(tensor), generator=generator, device=device) * scale
        flat = flat.to(getattr(torch, DTYPES[dtype_name(tensor["dtype"])]))
        tensors.append(shaped(flat, tensor))
    return tensors


def shaped(flat, tensor):
    if tensor.get("strides") is None:
        return flat.reshape(tensor["shape"])
    return flat.as_strided(tensor["shape"], tensor["strides"])


def copy_of(x):
    """The same values at the same strides elsewhere."""
    size = 1 + sum((d - 1) * s for d, s in zip(x.shape, x.stride()))
    flat = x.as_strided((size,), (1,)).clone()
    return flat.as_strided(x.shape, x.stride())


def scores_of(softmax, maker, uses):
    """What a softmax is taken of: (product node, scale, causal), or None where there is more to it."""
    value, scale, causal = softmax["inputs"][0], 1.0, False
    while value in maker and uses[value] == 1:
        node = maker[value]
        x = node["inputs"]
        number = [y for y in x if not isinstance(y, str)]
        if node["op"] == "matmul" and node.get("transpose_b") and not node.get("transpose_a"):
            return node, scale, causal
        if node["op"] == "mul" and number:
            scale *= number[0]
        elif node["op"] == "div" and isinstance(x[0], str) and number:
            scale /= number[0]
        elif node["op"] == "causal_mask" and node.get("offset", 0) == 0:
            causal = True
        else:
            return None
        value = next(y for y in x if isinstance(y, str))
    return None


def with_attention(program):
    """The program with one attention in place of product, scale, mask, softmax and product; None if it has none."""
    nodes = in_order(program)
    maker = {n["output"]: n for n in nodes if "output" in n}
    used = [x for n in nodes for x in n["inputs"] if isinstance(x, str)] + program["outputs"]
    uses = {name: used.count(name) for name in used}
    for last in nodes:
        soft = maker.get(last["inputs"][0])
        if last["op"] != "matmul" or last.get("transpose_a") or last.get("transpose_b") or soft is None:
            continue
        if soft["op"] != "softmax" or soft["axis"] != -1 or uses[soft["output"]] != 1:
            continue
        found = scores_of(soft, maker, uses)
        if found is not None:
            first, scale, causal = found
            fused = {"op": "attention", "inputs": first["inputs"] + last["inputs"][1:], "output": last["output"],
                     "scale": scale, "causal": causal}
            return {**program, "nodes": [n for n in nodes if n is not last] + [fused]}
    return None


def fused_attention(q, k, v, scale, causal):
    """PyTorch's fused attention. Query heads that share keys become rows of one head."""
    import torch.nn.functional as F

    shape = q.shape
    q, k, v = (x[(None,) * (4 - x.dim())] for x in (q, k, v))
    if q.shape[:2] != k.shape[:2]:
        if causal or k.shape[0] != q.shape[0] or k.shape[1] != 1 or v.shape[:2] != k.shape[:2]:
            raise ValueError("heads that are not shared in a simple way")
        q = q.reshape(q.shape[0], 1, -1, q.shape[3])
    out = F.scaled_dot_product_attention(q, k, v, is_causal=causal, scale=scale)
    return out.reshape(*shape[:-1], v.shape[-1])
