"""What javac wants a Java source file to be called: a public type that stands in no other has to be in its own file.

Reads tokens, not lines: comments, literals and everything inside brackets are skipped. Linear in the source's length.
"""

from __future__ import annotations

import re
from typing import Final

_UNICODE_ESCAPE: Final = re.compile(r"\\(?:\\|u+([0-9A-Fa-f]{4}))")
_TOKEN: Final = re.compile(
    r"""
      //[^\r\n]*
    | /\*(?:.*?\*/|.*)
    | \"\"\"(?:(?:\\.|[^\\])*?\"\"\"|.*)
    | "(?:\\.|[^"\\\r\n])*"?
    | '(?:\\.|[^'\\\r\n])*'?
    | (?P<word>[^\W\d][\w$]*|\$[\w$]*)
    | (?P<mark>[{}()\[\];])
    """,
    re.VERBOSE | re.DOTALL,
)
_KINDS: Final = frozenset({"class", "interface", "enum", "record"})


def public_type(code: str) -> str | None:
    """The name of the first public type at the top level; None where there is none."""
    depth, public, kind = 0, False, False
    for token in _TOKEN.finditer(_without_escapes(code)):
        mark, word = token["mark"], token["word"]
        if mark is not None:
            depth += (mark in "{([") - (mark in "})]")
            if depth <= 0 and mark in "};":
                depth, public = 0, False
            kind = False
        elif word is not None and depth == 0:
            if kind and public:
                return word
            public = public or word == "public"
            kind = word in _KINDS
    return None


def _without_escapes(code: str) -> str:
    r"""The source with its \uXXXX read, which Java does before anything else; two backslashes are no escape's begin."""
    if "\\u" not in code:
        return code
    return _UNICODE_ESCAPE.sub(lambda found: chr(int(found[1], 16)) if found[1] else found[0], code)
