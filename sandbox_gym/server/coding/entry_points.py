"""Where an answer begins as a program of its own, and what it does only then. A row's test begins the program that both
make, so that the answer's own begin is left out of it."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from sandbox_gym.server.coding.braces import BRACE, C_FAMILY, end_of_block, top_types

_GIVEN: Final = r"\([^(){};]{0,500}\)"
_MAINS: Final = {
    **dict.fromkeys(
        C_FAMILY, r"^[ \t]*(?:[\w:]{1,30}\s{1,9}){0,4}main\s{0,9}\([^{};]{0,500}\)(?:\s*->\s*\w{1,30})?\s*(\{)"
    ),
    **dict.fromkeys(("go", "go_test"), r"^func\s+main\s*\(\s*\)\s*(\{)"),
    **dict.fromkeys(
        ("rust", "rust_test"),
        r"^(?:#\[[^\]\n]*\]\s*)?(?:pub\s+)?(?:async\s+)?fn\s+main\s*\([^{};]{0,500}\)[^{};]{0,500}(\{)",
    ),
    **dict.fromkeys(
        ("d", "d_ut"), rf"^(?:@\w+\s+)?(?:int|void|auto|noreturn)\s+main\s*{_GIVEN}[^{{}};=]{{0,100}}(\{{|=>)"
    ),
    **dict.fromkeys(
        ("kotlin", "kotlin_script"), rf"^(?:suspend\s+)?fun\s+main\s*{_GIVEN}(?:\s*:\s*\w{{1,30}})?\s*(\{{|=)"
    ),
    **dict.fromkeys(
        ("java", "junit"),
        r"(?<![^\s{};])(?:(?:public|static|final)\s+)+void\s+main\s*\(\s*[^(){};]{0,500}\)[^{};]{0,500}(\{)",
    ),
    "csharp": r"(?<![^\s{};])(?:(?:public|private|internal|static|async|unsafe)\s+)+"
    rf"(?:void|int|Task(?:\s*<\s*int\s*>)?)\s+Main\s*{_GIVEN}\s*(\{{|=>)",
    "scala": rf"(?<![^\s{{}};])(?:override\s+)?def\s+main\s*{_GIVEN}[^{{}};=]{{0,100}}(\{{|=)",
    "haskell": r"^main\b(.*\n?(?:[ \t].*\n?|[ \t]*\n)*)",
}
"""Where a program begins, by language, and what opens its body: of two only the test's is kept."""
_MAIN_TYPE: Final = re.compile(r"^@main\s+(?:final\s+)?(?:struct|enum|class)\s[^{};]{0,500}(\{)", re.MULTILINE)
GOOGLE_TEST: Final = re.compile(r"#\s*include\s*[<\"](?:gtest|gmock)/")
"""In a test that has no `main` of its own, or its own."""
_APP: Final = re.compile(r"\s+extends\s+App\b")
_RUN_BY: Final = {"scala": (_APP,), **dict.fromkeys(C_FAMILY, (GOOGLE_TEST,))}
"""How else a row's part of a program begins it."""
_USINGS: Final = re.compile(
    r"(?:^|(?<=;))[ \t]*(?:global\s+)?using\s+[^;()]+;|^[ \t]*namespace\s+[\w.]+\s*;", re.MULTILINE
)
_BODY: Final = r"(?:\{.{0,9000}?^\}|[^\n{]*$)"
_OWN_RUN: Final = {
    "ruby": r"^if\s+(?:__FILE__\s*==\s*\$(?:0|PROGRAM_NAME)|\$(?:0|PROGRAM_NAME)\s*==\s*__FILE__)\s.{0,9000}?^end\b"
    r"|^[^\n]+[ \t]if\s+(?:__FILE__\s*==\s*\$(?:0|PROGRAM_NAME)|\$(?:0|PROGRAM_NAME)\s*==\s*__FILE__)[ \t]*$",
    "perl": r"^[^\n]*\bunless\s+(?:defined\s+)?caller\b[^\n]*$",
    "lua": r"^return\b[^\n]*\s*\Z",
    "r": rf"^if\s*\(\s*(?:sys\.nframe\(\)\s*==\s*0L?|!\s*interactive\(\))\s*\)\s*{_BODY}",
    "bash": r'^if\s+\[\[?\s+"?\$\{BASH_SOURCE(?:\[0\])?\}"?\s+==?\s+"?\$\{?0\}?"?\s+\]\].{0,9000}?^fi\b',
    "rust_test": r"^#\[cfg\(test\)\]\s*mod\s+\w+\s*\{.{0,9000}?^\}",
    **dict.fromkeys(
        ("javascript", "typescript", "jest"),
        rf"^if\s*\(\s*(?:require\.main\s*===?\s*module|module\s*===?\s*require\.main)\s*\)\s*{_BODY}",
    ),
}
"""What a file does where it is the program that was started; and Lua's value of a module, which ends its file."""


def without_own_begin(code: str, others: str, language: str) -> str:
    """The answer without what it does as a program of its own; `others` are the row's parts of the program."""
    own_run = _OWN_RUN.get(language)
    if own_run is not None:
        code = re.sub(own_run, "", code, flags=re.MULTILINE | re.DOTALL)
    main = re.compile(_MAINS[language], re.MULTILINE) if language in _MAINS else None
    if language == "swift":
        main = _MAIN_TYPE
    elif main is None or not any(sign.search(others) for sign in (main, *_RUN_BY.get(language, ()))):
        return code
    if language == "scala":
        code = _APP.sub("", code)
    elif language == "csharp" and (types := top_types(code)):  # statements at the top level are its begin, too
        first = types[0][0].start()
        code = "\n".join((*map(str.strip, _USINGS.findall(code[:first])), code[first:]))
    kept, end = "", 0
    for found in main.finditer(code):
        if found.start() >= end:
            kept, end = kept + code[end : found.start()], _body_end(code, found)
    return kept + code[end:]


def _body_end(code: str, main: re.Match[str]) -> int:
    """Behind a body: a block, an expression up to its semicolon, or one that goes on in lines further in."""
    opens, at = main[1], main.end(1)
    if opens == "{":
        return end_of_block(code, at)
    if opens == "=>":
        return next((end for end, depth, mark in _marks(code, at) if mark == ";" and depth == 0), len(code))
    if opens != "=":
        return at
    begin = code.rfind("\n", 0, main.start()) + 1
    indent = len(code[begin:]) - len(code[begin:].lstrip(" \t"))
    for end, depth, mark in _marks(code, at):
        following = code[end:].partition("\n")[0]
        deeper = len(following) - len(following.lstrip(" \t")) > indent
        if depth < 0 or (mark == "\n" and depth == 0 and code[at:end].strip() and not deeper):
            return end - 1
    return len(code)


def _marks(code: str, at: int) -> Iterator[tuple[int, int, str]]:
    """(where it ends, how many brackets are open behind it, a bracket, a semicolon or a line's end)."""
    depth = 0
    for part in _MARK.finditer(code, at):
        if len(part[0]) == 1:
            depth += (part[0] in "([{") - (part[0] in ")]}")
            yield part.end(), depth, part[0]


_MARK: Final = re.compile(f"{BRACE.pattern}|[()\\[\\];\n]", re.DOTALL)
