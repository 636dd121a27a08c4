"""A row's prompt that begins a program: an answer continues it, or writes its function anew, as a bare function or in a
type of its own."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from sandbox_gym.server.coding.braces import BRACED, depths, end_of_block, net, top_types

_SETTING: Final = re.compile(
    r"^import[ \t]*\([^()]*\)"
    r"|^[ \t]*(?:#[ \t]*(?:include|define)|using|import|package|use|open|require|<\?php|from)\b.*$"
    r"|^(?:#lang|local \w+ = require)\b.*$",
    re.MULTILINE,
)
"""What a program is set in, other than its functions and types."""
_NOT_CODE: Final = re.compile(r"\s*(?://|#(?!\s*lang)|--|/?\*|;|\"\"\"|my\b|\Z)")
_NAMED: Final = (
    re.compile(r"\(define\s+\(([^\s()]+)"),
    re.compile(r"\b(?:def|function|sub|fn|func|fun|let\s+rec|let)\s+([A-Za-z_]\w*[!?]?)"),
    re.compile(r"([A-Za-z_]\w*)\s*(?:<-|=)\s*(?:async\s*)?(?:function\b|\([^()]*\)\s*=>)"),
    re.compile(r"([A-Za-z_]\w*)\s*\("),
)
"""How a line begins a function, the surest first."""
_RUST_USES: Final = re.compile(r"^use\s[^;]*;", re.MULTILINE)


def function_of(prompt: str, test: str, language: str) -> tuple[str, int] | None:
    """(the function that the prompt's code begins last, where its line begins); None where the prompt is no code that
    an answer continues to what the test calls."""
    end = len(prompt) + 1
    for line in reversed(prompt.split("\n") if "```" not in prompt else ()):
        start = end - 1 - len(line)
        end = start
        if _NOT_CODE.match(line) or line.strip() == "{":
            continue
        found = next((match for kind in _NAMED if (match := kind.search(line))), None)
        closed = language in BRACED - {"d", "d_ut"} and net(prompt[start:]) < 1
        if found is None or closed or not re.search(rf"(?<!\w){re.escape(found[1])}(?!\w)", test):
            return None
        return found[1], start
    return None


def _defines(code: str, name: str) -> bool:
    n = re.escape(name)
    return bool(
        re.search(
            rf"\b(?:def|function|sub|fn|func|fun|let\s+rec|let|const|var)\s+(?:\([^()]{{0,200}}\)\s*)?{n}(?!\w)"
            rf"|(?<!\w){n}\s*(?:<-|=)\s*(?:function|\\?\()|\(define\s+\(?{n}(?![^\s()])"
            rf"|[\w>\]&*]\s+[&*]?{n}\s*\([^;{{}}]{{0,500}}\)(?:[^;{{}}()]{{0,200}}\{{|\s*=>)|^{n}\s*\(\)\s*\{{",
            code,
            re.MULTILINE,
        )
    )


def continued(prompt: str, code: str, test: str, language: str, stops: Sequence[str]) -> str:
    """The program that stands before its test; the answer alone where the prompt is no code."""
    found = function_of(prompt, test, language)
    if found is None:
        return code
    name, start = found
    if not _defines(code, name):
        return _until(prompt, code, language, stops)
    before = prompt[:start]
    others = {other[1] for kind in _NAMED for other in kind.finditer(before)} - {name}
    if any(_defines(before, other) and _defines(code, other) for other in others):  # it repeats more than its function
        before = "\n".join(_SETTING.findall(before))
    if language in ("rust", "rust_test"):
        before = _overridden(before)
    types = top_types(code) if language in BRACED and net(before) else []
    if not types:
        return f"{before}\n{code}"
    outer = top_types(before)
    head = before[: outer[-1][0].start()] if outer else ""
    if -net(test) < 1:  # its own type, complete
        return f"{head}\n{code}"
    holder, end = next((one for one in types if _defines(code[one[0].start() : one[1]], name)), types[-1])
    inside = code[code.find("{", holder.end()) + 1 : end].rstrip().removesuffix("}")
    whole = f"{head}\n{code[: holder.start()]}{code[end:]}\n{before[len(head) :]}\n{inside}"
    return _renamed(whole, holder[5], outer[-1][0][5]) if outer else whole


def _overridden(before: str) -> str:
    """Rust in which each `use` may be there once more: what is taken from a module as a whole gives way to it."""
    uses = "".join(f"pub {one} " for one in _RUST_USES.findall(before))
    return f"mod row_uses {{ {uses}}} use row_uses::*;\n{_RUST_USES.sub('', before)}" if uses else before


def _renamed(code: str, name: str, other: str) -> str:
    """Calls of the answer's own type, and its constructors, where its members are in the prompt's."""
    return re.sub(
        rf'"(?:\\.|[^"\\\n])*"|(?<!\w){re.escape(name)}(?!\w)',
        lambda found: found[0] if found[0].startswith('"') else other,
        code,
    )


def without_namespaces(code: str, test: str, *, begun: bool = False) -> str:
    """What C#'s namespaces hold, without those that the test does not speak of, other than to be in one itself;
    `begun`: the test may end them."""
    for found in reversed(list(re.finditer(r"^[ \t]*namespace\s+([\w.]+)\s*([;{])", code, re.MULTILINE))):
        end = end_of_block(code, found.end()) if found[2] == "{" else found.end()
        held, is_open = code[found.end() : end], net(code[found.start() : end]) > 0
        if not (is_open and begun) and not re.search(rf"(?<![\w.])(?<!namespace ){re.escape(found[1])}(?!\w)", test):
            code = code[: found.start()] + (held if is_open else held.removesuffix("}")) + code[end:]
    return code


def _until(prompt: str, code: str, language: str, stops: Sequence[str]) -> str:
    """A continuation up to what ends it, behind the end of its function where braces tell that."""
    whole = prompt.removesuffix("\n") + f"\n{code}"
    begin = len(whole) - len(code)
    if language in BRACED:
        base = net(prompt)
        begin = next((end for end, depth in depths(whole) if end > begin and depth < base), len(whole))
    cut = min((at for stop in stops if (at := whole.find(stop, begin)) >= 0), default=len(whole))
    return whole[:cut]
