#!/usr/bin/env python3
"""Writes verdicts.inc: what an independent implementation says about random sub-expression questions.

The test draws the same questions from the same random stream and compares its answers, so only one bit
for each question is stored. Terms are nested tuples, polynomials sorted tuples of (monomial, count); the
code favours obviousness over speed. Usage: generate_verdicts.py TARGETS > verdicts.inc
"""
import sys
from collections import Counter
from functools import lru_cache

M64 = (1 << 64) - 1
PAIRS = 100
SEED = 0x5EED


class Stream:
    def __init__(self, seed):
        self.state = self.mix((seed + 0x9E3779B97F4A7C15) & M64) ^ self.mix(1)

    @staticmethod
    def mix(z):
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & M64
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & M64
        return z ^ (z >> 31)

    def below(self, n):
        self.state = (self.state + 0x9E3779B97F4A7C15) & M64
        return (self.mix(self.state) * n) >> 64


# ---- random questions (the C test has the same functions) ---------------------------------------------
PROFILES = [  # variables, binary operators, unary operators
    (3, ["add", "mul", "div"], ["exp", "sqrt", "silu", "sum"]),
    (1, ["add", "mul"], ["sum"]),
    (2, ["add", "mul", "mul"], ["sum"]),
    (2, ["div", "add", "mul", "div"], ["sum"]),
    (2, ["mul", "add", "div"], ["sqrt", "sum"]),
    (2, ["add", "div", "mul"], ["exp", "sum"]),
    (3, ["div", "mul"], ["sum", "sqrt"]),
]
LENGTHS = [2, 3, 4, 6]


def gen(rng, n, profile):
    variables, binary, unary = PROFILES[profile]
    if n == 1:
        return ("leaf", rng.below(variables))
    which = rng.below(len(binary) + len(unary))
    if n == 2 or which >= len(binary):
        op = unary[which % len(unary)]
        if op == "sum":
            length = LENGTHS[rng.below(4)]
            return ("sum", gen(rng, n - 1, profile), length)
        return (op, gen(rng, n - 1, profile))
    left = 1 + rng.below(n - 2)
    a = gen(rng, left, profile)
    return (binary[which], a, gen(rng, n - 1 - left, profile))


def children(t):
    if t[0] == "leaf":
        return ()
    return t[1:2] if t[0] == "sum" else t[1:]


def preorder(t, out):
    out.append(t)
    for c in children(t):
        preorder(c, out)
    return out


def replace(t, index, new):
    """t with its index-th node in preorder replaced; and how many nodes were passed."""
    if index == 0:
        return new
    index -= 1
    parts = list(t)
    for i, c in enumerate(children(t)):
        size = len(preorder(c, []))
        if index < size:
            parts[1 + i] = replace(c, index, new)
            break
        index -= size
    return tuple(parts)


def pick(rng, t):
    nodes = preorder(t, [])
    return nodes[rng.below(len(nodes))]


def question(rng, target, profile):
    kind = rng.below(7)
    if kind == 0:
        return gen(rng, 1 + rng.below(7), profile)
    a = pick(rng, target)
    if kind == 1:
        return a
    if kind in (2, 3, 4):
        b = pick(rng, target)
        if kind == 4:
            b = gen(rng, 1 + rng.below(2), profile)
        binary = PROFILES[profile][1]
        return (binary[rng.below(len(binary))], a, b)
    if kind == 5:
        unary = PROFILES[profile][2]
        op = unary[rng.below(len(unary))]
        return ("sum", a, LENGTHS[rng.below(4)]) if op == "sum" else (op, a)
    where = rng.below(len(preorder(a, [])))
    return replace(a, where, pick(rng, target))


# ---- the normal form -----------------------------------------------------------------------------------
NOTHING = ()
IDENTITY = (1, (), (), NOTHING, NOTHING, NOTHING)  # length, leaves, silu arguments, exp, sqrt, denominator


def bag(counter):
    return tuple(sorted(counter.items()))


def size(p):
    return sum(c for _, c in p)


@lru_cache(None)
def plus(p, q):
    c = Counter(dict(p))
    c.update(dict(q))
    return bag(c)


@lru_cache(None)
def times(p, q):
    if p == NOTHING or q == NOTHING:
        return p + q
    c = Counter()
    for m, i in p:
        for n, j in q:
            c[compose(m, n)] += i * j
    return bag(c)


@lru_cache(None)
def compose(m, n):
    return (m[0] * n[0], tuple(sorted(m[1] + n[1])), tuple(sorted(m[2] + n[2])),
            plus(m[3], n[3]), times(m[4], n[4]), times(m[5], n[5]))


def apply(operator, p):
    return bag(Counter({compose(operator, m): c for m, c in p}))


@lru_cache(None)
def normal(t):
    op = t[0]
    if op == "leaf":
        return (((1, (t[1],)) + IDENTITY[2:], 1),)
    a = normal(t[1])
    if op == "add":
        return plus(a, normal(t[2]))
    if op == "mul":
        return times(a, normal(t[2]))
    if op == "div":
        return apply(IDENTITY[:5] + (normal(t[2]),), a)
    if op == "sum":
        return apply((t[2],) + IDENTITY[1:], a)
    if op == "silu":
        return ((IDENTITY[:2] + ((a,),) + IDENTITY[3:], 1),)
    if op == "exp":
        return ((IDENTITY[:3] + (a,) + IDENTITY[4:], 1),)
    return ((IDENTITY[:4] + (a,) + IDENTITY[5:], 1),)


# ---- the decision --------------------------------------------------------------------------------------
def without(xs, ys):
    left = Counter(xs)
    left.subtract(Counter(ys))
    return None if any(v < 0 for v in left.values()) else tuple(sorted(left.elements()))


def subtract(p, q):
    left = Counter(dict(p))
    left.subtract(Counter(dict(q)))
    return None if any(v < 0 for v in left.values()) else bag(+left)


@lru_cache(None)
def factor(m, n):
    """The operator that takes monomial n to monomial m, or None."""
    if m[0] % n[0]:
        return None
    parts = (without(m[1], n[1]), without(m[2], n[2]), subtract(m[3], n[3]),
             quotient(m[4], n[4]), quotient(m[5], n[5]))
    return None if None in parts else (m[0] // n[0],) + parts


@lru_cache(None)
def quotient(p, q):
    if p == q:
        return NOTHING
    if q == NOTHING:
        return p
    if p == NOTHING or size(p) % size(q):
        return None

    def search(left, found):
        if left == NOTHING:
            return bag(Counter(found))
        for n, _ in q:
            o = factor(left[0][0], n)
            if o is None or not any(o[1:5]):
                continue
            rest = subtract(left, apply(o, q))
            if rest is not None:
                answer = search(rest, found + [o])
                if answer is not None:
                    return answer
        return None

    return search(p, [])


@lru_cache(None)
def nested(target):
    seen = []
    todo = [target]
    while todo:
        p = todo.pop()
        if p == NOTHING or p in seen:
            continue
        seen.append(p)
        for m, _ in p:
            todo += [m[3], m[4], m[5], *m[2]]
    return seen


def entailed(x, target):
    first = x[0][0]
    for p in nested(target):
        for m, _ in p:
            o = factor(m, first)
            if o is not None and subtract(p, apply(o, x)) is not None:
                return True
    return False


def main():
    targets = int(sys.argv[1])
    rng = Stream(SEED)
    word, bits, words = 0, 0, []
    for _ in range(targets):
        profile = rng.below(len(PROFILES))
        target = gen(rng, 4 + rng.below(7), profile)
        nf = normal(target)
        for _ in range(PAIRS):
            word |= entailed(normal(question(rng, target, profile)), nf) << bits
            bits += 1
            if bits == 64:
                words.append(word)
                word, bits = 0, 0
    words.append(word)
    print("/* Written by generate_verdicts.py: %d targets, %d questions each. */" % (targets, PAIRS))
    print("enum { VERDICT_TARGETS = %d, VERDICT_PAIRS = %d };" % (targets, PAIRS))
    print("static const uint64_t verdicts[] = {")
    for i in range(0, len(words), 5):
        print("    " + " ".join("0x%016x," % w for w in words[i:i + 5]))
    print("};")


main()
