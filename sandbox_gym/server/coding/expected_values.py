"""Where a test in any language says what it expects: values that it compares something with for equality. Another value
in such a place must fail the test of every right answer."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Final

MAX_READ: Final = 64 << 10
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
_COMMENT: Final = re.compile(r"^\s*(?:#|--|/?\*)|(?:^|\s)(?://|#|--)\s")


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
