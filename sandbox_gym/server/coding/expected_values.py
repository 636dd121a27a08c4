"""Where a test in any language says what it expects: values that it compares something with for equality, and what it
only claims to be true. Another value in such a place, or a claim's opposite, must fail the test of every right answer.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import Final

MAX_READ: Final = 64 << 10
MAX_CLAIM: Final = 2000
MAX_CLAIMS: Final = 500
"""Of a kind."""
SIZED: Final = r"(?<![\w.])\d+'[sS]?[bBdDhHoO][\da-fA-FxXzZ?_]+"
"""A number of Verilog with its width, which is no value."""
_TOKEN: Final = re.compile(
    r"(?P<text>\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*')"
    rf"|(?P<number>{SIZED}"
    r"|(?<![\w.])\d+(?![xXbBoO])|\b(?:true|false|True|False|TRUE|FALSE)\b)|(?P<open>[(\[{])|(?P<close>[)\]}])"
)
_NAME: Final = re.compile(r"([\w.:-]+)[!?]?\s?\Z")
_EQUALITY: Final = re.compile(
    r"\w*(?:equal|identical|same|approx|near|close|deeply)\w*|\w*_?eq|to(?:be|equal|strictequal|match|contain)\w*|is",
    re.IGNORECASE,
)
"""A function whose arguments must be equal."""
_MAKES: Final = re.compile(
    r"from|some|ok|just|\w*list|\w*of|array\w*|vec\w*|set|map|tuple|[cl]|new|decimal", re.IGNORECASE
)
"""A function that makes a value of what it is given."""
_RACKET: Final = re.compile(r"\(\s*(?:(?P<equal>check-\S+|equal\?|eqv?\?|=)|list|vector|values)\s")
_VALUE: Final = r"\s*[\s(\[{]{0,9}(?:new\s+)?[\w:.<>\[\]!&]{0,60}[\s(\[{]{0,9}(?:\([a-z]+\)\s?)?[-+]?\Z"
"""From an operator to the first literal of what is compared, as in `== vector<long>({(long)1`."""
_OPERATOR: Final = re.compile(
    r"(?:[!=]==?|=/=|/=|~=|<>|\b(?:eq|ne|is|shouldBe)\b`?|-(?:eq|ne)\b|(?<=\s)=(?=\s))" + _VALUE
)
_NAMED: Final = re.compile(
    r"\b\w*(?:expect|want)\w*[\"']?(?:\s*:\s?[\w\[\]<>]{1,40})?\s*(?::=|=>|=|:)" + _VALUE, re.IGNORECASE
)
"""A value that has such a name, as in tables of cases."""
_SPACED_EQUALS: Final = frozenset({"bash", "ocaml"})
"""Languages in which ` = ` compares; elsewhere it gives a name a value, but for `==` and the like."""
_FAILS: Final = re.compile(
    r"assert|expect|check|require|should|raise|throw|panic|die|err|fail|fatal|exit|return|unless|stop|quit|\[|test|when|precondition",
    re.IGNORECASE,
)
"""What a comparison stands beside that fails a test."""
_COMMENT: Final = re.compile(r"^\s*(?:#(?!!?\[\w)|--|/?\*)|(?:^|\s)(?://|#|--)\s")
_CLAIM: Final = re.compile(
    r"(?<![\w$.#])(?:(?:\w{1,30}\.){0,3}(?:Debug|console)\.)?(?:[aA]ssert|debug_assert|precondition|stopifnot|assert(?:True|False))"
    r"(?:\.ok)?!?[ \t]{0,3}\("
)
_KOTLINS: Final = re.compile(r"(?<![\w$.])(?:assert|check|require|assert(?:True|False))[ \t]{0,3}\(")
"""A call whose first argument must be true, or false."""
_JUNITS: Final = re.compile(r"(?<![\w$.])assert(?:True|False)[ \t]{0,3}\(")
_CLAIMS: Final = {
    **dict.fromkeys(("kotlin", "kotlin_script", "scala"), _KOTLINS),
    **dict.fromkeys(("java", "junit"), _JUNITS),
}
_JAVAS: Final = re.compile(r"\bassert\b\s{0,9}([^;{}]{1,300}?)(?=(?:\s:\s[^;{}]{1,200})?;)")
_TRUTH: Final = re.compile(
    r"(?:assert|expect|require|check|tobe)(?:[.\w]{0,20}?[._-]|[a-z]{0,9}\.is|)(true|false|truthy|falsy)\b(?=\s{0,3}[(<])",
    re.IGNORECASE,
)
_THROWS: Final = re.compile(r"\bassert\.(?P<word>throws|doesNotThrow|rejects|doesNotReject)\(")
_SWAPS: Final = {
    **dict.fromkeys(("javascript", "typescript"), _THROWS),
    "jest": re.compile(r"\)\s{0,99}\.(?P<add>)(?=to[A-Z])|\)\s{0,99}\.(?P<drop>not\.)(?=to[A-Z])"),
    "junit": re.compile(r"\bassertThrows(?:Exactly)?\(\s{0,99}(?P<error>[\w.]{1,99})\.class"),
    "rust_test": re.compile(r"(?P<drop>#\[\s{0,9}should_panic[^\]]{0,200}\])"),
}
"""By language, a claim whose opposite has another word, or one more or less."""
_SWAPPED: Final = {"add": "not.", "drop": "", "error": "java.lang.InternalError"}
_PYTHONS: Final = frozenset({"python", "pypy", "pytest"})
_RAISES: Final = frozenset({"raises", "assertRaises", "assertRaisesRegex"})
_IF: Final = re.compile(r"\bif\s{0,9}\(")
_BARE_IF: Final = re.compile(r"\bif\s{1,9}(?:[^;{}\n]{1,200};\s{0,9})?([^;{}\n]{1,300}?)\s{0,9}(?:\{|\bthen\b)")
_BARE: Final = frozenset({"go", "go_test", "rust", "rust_test", "swift", "lua"})
_MODAL: Final = re.compile(r"\b(unless|when|if)\b")
_MODALS: Final = {
    **{language: {"unless": "when", "when": "unless"} for language in ("racket", "haskell")},
    **{language: {"unless": "if", "if": "unless"} for language in ("ruby", "perl")},
}
_FAILING: Final = re.compile(
    r"[\s({]{0,20}(?:[\w.:]{0,20}\b)?(?:throw|raise|die|abort|_*builtin_abort|panic|fatal\w*|error\w*|fail\w*|quit|stop"
    r"|(?:process\.|os\.|sys\.)?_?exit\w*\W{0,3}(?:\w{1,9}\W{1,3})?[1-9]|return\s+-?[1-9])\b",
    re.IGNORECASE,
)
_ENDS: Final = re.compile(r"\s*(?:[;})\n{]|in\b|\Z)")
_IS_SAID: Final = re.compile(r"\s*(?:[-+]?\d{0,9}|true|false|nil|null|none)\s*", re.IGNORECASE)
"""What is no claim: `assert(false)` stands where a test must not come to."""
_DEFINES: Final = re.compile(r"\b(?:def|define|function|func|fun|fn|sub|void|let|macro_rules!?)\s{1,9}\Z")
_NOTS: Final = dict.fromkeys(("lua", "ocaml"), "not ")
_PART: Final = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|[(\[{]|[)\]}]|,")
_OPPOSITES: Final = {
    one: other
    for pair in (
        *(("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("Truthy", "Falsy")),
        *(("throws", "doesNotThrow"), ("rejects", "doesNotReject")),
    )
    for one, other in (pair, pair[::-1])
}


@dataclass(slots=True)
class _Call:
    """A bracket that is open: whether its arguments must be equal, and the values among them. One that makes a value
    has the `owner` of the bracket around it."""

    equal: bool
    makes: bool = False
    owner: _Call | None = None
    values: list[re.Match[str]] = field(default_factory=list)
    compared: bool = False


def expected_values(test: str, language: str) -> list[re.Match[str]]:
    """The literals of a test that are expected values, one of each comparison."""
    found: list[re.Match[str]] = []
    open_calls: list[_Call] = []
    for token in _TOKEN.finditer(test[:MAX_READ]):
        if token["open"]:
            call = _opened(test, token.start(), language)
            call.owner = call if not call.makes else open_calls[-1].owner if open_calls else None
            open_calls.append(call)
        elif token["close"]:
            if open_calls:
                found += _chosen(open_calls.pop())
        elif not _COMMENT.search(_line_before(test, token.start())):
            owner = open_calls[-1].owner if open_calls else None
            if _is_compared(test, token, language):
                found.append(token)
                if owner is not None:
                    owner.compared = True
            elif owner is not None and owner.equal:
                owner.values.append(token)
    return [one for one in found if "$" not in one[0] and "#{" not in one[0]]  # no program in a text


def _opened(test: str, at: int, language: str) -> _Call:
    if test[at] != "(":
        return _Call(equal=False, makes=True)
    if language == "racket":
        head = _RACKET.match(test, at, at + 60)
        return _Call(equal=bool(head and head["equal"]), makes=bool(head and not head["equal"]))
    named = _NAME.search(test, max(at - 60, 0), at)
    name = re.split(r"[.:]", named[1])[-1] if named else ""
    is_group = not name and not test[max(at - 3, 0) : at].rstrip().endswith(("->", ")"))
    return _Call(equal=bool(name and _EQUALITY.fullmatch(name)), makes=is_group or bool(_MAKES.fullmatch(name)))


def _chosen(call: _Call) -> list[re.Match[str]]:
    """Of an equality's arguments the first that is no text: a text may be a message, and a later number a tolerance."""
    if not call.equal or call.compared:
        return []
    return ([one for one in call.values if one["number"]] or call.values)[:1]


def _is_compared(test: str, token: re.Match[str], language: str) -> bool:
    before = test[max(token.start() - 90, 0) : token.start()]
    if _NAMED.search(before):
        return True
    operator = _OPERATOR.search(before)
    if operator is None or (operator[0].startswith("= ") and language not in _SPACED_EQUALS):
        return False
    return bool(_FAILS.search(_line_before(test, token.start()) + test[token.start() : token.end() + 150]))


def _line_before(test: str, at: int) -> str:
    return test[max(at - 200, 0) : at].rpartition("\n")[2]


def opposites(test: str, language: str) -> list[tuple[int, int, str]]:
    """The claims of a test: (start, end, what stands there to claim the opposite)."""
    test = test[:MAX_READ]
    found = set(_opposites(test, language))
    return sorted(one for one in found if not _COMMENT.search(_line_before(test, one[0])))


def _opposites(test: str, language: str) -> Iterator[tuple[int, int, str]]:
    if language in _PYTHONS:
        yield from _of_python(test)
    for one in _SWAPS[language].finditer(test) if language in _SWAPS else ():
        word = str(one.lastgroup)
        yield *one.span(word), _OPPOSITES[one[word]] if word == "word" else _SWAPPED[word]
    negation = _NOTS.get(language, "!")
    claimed = [one.span(1) for one in _JAVAS.finditer(test)] if language in ("java", "junit") else []
    for call in () if language in _PYTHONS else islice(_CLAIMS.get(language, _CLAIM).finditer(test), MAX_CLAIMS):
        start, end = call.end(), _end_of_argument(test, call.end())
        is_defined = _DEFINES.search(test, max(call.start() - 40, 0), call.start())
        closes = _end_of_argument(test, call.end(), whole=True)
        if not is_defined and _ENDS.match(test, closes + 1):
            claimed.append((start, end))
    claimed += [
        (one.end(), end)
        for one in islice(_IF.finditer(test), MAX_CLAIMS)
        if _FAILING.match(test, (end := _end_of_argument(test, one.end(), whole=True)) + 1, end + 100)
    ]
    if language in _BARE:
        claimed += [one.span(1) for one in _BARE_IF.finditer(test) if _FAILING.match(test, one.end(), one.end() + 100)]
    for start, end in claimed:
        if not _IS_SAID.fullmatch(test, start, end):
            yield start, end, f"{negation}({test[start:end]})"
    for one in _TRUTH.finditer(test):
        if one[1] in _OPPOSITES and not _CLAIM.match(test, one.start()):
            yield *one.span(1), _OPPOSITES[one[1]]
    for one in _MODAL.finditer(test):
        other = _MODALS.get(language, {}).get(one[1])
        if other is not None and _FAILS.search(_line_before(test, one.start()) + test[one.end() : one.end() + 150]):
            yield *one.span(1), other


def _of_python(test: str) -> Iterator[tuple[int, int, str]]:
    try:
        tree = ast.parse(test)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return
    lines = [0]
    for line in test.split("\n"):
        lines.append(lines[-1] + len(line) + 1)

    def at(line: int, column: int) -> int:
        text = test[lines[line - 1] : lines[line]]
        return lines[line - 1] + len(text.encode()[:column].decode("utf-8", "ignore"))

    for node in ast.walk(tree):
        claim, other = None, "GeneratorExit"
        if isinstance(node, ast.Assert) and not isinstance(node.test, ast.Constant):
            claim, other = node.test, "not ({})"
        elif isinstance(node, ast.Call) and node.args and isinstance(node.func, ast.Attribute | ast.Name):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else node.func.id
            claim = node.args[0] if name in _RAISES else None
        if claim is not None and claim.end_lineno is not None and claim.end_col_offset is not None:
            start, end = at(claim.lineno, claim.col_offset), at(claim.end_lineno, claim.end_col_offset)
            yield start, end, other.format(test[start:end])


def _end_of_argument(test: str, at: int, *, whole: bool = False) -> int:
    """Where the first argument behind an open bracket ends, or all of them do."""
    depth = 0
    for part in _PART.finditer(test, at, at + MAX_CLAIM):
        depth += {"(": 1, "[": 1, "{": 1, ")": -1, "]": -1, "}": -1}.get(part[0], 0)
        if depth < 0 or (part[0] == "," and not depth and not whole):
            return part.start()
    return min(len(test), at + MAX_CLAIM)
