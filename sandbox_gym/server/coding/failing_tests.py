"""What a test that shares a process with its answer becomes when it must fail: with a failure where it ends, a test
beside it that fails, or another value in it. An answer that passes those does so without its test."""

from __future__ import annotations

import re
import secrets
from typing import Final

MAX_CHANGED: Final = 6
"""Of numbers, and of texts."""
MAX_SEEN: Final = 100
BESIDE: Final = {
    "pytest": "def test_%s():\n    raise AssertionError",
    "go_test": "func TestX%s(t *testing.T) { t.FailNow() }",
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
    "c": _ABORT,
    "cpp": _ABORT,
    "cpp20": _ABORT,
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
_BRACE: Final = re.compile(r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'|`[^`]*`|//[^\n]*|/\*.*?\*/|[{}]', re.DOTALL)
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
COULD_FORGE: Final = re.compile(
    r"exit|quit|halt|kill|abort|term|finish|stop|exec|fork|spawn|syscall|signal|trap|hook|handler|uncaught|shutdown|asm\b"
    r"|dlsym|reflect|forname|getmethod|invoke|eval|proto|open|read|file|argv|proc|source|caller|inspect|resource|defin"
    r"|assert|expect|equal|identical|raise|die\b|error|throw|panic|check|require|global|\bend\s*\{"
    r"|operator|overload|__|\beq\b|partialeq|instance|compare|def\s*[=!<]|alias|\btest\b|\[\s*(?:\(\s*\)|\{)",
    re.IGNORECASE,
)
"""In an answer: it may end its process, be told of its end, replace what the test calls, forge equality, or read its
own source."""
_LITERAL: Final = re.compile(
    r"(?<![\w.])\d+|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'|\b(?:true|false|True|False|TRUE|FALSE)\b"
)
_NOT_OF_THE_TEST: Final = re.compile(
    r"^\s*(?://|#|--|/?\*)|\b(?:require|import|include|from|use|using|library|source|load)\W*$"
)
_OPPOSITE: Final = {"true": "false", "True": "False", "TRUE": "FALSE"}
_OPPOSITES: Final = _OPPOSITE | {false: true for true, false in _OPPOSITE.items()}


def with_a_failure(answer: str, test: str, language: str) -> str | None:
    """The program with a failure where its test ends, or beside it; None where that place is not known."""
    whole = f"{answer}\n{test}"
    if language in BESIDE and ".only(" not in test:  # Jest would leave the other out
        return f"{whole}\n{BESIDE[language] % secrets.token_hex(8)}\n"
    if language == "haskell":  # a statement more of the last block
        last = whole.rstrip().rpartition("\n")[2]
        return f'{whole.rstrip()}\n{last[: len(last) - len(last.lstrip())]}ioError (userError "end")\n'
    if language in BEHIND:
        return f"{whole.rstrip().removesuffix('?>')}\n{BEHIND[language]}\n"
    end = _end_of_block(test, language) if language in INSIDE else None
    return None if end is None else f"{answer}\n{test[:end]}\n{INSIDE[language]}\n{test[end:]}"


def _end_of_block(test: str, language: str) -> int | None:
    """Where a statement can be put that is the last of the test's own block."""
    opening = next(reversed(list(_BLOCKS.get(language, _MAIN).finditer(test))), None)
    if opening is None:
        return None
    depth = 1
    for brace in _BRACE.finditer(test, opening.end()):
        depth += {"{": 1, "}": -1}.get(brace[0], 0)
        if not depth:
            last = _LAST.search(test, opening.end(), brace.start())
            return last.start() if last else brace.start()
    return None


def changed(test: str) -> list[str]:
    """The test with one of its last values changed, the very last first; numbers before texts: those may be messages."""
    last = list(reversed(list(_LITERAL.finditer(test))[-MAX_SEEN:]))
    texts = [found for found in last if found[0][0] in "\"'"]
    return [one for kind in ([found for found in last if found not in texts], texts) for one in _changed(test, kind)]


def _changed(test: str, literals: list[re.Match[str]]) -> list[str]:
    found: list[str] = []
    for literal in literals:
        before = test[max(literal.start() - 200, 0) : literal.start()].rpartition("\n")[2]
        other = None if _NOT_OF_THE_TEST.search(before) else _other(literal[0])
        if other and len(found) < MAX_CHANGED:
            found.append(test[: literal.start()] + other + test[literal.end() :])
    return found


def _other(literal: str) -> str | None:
    """Another value of its form; None for a text without a letter or digit."""
    if literal in _OPPOSITES:
        return _OPPOSITES[literal]
    last = max(re.finditer(r"(?<!\\)[0-9A-Za-z]", literal), key=lambda found: found.start(), default=None)
    if last is None:
        return None
    digits = "0123456789" if last[0].isdigit() else "abcdefghijklmnopqrstuvwxyz"
    following = digits[(digits.index(last[0].lower()) + 1) % len(digits)]
    return literal[: last.start()] + following + literal[last.end() :]
