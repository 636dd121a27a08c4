"""An answer in JavaScript or TypeScript beside its test: each may load what it needs, by `require` or `import`, and
have names of its own."""

from __future__ import annotations

import re
from typing import Final

_LOADS: Final = re.compile(
    r"^(?:(?:const|let|var)\s+([\w$]+|\{[^{}=]*\})\s*=\s*require\(\s*['\"](?:node:)?([^'\"\n]+)['\"]\s*\)"
    r"|import\s+([\w$*{][^'\"\n;]*?)\s*from\s*['\"](?:node:)?([^'\"\n]+)['\"])[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
"""What is loaded under a name, which may not be said twice."""
_IMPORTS: Final = re.compile(
    r"^import\s+(?:([\w$]+)\b\s*,?\s*)?(?:\*\s*as\s+([\w$]+)\s*|(\{[^{}]*\})\s*)?(?:\bfrom\s*)?(['\"][^'\"\n]+['\"])"
    r"[ \t]*;?[ \t]*$",
    re.MULTILINE,
)
_DECLARED: Final = re.compile(
    r"^(?:async\s+)?(?:function\b\s*\*?|class|const|let|var|enum)\s+([\w$]+|\{[^{}=]{0,500}\})"
    r"|^import\s+([^'\";]{1,500}?)\s*\bfrom\b",
    re.MULTILINE,
)
_NAME: Final = re.compile(r"(?:(?:\bas\s|:)\s*)?([A-Za-z_$][\w$]*)\s*(?=[,}]|\Z)")
_AMBIENT: Final = re.compile(r"^declare\s+(?:var|let|const|function)\b[^;\n]*;?[ \t]*$", re.MULTILINE)
_REQUIRES: Final = re.compile(r"(?<![\w$.])require\s*\(")
_HAS_REQUIRE: Final = re.compile(r"\bcreateRequire\b|(?:const|let|var)\s+require\b")
_OF_COMMONJS: Final = re.compile(
    r"^(?:module\.exports|exports\.[\w$]+)[ \t]*=[ \t]*(?:\{[^{}]*\}|[\w$.]+)[ \t]*;?[ \t]*$", re.MULTILINE
)


def beside(code: str, test: str, language: str) -> tuple[str, str]:
    """(answer, test) as parts of one file: what both load is loaded once, a test that gives a name again has a block of
    its own, and where one of them is a module the other is read as one."""
    loaded = {found.groups() for found in _LOADS.finditer(code)}
    test = _LOADS.sub(lambda found: "" if found.groups() in loaded else found[0], test)
    if not _names(code).isdisjoint(_names(test)):
        test = f"{{\n{_AMBIENT.sub('', _IMPORTS.sub(_required, test))}\n}}\n"
    if language == "javascript" and (_IMPORTS.search(code) or _IMPORTS.search(test)):
        code = _OF_COMMONJS.sub("", code)
        if _REQUIRES.search(code + test) and not _HAS_REQUIRE.search(code + test):
            required = "createRequire(import.meta.url)"
            code = f"import {{ createRequire }} from 'node:module';\nconst require = {required};\n{code}"
    return code, test


def _required(found: re.Match[str]) -> str:
    """An import as it may stand in a block."""
    braces = re.sub(r"\s+as\s+", ": ", found[3]) if found[3] else None
    names = [name for name in (found[1], found[2], braces) if name]
    return " ".join(f"const {name} = require({found[4]});" for name in names) or f"require({found[4]});"


def _names(code: str) -> set[str]:
    """What a file gives a name at its top level."""
    return {found[1] for one in _DECLARED.finditer(code) for found in _NAME.finditer(one[1] or one[2])}
