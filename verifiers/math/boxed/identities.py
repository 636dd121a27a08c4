"""Whether two expressions with variables are one function, or two ways to write one family of functions: by their
values. Runs in a box, beside library.py, before the library's own simplification, which takes longer and sees less.

Values at chosen points can tell functions apart, never prove them equal; but an answer that is another function and
agrees with the gold in all digits at all points can only be written by who knows the gold.
"""

import re

import mpmath
import sympy
from sympy.core.function import AppliedUndef

DIGITS = 60
EXACT = mpmath.mpf("1e-40")
VALUES = ("-2.3719", "-1.2863", "-0.7341", "-0.4127", "0.3719", "0.6823", "1.4177", "2.6129", "3.8731")
FEWEST = 3
"""Points at which both must have a value."""
LARGEST = 1e12
"""Values beyond it are not compared: `e^{100} x + 1` and `e^{100} x` have 43 digits in common."""
CLEAR = 1e-10
"""By so much values must differ at least, relative to their size: they may be what is left of larger ones."""
CONSTANT = re.compile(r"[cC]_\{?[0-9]\}?")
WHOLE = ("k", "l", "m", "n", "N")
STEPWISE = (sympy.Sum, sympy.Product)
COUNTING = (sympy.factorial, sympy.binomial, sympy.floor, sympy.ceiling, *STEPWISE)
UNKNOWN = ("x", "t")
SEQUENCES = {
    "f": lambda at: sympy.sin(3 * at + 1) + 2,
    "g": lambda at: sympy.cos(2 * at + 5) + 3,
    "h": lambda at: 1 / (at**2 + 3) + at / 7,
}
"""What stands for `a_{k+1}` in a sum, which is of no one sequence; it comes as `f(k, 1)`."""


def usual(expression):
    """With real variables, which the library's parser makes of a text that has no `i` in it, and with `i` itself."""
    names = {
        name: sympy.I if name.name == "i" else sympy.Symbol(name.name, real=True) for name in expression.free_symbols
    }
    return expression.subs(names)


def same(gold, answer):
    """Whether both are one function, or one family of functions; None where that is unknown."""
    if gold.has(*STEPWISE, sympy.Integral) and any(
        isinstance(one, AppliedUndef) for one in sympy.preorder_traversal(gold)
    ):
        if any(
            one.has(sympy.oo, sympy.Integral) for one in (gold, answer)
        ):  # the library's simplification takes half a minute
            return bool(sympy.expand(gold - answer) == 0)
        gold, answer = (one.replace(_is_sequence, _of_sequence) for one in (gold, answer))
    family = same_family(gold, answer)
    return same_function(gold, answer) if family is None else family


def _is_sequence(expression):
    return isinstance(expression, AppliedUndef) and len(expression.args) == 2 and expression.func.__name__ in SEQUENCES


def _of_sequence(applied):
    return SEQUENCES[applied.func.__name__](sum(applied.args))


def same_function(gold, answer):
    """Whether both have the same values; None where that is unknown. Where the gold is real at all, real values count:
    both must be real, or neither. Different are those that differ where both are real. Beside a root or a logarithm on
    both sides all is positive: `3 \\log x` is `\\log x^3`, `x\\sqrt{y}` is `\\sqrt{x^2 y}`; not with `|x|`."""
    names = gold.free_symbols | answer.free_symbols
    if any(one.has(sympy.Float) for one in (gold, answer)):
        return None
    pairs = [(_value(gold, point), _value(answer, point)) for point in _points(sorted(names, key=str), gold, answer)]
    if any(one.has(*COUNTING) for one in (gold, answer)):  # (n-3)! is not asked for n = 1
        pairs = [pair for pair in pairs if None not in pair]
    real = [pair for pair in pairs if _is_real(pair[0]) or _is_real(pair[1])]
    counted = real if len(real) >= FEWEST else [pair for pair in pairs if pair != (None, None)]
    if len(counted) < FEWEST:
        return None
    unlike = [pair for pair in counted if not _near(*pair)]
    far = (abs(one - other) > max(abs(one), abs(other)) * CLEAR for one, other in filter(_are_real, unlike))
    return False if any(far) else None if unlike else True


def same_family(gold, answer):
    """Whether both are all sums of one function and multiples of others, as solutions of linear equations are; None
    where they are no such sums. `C_1 e^x + C_2 e^{-x}` is `A \\cosh x + B \\sinh x`: the gold's constants are called
    `C_1`, `C_2`, the answer's as they are, or by letters that the gold has not."""
    mine = {name for name in gold.free_symbols if CONSTANT.fullmatch(name.name)}
    others = gold.free_symbols - mine
    theirs = answer.free_symbols - others
    variables = others if len(others) == 1 else {name for name in others if name.name in UNKNOWN}
    if len(mine) < 2 or len(theirs) != len(mine) or len(variables) != 1 or not others <= answer.free_symbols:
        return None
    families = [_parts(one, names) for one, names in ((gold, mine), (answer, theirs))]
    if None in families:
        return None
    (start, span), (their_start, their_span) = families
    at = dict(zip(sorted(others, key=str), map(_number, VALUES[1:]), strict=False))
    (variable,) = variables
    points = [{**at, variable: _number(value)} for value in VALUES]
    columns = [[_value(part, point) for point in points] for part in (*span, *their_span, start - their_start)]
    rows = [row for row in zip(*columns, strict=True) if None not in row]
    if len(rows) < len(span) + FEWEST:
        return None
    *parts, shift = zip(*rows, strict=True)
    own, other = parts[: len(span)], parts[len(span) :]
    return all(_spans(own, each) for each in (*other, shift)) and all(_spans(other, each) for each in own)


def _points(names, *expressions):
    """Values of all names: whole numbers for a name such as n beside what counts, else any."""
    counting = any(one.has(*COUNTING) or _alternates(one) for one in expressions)
    positive = all(map(_has_root, expressions)) and not any(one.has(sympy.Abs) for one in expressions)
    values = [value.lstrip("-") for value in VALUES] if positive else VALUES
    number = sympy.Integer if any(one.has(*STEPWISE) for one in expressions) else _number
    for at in range(len(VALUES)):
        yield {
            name: number(at + step + 1)
            if counting and name.name in WHOLE
            else _number(values[(at + 4 * step) % len(values)])
            for step, name in enumerate(names)
        }


def _number(value):
    """Not an exact one, whose powers and factorials could have any number of digits."""
    return sympy.Float(value, DIGITS)


def _has_root(expression):
    return expression.has(sympy.log) or any(not power.exp.is_integer for power in expression.atoms(sympy.Pow))


def _alternates(expression):
    return any(power.base.is_negative and power.exp.free_symbols for power in expression.atoms(sympy.Pow))


def _parts(expression, constants):
    """What stands without the constants, and beside each; None where they do not stand alone."""
    spans = [expression.diff(name) for name in sorted(constants, key=str)]
    if any(each.free_symbols & constants for each in spans):
        return None
    return expression.subs(dict.fromkeys(constants, 0)), spans


def _spans(columns, target):
    """Whether the target is a sum of multiples of the columns, which are independent of each other."""
    with mpmath.workdps(DIGITS):
        size = max(1, mpmath.norm(mpmath.matrix(target)))
        try:
            _factors, rest = mpmath.qr_solve(mpmath.matrix(list(zip(*columns, strict=True))), mpmath.matrix(target))
        except (ZeroDivisionError, ValueError):
            return False
        return bool(rest <= size * EXACT)


def _value(expression, point):
    """A complex number; None where there is none, or it is too large."""
    try:
        found = expression.subs(point).doit().evalf(DIGITS, maxn=2 * DIGITS)
    except ValueError:  # at a pole, such as (-1)!
        return None
    if not found.is_number or not found.is_finite:
        return None
    with mpmath.workdps(DIGITS):
        value = mpmath.mpmathify(found)
        return value if abs(value) <= LARGEST else None


def _are_real(pair):
    return all(map(_is_real, pair))


def _is_real(value):
    return value is not None and abs(mpmath.im(value)) <= abs(value) * EXACT


def _near(one, other):
    if one is None or other is None or _is_real(one) != _is_real(other):
        return False
    with mpmath.workdps(DIGITS):
        return abs(one - other) <= max(abs(one), abs(other)) * EXACT
