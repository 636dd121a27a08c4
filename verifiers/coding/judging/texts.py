"""Compares a program's output with the expected one by a rule for text. Pure; survives any output.

Work and memory are bounded by the expected output, beyond one pass over the program's output.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterator
from itertools import zip_longest

from sandbox_gym.contract import TestStatus
from sandbox_gym.verifiers.coding.compare import explain_stdout, says_nan, shown
from sandbox_gym.verifiers.coding.running.checkers import TextChecker

_PIECES = re.compile(r"\s+|\S+")
_WORDS = re.compile(r"\S+")
_NUMBER = re.compile(r"[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?", re.ASCII)
_NUMBER_MAX = 400
_NO_NUMBER = re.compile(
    rb"(?<!\S)[+-]?(?:(s?nan(?:\(\w*+\))?+)|inf(?:inity)?+|(?:\d++\.?+\d*+|\.\d++)e\+?+\d++|\d{309,}+\.?+\d*+)(?!\S)",
    re.I,
)
"""NaN, and what may be no finite number: strtod() reads all of these, and testlib's readDouble the last two."""
_INFINITE = re.compile(r"(?<![a-z])inf(?:inity)?(?![a-z])", re.I)


def judge_text(checker: TextChecker, got: bytes, expected: str) -> tuple[TestStatus, str]:
    """PASSED, WRONG_ANSWER or PRESENTATION_ERROR, and why. Bytes that are no UTF-8 match nothing but themselves."""
    why = _explain(checker, got, expected)
    if why:
        return TestStatus.WRONG_ANSWER, why
    if checker.presentation_errors and _trimmed(got.decode("utf-8", "surrogateescape")) != _trimmed(expected):
        return TestStatus.PRESENTATION_ERROR, "right but for white space"
    return TestStatus.PASSED, ""


def is_no_number(got: bytes, given: str, expected: str, checker: str) -> bool:
    """Whether a program printed nan, infinity or a number beyond all doubles where only numbers are expected and nobody
    else speaks of it: a checker that asks `abs(x - y) > eps` or `abs(x - y) / max(x, y) > eps` of it finds nothing
    wrong."""
    words = expected.split()
    if not words or not all(map(_NUMBER.fullmatch, words)):
        return False
    nan = not any(map(says_nan, (given, expected, checker)))
    finite = not _INFINITE.search(given) and all(map(math.isfinite, map(float, words)))
    whole = {*".eE"}.isdisjoint(expected)  # then numbers of any length may be right
    for match in _NO_NUMBER.finditer(got):
        word = match[0].lower()
        if nan if match[1] else finite and not (whole and word.lstrip(b"+-").isdigit()) and math.isinf(float(word)):
            return True
    return False


def _trimmed(text: str) -> list[str]:
    """The lines without trailing blanks and without blank lines at the end."""
    return [line.rstrip() for line in text.rstrip().split("\n")]


def _explain(checker: TextChecker, got: bytes, expected: str) -> str:
    if checker.kind == "exact":
        return "" if got == expected.encode("utf-8", "surrogatepass") else "not the same bytes"
    output = got.decode("utf-8", "surrogateescape")
    if not checker.case_sensitive:
        output, expected = output.lower(), expected.lower()
    if checker.kind == "lines":
        return explain_stdout(output.encode("utf-8", "surrogateescape"), expected, checker.absolute)
    if checker.kind == "unordered_lines":
        return _explain_unordered(output, expected)
    return _explain_pieces(checker, output, expected)


def _explain_pieces(checker: TextChecker, output: str, expected: str) -> str:
    """Compares token by token, with the white space between them where it counts."""
    pattern = _PIECES if checker.space_sensitive else _WORDS
    pairs: Iterator[tuple[re.Match[str] | None, re.Match[str] | None]] = zip_longest(
        pattern.finditer(output), pattern.finditer(expected)
    )
    for number, (mine, theirs) in enumerate(pairs, 1):
        if mine is None or theirs is None:
            return "the output ends too early" if mine is None else f"more output than expected: {shown(mine[0])}"
        if mine[0] != theirs[0] and not _close(checker, mine[0], theirs[0]):
            return f"token {number}: got {shown(mine[0])}, expected {shown(theirs[0])}"
    return ""


def _close(checker: TextChecker, mine: str, theirs: str) -> bool:
    """Whether two tokens are numbers within the tolerance. Infinity and NaN are no numbers."""
    if checker.absolute is None and checker.relative is None:
        return False
    left, right = _number(mine), _number(theirs)
    if left is None or right is None:
        return False
    off = abs(left - right)
    return off <= (checker.absolute or 0.0) or off <= (checker.relative or 0.0) * abs(right)


def _number(token: str) -> float | None:
    if len(token) > _NUMBER_MAX or not _NUMBER.fullmatch(token):
        return None
    value = float(token)
    return value if math.isfinite(value) else None


def _explain_unordered(output: str, expected: str) -> str:
    wanted = Counter(line.strip() for line in expected.strip().split("\n"))
    lines = output.strip().split("\n", wanted.total())
    if len(lines) != wanted.total():
        return (
            f"{'more' if len(lines) > wanted.total() else 'fewer'} lines of output than the expected {wanted.total()}"
        )
    left = wanted - Counter(line.strip() for line in lines)
    return f"no line {shown(next(iter(left)))}" if left else ""
