"""Random collections, matrices, intervals and words with their spellings, equal or not by how they are made."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from random import Random

from tests.math.random_values import Made, Maker, either, fraction_spellings


def _member(rng: Random) -> list[str]:
    """One member's spellings."""
    kind = rng.randrange(4)
    n = rng.randint(-30, 30)
    if kind < 2:
        return [str(n), str(n)]
    if kind == 2:
        return fraction_spellings(Fraction(2 * n + 1, 2), rng)[:5]
    a, b = rng.randint(2, 6), rng.choice([2, 3, 5])
    return [f"{a}\\sqrt{{{b}}}", f"{a}*sqrt({b})", f"\\sqrt{{{a * a * b}}}"]


def _members(rng: Random, count: int) -> list[list[str]]:
    """Distinct members."""
    found: dict[str, list[str]] = {}
    while len(found) < count:
        member = _member(rng)
        found[member[0]] = member
    return list(found.values())


def _spelled(members: Sequence[Sequence[str]], rng: Random) -> list[str]:
    return [rng.choice(member) for member in members]


def finite_set(rng: Random) -> Made:
    members = _members(rng, rng.randint(2, 5))

    def written(members: Sequence[Sequence[str]]) -> list[str]:
        mixed = rng.sample(list(members), len(members))
        words = [f"\\{{{', '.join(_spelled(mixed, rng))}\\}}", f"\\left\\{{{','.join(_spelled(mixed, rng))}\\right\\}}"]
        *most, last = _spelled(mixed, rng)
        return [
            *words,
            f"{', '.join(most)} \\text{{ and }} {last}",
            f"{', '.join(most)} or {last}",
            ", ".join([*most, last]),
        ]

    fewer, changed = members[1:], [["97", "97"], *members[1:]]
    repeated = [members[0], *members]
    other = [*(written(fewer)[:2] if len(fewer) > 1 else []), *written(changed), *written([*members, ["98"]])]
    other += [", ".join(_spelled(repeated, rng))]
    return either(rng, written(members), other)


def multiset(rng: Random) -> Made:
    members = _members(rng, rng.randint(1, 4))
    many = [*members, *rng.sample(members, 1)]

    def written(members: Sequence[Sequence[str]]) -> list[str]:
        mixed = _spelled(rng.sample(list(members), len(members)), rng)
        return [", ".join(mixed), ",".join(mixed), f"{', '.join(mixed[:-1])} and {mixed[-1]}"]

    once = written(members) if len(members) > 1 else [members[0][0]]
    return either(rng, written(many), [*once, *written([*many, members[0]])])


def ordered(rng: Random) -> Made:
    members = _members(rng, rng.randint(3, 5))

    def written(members: Sequence[Sequence[str]]) -> list[str]:
        a, b, c, d = (", ".join(_spelled(members, rng)) for _ in range(4))
        column = "\\\\".join(_spelled(members, rng))
        return [
            f"({a})",
            f"\\left({b}\\right)",
            f"\\langle {c} \\rangle",
            f"({d.replace(', ', ',')})",
            f"\\begin{{pmatrix}}{column}\\end{{pmatrix}}",
            f"\\begin{{Bmatrix}}{column}\\end{{Bmatrix}}",
        ]

    turned = [*members[1:], members[0]]
    other = [
        *written(turned),
        *written([["99"], *members[1:]]),
        *written(members[:-1] if len(members) > 3 else turned),
        f"\\{{{', '.join(_spelled(members, rng))}\\}}",
        f"\\begin{{vmatrix}}{'&'.join(_spelled(members, rng))}\\end{{vmatrix}}",
    ]
    return either(rng, written(members), other)


def matrix(rng: Random) -> Made:
    rows, columns = rng.randint(2, 3), rng.randint(2, 3)
    cells = [
        [
            rng.choice([[str(n)], [f"\\frac{{{2 * n}}}{{2}}", str(n)]])
            for n in (rng.randint(-9, 9) for _ in range(columns))
        ]
        for _ in range(rows)
    ]
    cells[0][1] = ["41"]
    cells[1][0] = ["42"]

    def body(cells: Sequence[Sequence[Sequence[str]]]) -> str:
        return " \\\\ ".join(" & ".join(_spelled(row, rng)) for row in cells)

    def written(cells: Sequence[Sequence[Sequence[str]]]) -> list[str]:
        kinds = ["pmatrix", "bmatrix", "Bmatrix"]
        array = f"\\left[\\begin{{array}}{{{'c' * len(cells[0])}}}{body(cells)}\\end{{array}}\\right]"
        return [*(f"\\begin{{{kind}}}{body(cells)}\\end{{{kind}}}" for kind in kinds), array]

    changed = [[["77"], *cells[0][1:]], *cells[1:]]
    turned = [[row[i] for row in cells] for i in range(columns)]
    other = [
        *written(changed),
        *written(turned),
        *(f"\\begin{{{k}}}{body(cells)}\\end{{{k}}}" for k in ("vmatrix", "Vmatrix")),
    ]
    return either(rng, written(cells), other)


def interval(rng: Random) -> Made:
    low = rng.randint(-20, 20)
    high = low + rng.randint(1, 20)
    closed = rng.choice([True, False]), rng.choice([True, False])

    def written(low: int, high: int, closed: tuple[bool, bool]) -> list[str]:
        left, right = "(["[closed[0]], ")]"[closed[1]]
        out_left, out_right = "]["[closed[0]], "[]"[closed[1]]
        less = ["<", "\\le "]
        return [
            f"{left}{low},{high}{right}",
            f"\\left{left}{low}, {high}\\right{right}",
            f"{out_left}{low}, {high}{out_right}",
            f"\\left{out_left}{low},{high}\\right{out_right}",
            f"{out_left}{low};{high}{out_right}",
            f"x \\in {left}{low}, {high}{right}",
            f"{low} {less[closed[0]]} x {less[closed[1]]} {high}",
            f"{left}{2 * low}/2, \\frac{{{3 * high}}}{{3}}{right}",
        ]

    other = [
        *written(low, high, (not closed[0], closed[1])),
        *written(low, high, (closed[0], not closed[1])),
        *written(low - 1, high, closed),
        *written(low, high + 1, closed),
        f"\\{{{low}, {high}\\}}",
    ]
    gold, answer, equal = either(rng, written(low, high, closed), other)
    return gold, answer, equal


def half_line(rng: Random) -> Made:
    a = rng.randint(-30, 30)
    closed = rng.choice([True, False])

    def written(a: int, closed: bool) -> list[str]:
        left, out = "(["[closed], "]["[closed]
        more, less = ("≥", "\\leq") if closed else (">", "<")
        greater = "\\ge" if closed else ">"
        return [
            f"{left}{a}, \\infty)",
            f"x {more} {a}",
            f"{a} {less} x",
            f"{out}{a}, +\\infty[",
            f"x \\in {left}{a}, ∞)",
            f"\\{{x \\mid x {greater} {a}\\}}",
        ]

    other = [*written(a + 1, closed), *written(a, not closed), f"(-\\infty, {a})", f"x < {a}"]
    return either(rng, written(a, closed), other)


def union(rng: Random) -> Made:
    a = rng.randint(-20, 0)
    b, c = a + rng.randint(1, 9), a + rng.randint(10, 20)

    def written(a: int, b: int, c: int) -> list[str]:
        return [
            f"(-\\infty, {a}) \\cup ({b}, {c}]",
            f"({b},{c}]\\cup(-\\infty,{a})",
            f"]-\\infty, {a}[ \\cup ]{b}, {c}]",
            f"x < {a} \\text{{ or }} {b} < x \\le {c}",
            f"x<{a} or {b}<x≤{c}",
        ]

    other = [*written(a, b, c + 1), *written(a - 1, b, c), f"(-\\infty, {a}] \\cup ({b}, {c}]", f"(-\\infty, {a})"]
    return either(rng, written(a, b, c), other)


_FUNCTION_MEMBERS = [
    ["\\sin 1", "sin(1)"],
    ["\\ln 3", "ln(3)", "\\operatorname{ln}(3)"],
    ["\\cos 2", "cos(2)"],
    ["e^2", "exp(2)"],
    ["\\arctan 2", "atan(2)"],
    ["\\log_2 5", "log_2(5)"],
]


def functions_in_collections(rng: Random) -> Made:
    """Members that only the library can read."""
    chosen = [*rng.sample(_FUNCTION_MEMBERS, rng.randint(2, 3)), [str(rng.randint(2, 9))]]
    rng.shuffle(chosen)
    kind = rng.choice(["tuple", "set", "list"])

    def written(members: Sequence[Sequence[str]]) -> list[str]:
        mixed = list(members) if kind == "tuple" else rng.sample(list(members), len(members))
        body = ", ".join(_spelled(mixed, rng))
        return [{"tuple": f"({body})", "set": f"\\{{{body}\\}}", "list": body}[kind]]

    turned = [*chosen[1:], chosen[0]] if kind == "tuple" else [["31"], *chosen[1:]]
    other = [*written(turned), *written([["sin(9)"], *chosen[1:]]), *written([*chosen, ["cos(7)"]])]
    other += written([chosen[0], *chosen]) if kind == "list" else []
    return either(rng, [*written(chosen), *written(chosen)], other)


_WORDS = [
    ["\\text{yes}", "Yes", "yes"],
    ["\\text{no}", "No", "\\textbf{no}"],
    ["\\text{even}", "Even"],
    ["\\text{odd}", "odd"],
    ["\\text{Tuesday}", "tuesday"],
    ["\\text{increasing}", "increasing"],
    ["\\text{no solution}", "no solution", "No solution"],
]


def words(rng: Random) -> Made:
    first, second = rng.sample(_WORDS, 2)
    return either(rng, first, [*second, f"\\text{{not }}{first[0]}", "7"])


def named(rng: Random) -> Made:
    first, second = rng.sample(range(-30, 30), 2)
    same = [f"x={first}, y={second}", f"y={second}, x={first}", f"x = {first} \\text{{ and }} y = {second}"]
    other = [f"x={second}, y={first}", f"x={first}, y={second + 1}", f"x={first}"]
    gold, answer, equal = either(rng, same, other)
    return gold, answer, equal


COLLECTIONS: dict[str, Maker] = {
    "set": finite_set,
    "multiset": multiset,
    "tuple": ordered,
    "matrix": matrix,
    "interval": interval,
    "half line": half_line,
    "union": union,
    "functions in collections": functions_in_collections,
    "words": words,
    "named values": named,
}
