"""Texts of today's C#, with holes and raw ones, in those of C# 7; a part of lowering.py's script."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.coding.languages.csharp.tokens import Interpolated, Tokens, interpolated, made


def texts(tokens: Tokens) -> Tokens:
    """Expressions in texts as arguments of `string.Format`, to be rewritten, and raw texts as verbatim ones."""
    found: Tokens = []
    for token in tokens:
        text = interpolated(token.text) if token.kind == "text" else None
        plain = token.text if token.text.startswith('"""') else ""
        quotes = len(plain) - len(plain.lstrip('"'))
        if text is None:
            token.text = verbatim([plain[quotes:-quotes]]) if plain else token.text
            found.append(token)
            continue
        last = [one.text for one in found[-4:]]
        form = formatted(text, is_const="const" in last, is_kept="FormattableString" in last)
        form[0].before = token.before
        found += form
    return found


def formatted(text: Interpolated, *, is_const: bool, is_kept: bool) -> Tokens:
    forms = [f"{{{number}{form}}}" for number, (_, form) in enumerate(text.holes)]
    literals = text.literals
    if text.is_raw:
        literals = [part.replace("{", "{{").replace("}", "}}") for part in literals]
    parts = [part for pair in zip(literals, [*forms, ""], strict=True) for part in pair]
    opening = '@"' if text.is_verbatim else '"'
    if is_const:
        holes = [f" + ({hole}) + " for hole, _ in text.holes]
        quoted = [f'{opening}{unescaped(part)}"' for part in literals]
        return made("(" + "".join(part for pair in zip(quoted, [*holes, ""], strict=True) for part in pair) + ")")
    whole = verbatim(parts) if text.is_raw else f'{opening}{"".join(parts)}"'
    if not forms:
        return made(unescaped(whole))
    maker = "System.Runtime.CompilerServices.FormattableStringFactory.Create" if is_kept else "string.Format"
    return texts(made(f"{maker}({whole}{''.join(f', (object)({hole})' for hole, _ in text.holes)})"))


def unescaped(text: str) -> str:
    return text.replace("{{", "{").replace("}}", "}")


def verbatim(parts: list[str]) -> str:
    """A raw text as `@"..."`: its lines lose what stands before the closing quotes."""
    inner = "".join(parts)
    if "\n" in inner:
        indent = inner[inner.rindex("\n") + 1 :]
        if not indent.strip():
            inner = re.sub(rf"\n[ \t]{{0,{len(indent)}}}", "\n", inner[: inner.rindex("\n")]).partition("\n")[2]
    return '@"' + inner.replace('"', '""') + '"'
