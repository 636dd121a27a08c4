"""What a test that shares a process with its answer becomes when it must fail: with a failure where it ends, a test
beside it that fails, or another value in it. An answer that passes those does so without its test."""

from __future__ import annotations

import re
import secrets
from collections.abc import Callable
from itertools import islice
from typing import Final, TypeVar

from sandbox_gym.server.coding.braces import BRACE, C_FAMILY
from sandbox_gym.server.coding.entry_points import GOOGLE_TEST
from sandbox_gym.server.coding.expected_values import SIZED, expected_values, opposites
from sandbox_gym.server.coding.sandbox_fusion_programs import MARK

_T = TypeVar("_T")
MAX_SEEN: Final = 100
MAX_EXPECTED: Final = 6
MAX_LAST: Final = 2000
MAX_READ: Final = 64 << 10
BESIDE: Final = {
    "pytest": "def test_%s():\n    raise AssertionError",
    "go_test": "func TestX%s(t *testing.T) { t.FailNow() }",
    "rust_test": "#[test] fn x%s() { panic!() }",
    "jest": "test('%s', () => { expect(1).toBe(2); });",
    "junit": "class C%sTest { @org.junit.jupiter.api.Test void fails() { throw new AssertionError(); } }",
}
"""By test runner, a test that fails, under a name that no answer knows."""
_THROW: Final = "throw new Error('end');"
_ABORT: Final = "__builtin_abort();"
_RAISE: Final = "raise AssertionError('end')"
BEHIND: Final = {
    "python": _RAISE,
    "pypy": _RAISE,
    "javascript": _THROW,
    "typescript": _THROW,
    "bash": "exit 1",
    "php": "throw new Exception('end');",
    "ruby": "raise 'end'",
    "perl": "die 'end';",
    "lua": "error('end')",
    "r": "stop('end')",
    "racket": '(error "end")',
    "kotlin_script": "throw AssertionError()",
    "swift": 'fatalError("end")',
    "ocaml": 'let () = failwith "end"',
}
"""By language, what fails as a test does, where the text ends."""
INSIDE: Final = {
    **dict.fromkeys(C_FAMILY, _ABORT),
    "java": "if (true) throw new AssertionError();",
    "go": 'panic("end")',
    "rust": 'panic!("end");',
    "csharp": 'throw new System.Exception("end");',
    "scala": "if (true) throw new AssertionError()",
    "kotlin": "throw AssertionError()",
    "d": "assert(0);",
    "d_ut": "assert(0);",
}
"""The same where the test is a block: it ends where `main` does."""
_MAIN: Final = re.compile(r"\b[mM]ain\s{0,9}\([^()]{0,500}\)[^{};]{0,500}\{|\bextends\s+App\s*\{")
_BLOCKS: Final = {"d_ut": re.compile(r"\bunittest\s*\{")}
_LAST: Final = re.compile(
    r"(?:\breturn\b[^;{}]{0,500};?|\bOk\(\(\)\)|\b[\w.:]{0,50}[eE]xit\s{0,9}\([^()]{0,500}\)\s{0,9};?)\s*\Z"
)
"""A block's last statement, behind which nothing is reached."""
ENDS_ITSELF: Final = re.compile(
    r"(?:exit(?:process|with|success)?|quit|halt|finish|unittest\.main)\b"
    r"(?!\W{0,9}(?:['\"]no['\"]\W{0,9})?(?:status\W{0,9})?(?:[1-9]|exit_?failure))",
    re.IGNORECASE,
)
"""In a test: it may end its program well before its text ends. Not in an end with a failure's code."""
_COULD_FORGE: Final = re.compile(
    r"exit|quit|halt|\bkill|abort|terminat|finish|\bstop|exec|fork|spawn|syscall|signal|\btrap\b|hook|handler|uncaught"
    r"|shutdown|asm\b|dlsym|reflect|forname|getmethod|invoke|eval|\bend\s*\{"
    r"|__|argv|\$0|bash_source|\bproc\b|\bmain\.\w|caller|inspect|resource|include_str|readdir|listdir|glob"
    r"|proto|assign|setattr|builtin|\b_g\b|_env\b|metatable|environment|assertionerror|\W\s?assert\W{0,3}[\[\"'.]"
    r"|#\s*(?:define|undef)|(?:def|define|defun|func|function|fn|sub|void|module|class|namespace|macro_rules|alias)\b"
    r"\W{1,9}(?:assert|expect|equal|identical|raise|die|error|throw|panic|check|stopifnot|kernel|integer|object|test\b|\[)"
    r"|(?:assert|expect|equal|identical|raise|die|error|throw|panic|check|stopifnot)\w*\s?(?:=(?!=)|<-)"
    r"|`(?:if|el|end|def|undef|incl)|operator|overload|\beq\b|partialeq|instance|compare|def\s*[=!<]|\[\s*\(\s*\)",
    re.IGNORECASE,
)
"""In an answer: it may end its process, be told of its end, read its own source, replace what the test calls, or forge
equality."""
_NUMBER: Final = re.compile(rf"{SIZED}|(?<![\w.])\d+|\b(?:true|false|True|False|TRUE|FALSE)\b")
_TEXT: Final = re.compile(r"\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'")
_OPERATOR: Final = re.compile(r"(?<![=!<>:])(?:===|!==|==|!=)(?!=)")
_KINDS: Final = ((_NUMBER, 6), (_TEXT, 6))
"""What is changed, and how much of it; texts last, as they may be messages."""
_SIGNALS: Final = (*_KINDS, (_OPERATOR, 6))
"""The same in Verilog, where nothing that is compared can answer for the comparison."""
_NOT_OF_THE_TEST: Final = re.compile(
    r"^\s*(?://|#|--|/?\*)|\b(?:require|import|include|from|use|using|library|source|load)\W*$"
    r"|\b(?:return|\w*exit\w*|quit|halt)\W*(?:no\W*)?$|\?(?:[^:?\n]{0,20}:)?\s*$"
)
"""What stands before a comment, a name of a file, or a program's exit code: another of that fails for every answer."""
_VERILOG_COMMENT: Final = re.compile(r"(\\\S+)|\"(?:\\.|[^\"\\\n])*\"|//[^\n]*|/\*.*?(?:\*/|\Z)", re.DOTALL)
"""Or a text, or an escaped name: what opens a comment there opens none."""
_VERILOG_NAME: Final = re.compile(r"\$?[A-Za-z_]\w*|``")
_MODULE: Final = re.compile(r"\bmodule\s+(?:automatic\s+|static\s+)?(\w+)")
_INSTANCE: Final = re.compile(r"\b(\w+)\s+(?:#\s?\([^;]{0,300}?\)\s*)?(\w+)\s*\(")
_PAIRS: Final = (("true", "false"), ("True", "False"), ("TRUE", "FALSE"), ("==", "!="), ("===", "!=="))
_OPPOSITES: Final = {one: other for pair in _PAIRS for one, other in (pair, pair[::-1])}


def could_forge(answer: str) -> bool:
    """Whether an answer names what a forgery takes; a longer one than answers are may."""
    return len(answer) > MAX_READ or bool(_COULD_FORGE.search(answer))


def with_a_failure(program: Callable[[str], str], test: str, language: str) -> str | None:
    """The program with a failure where its test ends, or beside it; None where that place is not known."""
    whole = program(test)
    if language in C_FAMILY and GOOGLE_TEST.search(test):
        return f"{whole}\nTEST(X{secrets.token_hex(8)}, Fails) {{ FAIL(); }}\n"
    if language in BESIDE and ".only(" not in test:  # Jest would leave the other out
        return f"{whole}\n{BESIDE[language] % secrets.token_hex(8)}\n"
    if language == "haskell":  # a statement more of the last block
        last = whole.rstrip().rpartition("\n")[2]
        return f'{whole.rstrip()}\n{last[: len(last) - len(last.lstrip())]}ioError (userError "end")\n'
    if language in BEHIND:
        return f"{whole.rstrip().removesuffix('?>')}\n{BEHIND[language]}\n"
    end = _end_of_block(test, language) if language in INSIDE else None
    return None if end is None else program(f"{test[:end]}\n{INSIDE[language]}\n{test[end:]}")


def _end_of_block(test: str, language: str) -> int | None:
    """Where a statement can be put that is the last of the test's own block."""
    opening = next(reversed(list(_BLOCKS.get(language, _MAIN).finditer(test))), None)
    if opening is None:
        return None
    depth = 1
    for brace in BRACE.finditer(test, opening.end()):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            last = _LAST.search(test, max(opening.end(), brace.start() - MAX_LAST), brace.start())
            return last.start() if last else brace.start()
    return None


def borrowed(answer: str, test: str) -> str:
    """A name of the test's own modules, instances or root that an answer in Verilog uses: what the test compares its
    outputs with is within its reach. Names put together by macros count as such."""
    answer, test = (_VERILOG_COMMENT.sub(r"\1 ", text) for text in (answer, test))
    own = set(_MODULE.findall(answer))
    names = {
        name
        for found in _INSTANCE.finditer(test)
        for name in found.groups()
        if found[1] in {*_MODULE.findall(test), *own}
    }
    names |= {*_MODULE.findall(test), "$root", "``"}
    return next((name for name in _VERILOG_NAME.findall(answer) if name in names - own), "")


def expecting_other(test: str, language: str) -> list[str]:
    """The test with another of the values that it expects, or, where it names none, with the opposite of one of its
    claims, in an order that no answer knows."""
    expected = _some(expected_values(test, language))
    others = [other for one in expected if (other := _changed(test, one)) is not None]
    claimed = [] if others else _some(opposites(test, language))
    return others or [test[:start] + other + test[end:] for start, end, other in claimed]


def _some(found: list[_T]) -> list[_T]:
    return secrets.SystemRandom().sample(found, min(len(found), MAX_EXPECTED))


def changed(test: str, language: str) -> list[str]:
    """The test with one of its last values changed, the very last first."""
    found: list[str] = []
    for kind, most in _SIGNALS if language == "verilog" else _KINDS:
        last = reversed(list(kind.finditer(test))[-MAX_SEEN:])
        others = (_changed(test, one) for one in last)
        found += islice((other for other in others if other is not None), most)
    return found


def _changed(test: str, found: re.Match[str]) -> str | None:
    """The test with another value of this one's form. None where there is none, or it is no value of the test's."""
    before = test[max(found.start() - 200, 0) : found.start()].rpartition("\n")[2]
    is_none = MARK in found[0] or _NOT_OF_THE_TEST.search(before)
    other = None if is_none else _OPPOSITES.get(found[0]) or _other(found[0])
    return None if other is None else test[: found.start()] + other + test[found.end() :]


def _other(literal: str) -> str | None:
    last = max(re.finditer(r"(?<!\\)[0-9A-Za-z]", literal), key=lambda found: found.start(), default=None)
    if last is None:
        return None
    digits = "0123456789" if last[0].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    following = digits[(digits.index(last[0].lower()) + 1) % len(digits)]
    if re.fullmatch(SIZED, literal):  # of any base
        following = "1" if last[0] == "0" else "0"
    return literal[: last.start()] + following + literal[last.end() :]
