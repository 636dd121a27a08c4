"""math-verify as a service: parses gold and answer, compares them, says how far it got. Runs in a box.

A request is JSON `{gold, answer, precision, strict}` (LaTeX texts); the reply `{equal, gold, answer}` with what was
read, as text. Where it has a `text`, the answer is searched for in that, as math_with_judge does; if what is found is
the `candidate`, `answer` is its better spelling. Timeouts are the service worker's: the library's own count wall time,
which makes a verdict depend on load. Its exceptions are its own "not equal", except memory errors, which give no
verdict. Source of the comparison: math_verify.metric.math_metric, with the extraction targets of NeMo Gym's
math_with_judge.
"""

import json
import logging
import os
import re
import sys
import warnings
from functools import lru_cache
from itertools import product

sys.path.insert(0, "/opt/sandbox-gym/site")  # where a local box has packages that its interpreter lacks

import identities
import service_worker
import sympy
from latex2sympy2_extended.antlr_parser import PSParser
from latex2sympy2_extended.math_normalization import normalize_latex
from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify
from sympy.core.function import AppliedUndef

GOLD = (LatexExtractionConfig(),)
ANSWER = (ExprExtractionConfig(), LatexExtractionConfig())
SHOWN = 2000
DIGITS = 30
EXACT = sympy.Float("1e-25")
ROUNDED = sympy.Float("5e-3")
LARGE = sympy.Float("1e9")
MOST_DIGITS = 20_000
NAME = re.compile(r"(?:[^=<>,;0-9]|(?<=_)[0-9]|(?<=_\{)[0-9])*=(?=[^=]+$)")
SIGNS = re.compile(r"(?:[\s:#*∴⇒→∼≃]|\\(?:approx|sim|therefore|implies|[rR]ightarrow)\b|[A-Za-z]?\s*\\to\b)+")
"""What may stand before a value, though LaTeX's parser does not read it."""
if not hasattr(PSParser.AtomContext, "FUNC_GAMMA"):  # asked for before percentages, which were never read without it:
    PSParser.AtomContext.FUNC_GAMMA = lambda self: None  # the parsers for ANTLR 4.9 and 4.11 have no such rule
WARM_UP = (
    (r"\boxed{\frac{1}{2}}", r"so it is $0.5$, that is \boxed{1/2}"),
    (r"\boxed{x^2+2x+1}", r"\boxed{(x+1)^2}"),
    (r"\boxed{\{1,2\}}", r"\boxed{\{2, 1\}}"),
    (r"\boxed{(0,\infty)}", r"\boxed{x>0}"),
    (r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}", r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}"),
    (r"\boxed{\sqrt{2}\pi}", r"\boxed{4.44288}"),
)


def handle(body, say):
    request = json.loads(body)
    gold = parsed(request["gold"], None)
    say("gold")
    answer = parsed(request["text"], ANSWER) if "text" in request else boxed(request["answer"])
    if "text" in request and answer and _is(request["candidate"], answer[-1]):
        answer = [*boxed(request["answer"])[:1], request["candidate"]]
    say("answer")
    if not answer and "text" in request:
        say("nothing")
        return json.dumps({"equal": False, "gold": [_text(one) for one in gold], "answer": []}).encode("utf-8")
    equal = any(_equal(mine, theirs, request) for mine, theirs in product(gold, answer))
    say("equal" if equal else "unequal")
    reply = {"equal": equal, "gold": [_text(one) for one in gold], "answer": [_text(one) for one in answer]}
    return json.dumps(reply).encode("utf-8")


@lru_cache(maxsize=1024)
def _cached_gold(text):
    return parse(text, GOLD, parsing_timeout=None, raise_on_error=True)


def parsed(text, targets):
    try:
        if targets is None:
            return _cached_gold(text)
        mode = "first_match" if targets is GOLD else "any_match"  # not the 1/2 of a boxed \frac12 \cup 6
        return parse(text, targets, extraction_mode=mode, parsing_timeout=None, raise_on_error=True)
    except MemoryError:
        raise
    except Exception:
        return []


def boxed(text):
    """A box's value. What LaTeX doesn't read is none, as `5 \\cup 4` is: a search for a number would take the 4. But
    for a value behind a name or a sign: `P(A \\cup B) = 4`, `\\approx 4`."""
    found, inner = parsed(text, GOLD), text.partition("{")[2]
    before = NAME.match(inner) or SIGNS.match(inner)
    if before and all(isinstance(one, str) for one in found):
        return parsed("\\boxed{" + inner[before.end() :], GOLD)
    return found


def _is(candidate, found):
    """Whether what math-verify found is this candidate, as it writes it: without units and in its own spelling."""
    if not candidate or not isinstance(found, str):
        return False
    try:
        written = (candidate, normalize_latex(candidate, GOLD[0].normalization_config))
    except MemoryError:
        raise
    except Exception:
        return False
    return "".join(found.split()) in ["".join(each.split()) for each in written]


def _equal(gold, answer, request):
    try:
        pair = _functions(gold, answer, request)
        same = identities.same(*pair) if pair else None
        if same:  # the library seldom sees it, and takes long
            return True
        equal = same is None and verify(
            gold, answer, request["precision"], strict=request["strict"], timeout_seconds=None, raise_on_error=True
        )
        if equal:
            return _near(gold, answer) and (not _says(gold, answer) or _equal(gold.rhs, answer.rhs, request))
        return _same_integral(*pair, request) if pair else _same_number(gold, answer, request)
    except MemoryError:
        raise
    except Exception:
        return False


def _says(gold, answer):
    """Whether these are statements, equations without variables: the library takes one for any other."""
    statements = [isinstance(one, sympy.Eq) and not one.free_symbols for one in (gold, answer)]
    return any(statements) and all(isinstance(one, sympy.Eq) for one in (gold, answer))


def _functions(gold, answer, request):
    """Both, where they are expressions with variables, or what one name is said to be; with the same variables, but
    where their names count."""
    names = {str(one.lhs.func if _is_head(one.lhs) else one.lhs) for one in (gold, answer) if isinstance(one, sympy.Eq)}
    pair = [_right_side(one) for one in (gold, answer)]
    if len(names) > 1 or not all(isinstance(one, sympy.Expr) for one in pair):
        return None
    pair = [identities.usual(one) for one in pair]
    names = [one.free_symbols for one in pair]
    return pair if all(names) and (request["strict"] or names[0] == names[1]) else None


def _near(gold, answer):
    """Whether two numbers that the library calls equal are, relative to their size: it compares what is left of them
    after some decimals, so that ln 2 / 10^20 is ln 3 / 10^20."""
    gold, answer = (_right_side(one) for one in (gold, answer))
    if getattr(gold, "is_number", False) != getattr(answer, "is_number", False):  # 0b101 is 0, whatever b is
        gold, answer = gold.doit(), answer.doit()
    if isinstance(gold, sympy.Tuple) and isinstance(answer, sympy.Tuple) and len(gold) == len(answer):
        return all(map(_near, gold, answer))
    if isinstance(gold, sympy.FiniteSet) and isinstance(answer, sympy.FiniteSet):
        return all(any(_near(mine, theirs) for theirs in answer) for mine in gold)
    if not (isinstance(gold, sympy.Expr) and isinstance(answer, sympy.Expr) and gold.is_number and answer.is_number):
        return True
    sizes = [_size(one) for one in (gold, answer, gold.doit() - answer.doit())]
    if None in sizes:
        return True
    if gold.has(sympy.Float) or answer.has(sympy.Float):
        return bool(sizes[2] <= max(sizes[:2]) * ROUNDED)
    return _agree(gold, answer, sizes)


def _agree(gold, answer, sizes):
    """Whether exact numbers are the same: to 25 digits, and large ones also behind the point, since e^100 + 1 and e^100
    have 43 digits in common."""
    size = max(sizes[:2])
    if size < LARGE or sizes[2] > size * EXACT:
        return bool(sizes[2] <= size * EXACT)
    digits = 2 * int(sympy.log(size, 10)) + DIGITS
    difference = (gold - answer).doit()
    if digits > MOST_DIGITS:
        return bool(difference == 0)
    return bool(sympy.Abs(difference.evalf(DIGITS, maxn=digits)) * size < EXACT)


def _same_number(gold, answer, request):
    """Whether both are exact numbers of the same value, which the library does not see of each: e^(2 pi i/3) is
    (-1 + i sqrt 3)/2."""
    pair = [_right_side(one) for one in (gold, answer)]
    if not all(isinstance(one, sympy.Expr) for one in pair):
        return False
    pair = [one.subs({name: sympy.I for name in one.free_symbols if name.name == "i"}) for one in pair]
    inexact = [one for one in pair if one.has(sympy.Float)]
    if not all(one.is_number for one in pair) or len(inexact) == 2 or all(one.is_Rational for one in pair):
        return False
    values = [one.doit().evalf(2 * DIGITS) for one in pair]
    sizes = [_size(one) for one in (*values, values[0] - values[1])]
    if None in sizes:
        return False
    exact = [one.replace(lambda part: part.is_Float, lambda part: sympy.Rational(str(part))) for one in pair]
    if inexact and not any(one.is_Rational for one in exact) and _agree(*exact, sizes):  # log_2 1.5
        return True
    if inexact:  # the library compares both rounded, and 1.5849625 is rounded down, log_2 3 up
        return bool(sizes[2] <= min(sympy.Float(10) ** -request["precision"] / 2, max(sizes[:2]) * ROUNDED))
    return _agree(*pair, sizes)


def _same_integral(gold, answer, request):
    """Whether both are integrals of one function of one variable: they end in `+ C`, and have one derivative."""
    pair = (gold, answer)
    names = [sorted(one.free_symbols, key=lambda name: name.name.lower() == "c") for one in pair]
    if [len(each) for each in names] != [2, 2] or names[0][0] != names[1][0]:
        return False
    if any(each[1].name not in ("C", "c") or one.diff(each[1]) != 1 for one, each in zip(pair, names, strict=True)):
        return False
    pair = [one.replace(sympy.log, sympy.log).diff(names[0][0]) for one in pair]  # sympy forgets the base of log(x, 10)
    same = identities.same_function(*pair)
    strict = request["strict"]
    return (
        verify(*pair, request["precision"], strict=strict, timeout_seconds=None, raise_on_error=True)
        if same is None
        else same
    )


def _right_side(value):
    """What a name, or a function of a name, is said to be."""
    if isinstance(value, sympy.Eq) and (isinstance(value.lhs, sympy.Symbol) or _is_head(value.lhs)):
        return value.rhs
    return value


def _is_head(value):
    return isinstance(value, AppliedUndef) and all(isinstance(one, sympy.Symbol) for one in value.args)


def _size(number):
    """How large a number is; None where it has no value."""
    size = sympy.Abs(number.doit().evalf(DIGITS))
    return size if size.is_number and size.is_finite and size.is_comparable else None


def _text(value):
    try:
        return str(value)[:SHOWN]
    except MemoryError:
        raise
    except Exception:
        return ""


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(3000)
    for gold, answer in WARM_UP:
        handle(json.dumps({"gold": gold, "answer": answer, "precision": 6, "strict": True}), lambda phase: None)
    _cached_gold.cache_clear()
    service_worker.serve(handle, int(os.environ["WORKERS"]), int(os.environ["WORKER_MEMORY_BYTES"]))
