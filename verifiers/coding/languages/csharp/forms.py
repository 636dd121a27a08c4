"""Expressions, types and statements of today's C#, each in words of C# 7; the second part of lowering.py's script."""

from __future__ import annotations

import re
from itertools import pairwise

from sandbox_gym.verifiers.coding.languages.csharp.tokens import (
    MODIFIERS,
    Token,
    Tokens,
    closing,
    copied,
    each,
    is_operand,
    is_plain,
    made,
    opening,
    operand,
    parted,
    statement_end,
    text_of,
)

HELPERS = "SandboxGym.Later"
REFERENCES = frozenset(
    [
        "string",
        "object",
        "dynamic",
        "StreamReader",
        "StreamWriter",
        "TextReader",
        "TextWriter",
        "StringReader",
        "StringBuilder",
        "Exception",
        "Random",
        "Regex",
        "Match",
        "Type",
        "Action",
    ]
)
LATER = {
    "Random": ("Shared",),
    "Enum": ("GetValues", "GetNames"),
    "Convert": ("ToHexString",),
    "Math": ("Log2", "DivRem"),
    "ArgumentNullException": ("ThrowIfNull",),
    "char": ("IsAsciiDigit", "IsAsciiLetter", "IsAsciiLetterOrDigit"),
    "string": ("Create",),
}
SETS = frozenset(["=", "++", "--", "+=", "-=", "*=", "/=", "%=", "&=", "|=", "^=", "??="])
FILE_TYPES = frozenset(["class", "struct", "record", "interface", "enum", "static", "sealed", "abstract", "readonly"])
STRUCTS = frozenset(["KeyValuePair", "ValueTuple", "Span", "ReadOnlySpan", "Memory", "Nullable"])


def simple(tokens: Tokens) -> None:
    """What is one token, or two, in both."""
    declared = {b.text for a, b in pairwise(tokens) if a.text in ("class", "interface", "record") and b.kind == "word"}
    for at in range(len(tokens) - 1):
        if tokens[at].text == "delegate":
            name = next(i for i in range(at, len(tokens)) if tokens[i].text in ("(", "")) - 1
            declared.add(tokens[name].text)
    declared |= type_parameters(tokens)
    for at in range(1, len(tokens) - 1):
        last, token, following = tokens[at - 1], tokens[at], tokens[at + 1]
        if (
            (
                token.text == "!"
                and is_operand(last)
                and not (following.kind in ("word", "text", "number") or following.text in "(!-+~")
            )
            or (
                token.text == "?"
                and (last.text in REFERENCES | declared or (last.text == "]" and tokens[at - 2].text == "["))
            )
            or (token.text == "?" and last.text == ">" and not generic_struct(tokens, at - 1))
        ):
            token.text = ""
        elif token.text == "init" and following.text in (";", "{", "=>"):
            token.text = "set"
        elif (
            token.text == "required"
            and following.kind == "word"
            and (last.text in MODIFIERS or last.text in ("{", ";", "}"))
        ):
            token.text = ""
    for at in range(len(tokens) - 2):
        word, following = tokens[at].text, tokens[at + 1]
        is_file = word == "file" and following.text in FILE_TYPES
        if is_file or [word, following.text] in (["global", "using"], ["readonly", "struct"], ["ref", "struct"]):
            tokens[at].text = ""
    tokens[:] = [token for token in tokens if token.text or token.kind == "end"]


def type_parameters(tokens: Tokens) -> set[str]:
    """By their spelling (`T`, `TKey`, `K`), where none is the name or the constraint of a value type; `T?` is T."""
    near = list(zip(tokens, tokens[1:], tokens[2:], strict=False))
    values = {b.text for a, b, _ in near if a.text in ("struct", "enum")}
    values |= {a.text for a, b, c in near if b.text == ":" and c.text in ("struct", "unmanaged")}
    within = {b.text for a, b, c in near if a.text in ("<", ",") and c.text in (">", ",")}
    return {one for one in within if re.fullmatch(r"[A-Z]|T[A-Z]\w*", one)} - values


def generic_struct(tokens: Tokens, at: int) -> bool:
    depth = 0
    while at > 0:
        depth += (tokens[at].text == ">") - (tokens[at].text == "<")
        if depth == 0:
            return tokens[at - 1].text in STRUCTS
        at -= 1
    return False


def nested_tuple(tokens: Tokens, at: int) -> bool:
    """`List<List<(int a, int b)>>`: Mono's compiler reads such a type in long form alone, where items have no names."""
    if tokens[at].text != "(" or tokens[at - 1].text not in ("<", ","):
        return False
    close = closing(tokens, at)
    if [token.text for token in tokens[close + 1 : close + 3]] != [">", ">"]:
        return False
    kinds = []
    for number, part in enumerate(parted(tokens[at + 1 : close]), 1):
        named = len(part) > 1 and part[-1].kind == "word" and part[-2].text != "."
        kinds.append(text_of(part[:-1] if named else part).strip())
        for dot in range(1, len(tokens) - 1) if named else ():
            name = tokens[dot + 1]
            if tokens[dot].text == "." and name.text == part[-1].text:
                others = name.text in ("Key", "Value", "Count", "Length") and tokens[dot - 1].text not in (
                    "Value",
                    "Current",
                )
                name.text = name.text if others else f"Item{number}"
    tokens[at : close + 1] = made(f"System.ValueTuple<{', '.join(kinds)}>")
    return True


def coalescing(tokens: Tokens, at: int) -> bool:
    """`a ??= b` is `a = a ?? b`."""
    start = operand(tokens, at - 1)
    if tokens[at].text != "??=" or any(token.text in ("++", "--") for token in tokens[start:at]):
        return False
    tokens[at : at + 1] = [*made("="), *copied(tokens, start, at), *made("??")]
    return True


def from_the_end(tokens: Tokens, at: int) -> bool:
    """`a[^1]`, `a[1..]`, `a[..^1]`: by the count of `a`, and by a function, which asks once for what is no name."""
    if tokens[at].text != "[" or not is_operand(tokens[at - 1]):
        return False
    end, start = closing(tokens, at), operand(tokens, at - 1)
    inner, subject = tokens[at + 1 : end], [*copied(tokens, start, at), Token("", "end", "")]
    dots = [i for i, token in enumerate(inner) if token.text == ".."]
    if not dots and (not inner or inner[0].text != "^"):
        return False

    each(subject, from_the_end)
    whole = text_of(subject).strip()
    if not dots and (is_plain(tokens[start:at]) or tokens[end + 1].text in SETS):
        tokens[at + 1 : end] = made(f"{HELPERS}.Count({whole}) - ({text_of(inner[1:])})")
        return True

    def index(part: Tokens) -> str:
        text = text_of(part).strip()
        return f"{HELPERS}.End({text[1:] or 0})" if not text or text[0] == "^" else text

    first, last = index(inner[: dots[0]]) if dots and dots[0] else "0", index(inner[dots[0] + 1 :] if dots else inner)
    taken = f"Part({whole}, {first}, {last})" if dots else f"At({whole}, {last})"
    before = tokens[start].before
    tokens[start : end + 1] = made(f"{HELPERS}.{taken}")
    tokens[start].before = before
    return True


def pairs(tokens: Tokens, at: int) -> bool:
    """`foreach (var (a, b) in c) d;`: a helper takes each item apart."""
    if tokens[at].text != "foreach" or tokens[at + 1].text != "(":
        return False
    inner = at + 3 if tokens[at + 2].text == "var" else at + 2
    if tokens[inner].text != "(":
        return False
    close, end = closing(tokens, inner), closing(tokens, at + 1)
    item = f"sandbox_gym_{at}"
    taken = taken_apart(tokens[inner + 1 : close], item)
    stop = statement_end(tokens, end + 1)
    tokens.insert(stop + 1, Token(" ", "mark", "}"))
    tokens[end + 1 : end + 1] = made(f"{{ {taken}")
    tokens[at + 2 : close + 1] = made(f"var {item}")
    return True


def taken_apart(names: Tokens, item: str) -> str:
    """Declarations of the items of a tuple, or of a dictionary's pair."""
    taken = []
    for n, part in enumerate(parted(names), 1):
        nested = part[-1].text == ")"
        kind, name = ("", f"{item}_{n}") if nested else (text_of(part[:-1]).strip(), part[-1].text)
        if name != "_":
            taken.append(f"{kind or 'var'} {name} = {HELPERS}.Item{n}({item});")
        if nested:
            taken.append(taken_apart(part[opening(part, len(part) - 1) + 1 : -1], name))
    return " ".join(taken)


def deconstruction(tokens: Tokens, at: int) -> bool:
    """`var (a, b) = c;` and `(int a, int b) = c;` as declarations, one each."""
    if at and tokens[at - 1].text not in ("{", "}", ";"):
        return False
    inner = at + (tokens[at].text == "var")
    close = closing(tokens, inner)
    following = tokens[close + 1 : close + 5]
    if tokens[inner].text == "(" and inner == at and following[0].text == "=" and assigned(tokens, at, close):
        return True
    if tokens[inner].text == "(" and inner == at and len(following) == 4:
        return tuple_typed(tokens, at, close, [token.text for token in following])
    return tokens[inner].text == "(" and apart(tokens, at, inner, close)


def assigned(tokens: Tokens, at: int, close: int) -> bool:
    """`(a[0], b) = (c, d);`: all is read before the first is set."""
    wanted, end = parted(tokens[at + 1 : close]), statement_end(tokens, close)
    if any(len(part) > 1 and part[-2].kind == "word" and part[-1].kind == "word" for part in wanted) or any(
        part[0].text == "var" for part in wanted
    ):
        return False
    given = parted(tokens[close + 3 : end - 1]) if tokens[close + 2].text == "(" else []
    if len(given) == len(wanted) and closing(tokens, close + 2) == end - 1:
        read = [f"var sandbox_gym_{at}_{n} = {text_of(part)};" for n, part in enumerate(given)]
        values = [f"sandbox_gym_{at}_{n}" for n in range(len(given))]
    else:
        read = [f"var sandbox_gym_{at} = {text_of(tokens[close + 2 : end])};"]
        values = [f"{HELPERS}.Item{n}(sandbox_gym_{at})" for n in range(1, len(wanted) + 1)]
    names = [text_of(part).strip() for part in wanted]
    sets = [f"{name} = {value};" for name, value in zip(names, values, strict=True) if name != "_"]
    tokens[at : end + 1] = made(f"{{ {' '.join([*read, *sets])} }}")
    return True


def tuple_typed(tokens: Tokens, at: int, close: int, following: list[str]) -> bool:
    """`(int, int) a = b` and `(int, int)[] a = { b }` are `var a`."""
    if following[0] == "=":
        return apart(tokens, at, at, close)
    end = close + 1 if following[1] == "=" else close + 3 if following[:2] == ["[", "]"] and following[3] == "=" else 0
    if not end or tokens[end].kind != "word":
        return False
    names = [part[-1].text for part in parted(tokens[at + 1 : close]) if len(part) > 1 and part[-1].kind == "word"]
    stop = closing(tokens, end + 2)
    given = parted(tokens[end + 3 : stop]) if tokens[end + 2].text == "(" and tokens[stop + 1].text == ";" else []
    if end == close + 1 and names and len(names) == len(given):
        whole = ", ".join(f"{name}: {text_of(part)}" for name, part in zip(names, given, strict=True))
        tokens[end + 3 : stop] = made(whole)
    if tokens[end + 2].text == "{":
        tokens[end + 2 : end + 2] = [*made("new"), *copied(tokens, at, end)]
    tokens[at:end] = [Token(tokens[at].before, "word", "var"), *made(" ")]
    return True


def apart(tokens: Tokens, at: int, inner: int, close: int) -> bool:
    if tokens[close + 1].text != "=":
        return False
    if inner == at and not all(len(part) > 1 and part[-2].kind == "word" for part in parted(tokens[inner + 1 : close])):
        return False
    item = f"sandbox_gym_{at}"
    end = statement_end(tokens, close)
    tokens[end + 1 : end + 1] = made(taken_apart(tokens[inner + 1 : close], item))
    before = tokens[at].before
    tokens[at : close + 1] = made(f"var {item}")
    tokens[at].before = before
    return True


def natural_lambda(tokens: Tokens, at: int) -> bool:
    """`var f = (int x) => y;`: a helper has the type; no lambda is `static`."""
    if tokens[at].text == "static" and tokens[at + 1].text in ("(", "async"):
        opened = at + 1 + (tokens[at + 1].text == "async")
        if tokens[closing(tokens, opened) + 1].text == "=>":
            del tokens[at]
    elif tokens[at].text == "static" and tokens[at + 1].kind == "word" and tokens[at + 2].text == "=>":
        del tokens[at]
    if [token.text for token in tokens[at : at + 3 : 2]] != ["var", "="]:
        return False
    opened = at + 3 + (tokens[at + 3].text == "async")
    if tokens[opened].text != "(" or tokens[closing(tokens, opened) + 1].text != "=>":
        return False
    tokens.insert(statement_end(tokens, at), Token("", "mark", ")"))
    tokens[at + 3 : at + 3] = made(f"{HELPERS}.Of(")
    return True


def later_member(tokens: Tokens, at: int) -> bool:
    """`Random.Shared` and other members of today's library, of types that Mono has: they are the helper's."""
    name = [token.text for token in tokens[at : at + 3]]
    if name[1] == "." and name[2] in LATER.get(name[0], ()) and tokens[at - 1].text != ".":
        tokens[at].text = HELPERS
    elif name == ["StringSplitOptions", ".", "TrimEntries"]:
        call, depth = at, 0
        while call and depth >= 0:
            call -= 1
            depth += (tokens[call].text == ")") - (tokens[call].text == "(")
        tokens[call - 1].text = "SplitTrimmed"
        tokens[at + 2].text = "None"
    return False


def using_declaration(tokens: Tokens, at: int) -> bool:
    """`using var a = b; ...` up to the block's end is `using (var a = b) { ... }`."""
    if (
        tokens[at].text != "using"
        or tokens[at + 1].kind != "word"
        or tokens[at + 2].kind != "word"
        or tokens[at + 3].text != "="
    ):
        return False
    if at and tokens[at - 1].text not in ("{", ";", "}", ")"):
        return False
    end = statement_end(tokens, at + 1)
    stop, depth = end, 0
    while stop < len(tokens) - 1 and depth >= 0:
        stop += 1
        depth += (tokens[stop].text == "{") - (tokens[stop].text == "}")
    tokens.insert(stop, Token(" ", "mark", "}"))
    tokens[end : end + 1] = made(") {")
    tokens.insert(at + 1, Token(" ", "mark", "("))
    return True


def with_expression(tokens: Tokens, at: int) -> bool:
    """`a with { B = c }` of a record: what is given is set in a copy."""
    if tokens[at].text != "with" or tokens[at + 1].text != "{":
        return False
    start, end = operand(tokens, at - 1), closing(tokens, at + 1)
    copy = f"sandbox_gym_{at}"
    given = "".join(f"{copy}.{text_of(part).strip()}; " for part in parted(tokens[at + 2 : end]))
    whole = text_of(tokens[start:at]).strip()
    tokens[start : end + 1] = made(f"{HELPERS}.Let({whole}.SandboxGymCopy(), {copy} => {{ {given}return {copy}; }})")
    return True
