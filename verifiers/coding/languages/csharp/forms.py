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
    declared_type,
    is_operand,
    item_type,
    made,
    opening,
    operand,
    parted,
    statement_end,
    text_of,
    type_before,
)

HELPERS = "SandboxGym.Later"
HOLES = re.compile(r"\{\{|\}\}|\{[^{}]*\}")
FORGIVEN = re.compile(r"(?<=[\w)\]])!(?=[.\[)},:])")
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
STRUCTS = frozenset(["KeyValuePair", "ValueTuple", "Span", "ReadOnlySpan", "Memory", "Nullable"])


def simple(tokens: Tokens) -> None:
    """What is one token, or two, in both."""
    declared = {b.text for a, b in pairwise(tokens) if a.text in ("class", "interface", "record") and b.kind == "word"}
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
        elif token.text == "is" and [following.text, tokens[min(at + 2, len(tokens) - 1)].text] == ["not", "null"]:
            token.text, following.text = "!=", ""
        elif token.text == "is" and following.text == "null":
            token.text = "=="
        elif token.text == "init" and following.text in (";", "{", "=>"):
            token.text = "set"
        elif (
            token.text == "required"
            and following.kind == "word"
            and (last.text in MODIFIERS or last.text in ("{", ";", "}"))
        ):
            token.text = ""
        elif token.kind == "text" and token.text.startswith('$"'):
            token.text = HOLES.sub(lambda hole: FORGIVEN.sub("", hole[0]), token.text)
        elif token.kind == "text" and token.text.startswith("@$"):
            token.text = "$@" + token.text[2:]
    for at in range(len(tokens) - 2):
        if tokens[at].text == "global" and tokens[at + 1].text == "using":
            tokens[at].text = ""
        elif [token.text for token in tokens[at : at + 3]] == ["is", "{", "}"]:
            tokens[at].text, tokens[at + 1].text, tokens[at + 2].text = "!=", "null", ""
    tokens[:] = [token for token in tokens if token.text or token.kind == "end"]


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
        for first, second in pairwise(tokens) if named else ():
            if first.text == "." and second.text == part[-1].text:
                second.text = f"Item{number}"
    tokens[at : close + 1] = made(f"System.ValueTuple<{', '.join(kinds)}>")
    return True


def is_not(tokens: Tokens, at: int) -> bool:
    """`a is not T` is `!(a is T)`."""
    if [tokens[at].text, tokens[at + 1].text] != ["is", "not"] or tokens[at + 2].kind != "word":
        return False
    end, start = at + 3, operand(tokens, at - 1)
    while tokens[end].text == ".":
        end += 2
    tokens.insert(end, Token("", "mark", ")"))
    del tokens[at + 1]
    before, tokens[start].before = tokens[start].before, ""
    tokens[start:start] = [Token(before, "mark", "!"), Token("", "mark", "(")]
    return True


def coalescing(tokens: Tokens, at: int) -> bool:
    """`a ??= b` is `a = a ?? b`."""
    if tokens[at].text != "??=":
        return False
    tokens[at : at + 1] = [*made("="), *copied(tokens, operand(tokens, at - 1), at), *made("??")]
    return True


def from_the_end(tokens: Tokens, at: int) -> bool:
    """`a[^1]`, `a[1..]`, `a[..^1]`: by the count of `a`, and by a function."""
    if tokens[at].text != "[" or not is_operand(tokens[at - 1]):
        return False
    end, start = closing(tokens, at), operand(tokens, at - 1)
    whole, inner = text_of(tokens[start:at]).strip(), tokens[at + 1 : end]
    dots = [i for i, token in enumerate(inner) if token.text == ".."]
    if not dots and (not inner or inner[0].text != "^"):
        return False

    def index(part: Tokens, missing: str) -> str:
        text = text_of(part).strip()
        return missing if not text else f"{HELPERS}.Count({whole}) - ({text[1:]})" if text[0] == "^" else text

    if not dots:
        tokens[at + 1 : end] = made(index(inner, ""))
        return True
    first, last = index(inner[: dots[0]], "0"), index(inner[dots[0] + 1 :], f"{HELPERS}.Count({whole})")
    before = tokens[start].before
    tokens[start : end + 1] = made(f"{HELPERS}.Part({whole}, {first}, {last})")
    tokens[start].before = before
    return True


def target_typed(tokens: Tokens, at: int) -> bool:
    """`T x = new()` and `T X { get; } = new()`: the type is that of what is declared."""
    if [tokens[at].text, tokens[at + 1].text, tokens[at - 1].text] != ["new", "(", "="] or at < 3:
        return False
    name = at - 2 if tokens[at - 2].text != "}" else opening(tokens, at - 2) - 1
    kind = type_before(tokens, name) if tokens[name].kind == "word" else ""
    if not kind:
        start = operand(tokens, at - 2)
        own = tokens[start].text != "this" and tokens[min(start + 1, len(tokens) - 1)].text != "."
        kind = declared_type(tokens, start if own else start + 2)
        for _ in range(sum(token.text == "[" for token in tokens[start : at - 1])):
            kind = item_type(kind)
    tokens[at + 1 : at + 1] = made(kind)
    return bool(kind)


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
    parts = [(text_of(part[:-1]).strip() or "var", part[-1].text) for part in parted(names)]
    taken = [f"{kind} {name} = {HELPERS}.Item{n}({item});" for n, (kind, name) in enumerate(parts, 1) if name != "_"]
    return " ".join(taken)


def deconstruction(tokens: Tokens, at: int) -> bool:
    """`var (a, b) = c;` and `(int a, int b) = c;` as declarations, one each."""
    if at and tokens[at - 1].text not in ("{", "}", ";"):
        return False
    inner = at + (tokens[at].text == "var")
    close = closing(tokens, inner)
    following = tokens[close + 1 : close + 5]
    if tokens[inner].text == "(" and inner == at and len(following) == 4:
        return tuple_typed(tokens, at, close, [token.text for token in following])
    return tokens[inner].text == "(" and apart(tokens, at, inner, close)


def tuple_typed(tokens: Tokens, at: int, close: int, following: list[str]) -> bool:
    """`(int, int) a = b` and `(int, int)[] a = { b }` are `var a`."""
    if following[0] == "=":
        return apart(tokens, at, at, close)
    end = close + 1 if following[1] == "=" else close + 3 if following[:2] == ["[", "]"] and following[3] == "=" else 0
    if not end or tokens[end].kind != "word":
        return False
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


def switch_expression(tokens: Tokens, at: int) -> bool:
    """`a switch { 1 => b, > 2 and < 5 => c, _ => d }` over constants: a chain of conditions."""
    if tokens[at].text != "switch" or tokens[at + 1].text != "{" or not is_operand(tokens[at - 1]):
        return False
    start, end = operand(tokens, at - 1), closing(tokens, at + 1)
    value = tokens[start:at]
    whole = text_of(value).strip()
    several = [text_of(part).strip() for part in parted(value[1:-1])] if value[0].text == "(" else []
    chain, last = "", 'throw new System.InvalidOperationException("no arm matches")'
    for arm in parted(tokens[at + 2 : end]):
        arrow = next(i for i, token in enumerate(arm) if token.text == "=>")
        guard = next((i for i in range(arrow) if arm[i].text == "when"), arrow)
        test = pattern(arm[:guard], several if len(several) > 1 else [whole])
        if guard < arrow:
            told = text_of(arm[guard + 1 : arrow]).strip()
            test = f"({told})" if test == "true" else f"{test} && ({told})"
        result = text_of(arm[arrow + 1 :]).strip()
        if test == "true":
            last = result
            break
        chain += f"({test}) ? ({result}) : "
    before = tokens[start].before
    tokens[start : end + 1] = made(f"({chain}{last})")
    tokens[start].before = before
    return True


def pattern(tokens: Tokens, values: list[str]) -> str:
    """A condition for a pattern of constants."""
    if len(values) > 1:
        inner = parted(tokens[1:-1]) if tokens[0].text == "(" else []
        tests = [pattern(part, [value]) for part, value in zip(inner, values, strict=False)]
        return " && ".join(test for test in tests if test != "true") or "true"
    for word, operator in (("or", " || "), ("and", " && ")):
        if any(token.text == word for token in tokens):
            at = next(i for i, token in enumerate(tokens) if token.text == word)
            return f"({pattern(tokens[:at], values)}{operator}{pattern(tokens[at + 1 :], values)})"
    text = text_of(tokens).strip()
    if tokens[0].text == "not":
        return f"!({pattern(tokens[1:], values)})"
    if text == "_":
        return "true"
    return f"{values[0]} {text}" if tokens[0].text in ("<", ">", "<=", ">=") else f"{values[0]} == {text}"


def properties(tokens: Tokens, at: int) -> bool:
    """`a is { B: > 1, C: null }` is `(a != null && a.B > 1 && a.C == null)`."""
    if [tokens[at].text, tokens[at + 1].text] != ["is", "{"]:
        return False
    start, end = operand(tokens, at - 1), closing(tokens, at + 1)
    whole = text_of(tokens[start:at]).strip()
    tests = [f"{whole} != null"]
    tests += [pattern(part[2:], [f"{whole}.{part[0].text}"]) for part in parted(tokens[at + 2 : end])]
    tokens[start : end + 1] = made(f"({' && '.join(tests)})")
    return True


def with_expression(tokens: Tokens, at: int) -> bool:
    """`a with { B = c }` of a record: a helper sets what is given in a copy."""
    if tokens[at].text != "with" or tokens[at + 1].text != "{":
        return False
    start, end = operand(tokens, at - 1), closing(tokens, at + 1)
    copy = f"sandbox_gym_{at}"
    given = "".join(f"{copy}.{text_of(part).strip()}; " for part in parted(tokens[at + 2 : end]))
    whole = text_of(tokens[start:at]).strip()
    tokens[start : end + 1] = made(f"{HELPERS}.With({whole}.SandboxGymCopy(), {copy} => {{ {given}}})")
    return True


def collection(tokens: Tokens, at: int) -> bool:
    """`T a = [b, c];` is `T a = new T { b, c };`."""
    if tokens[at].text != "[" or tokens[at - 1].text != "=" or at < 3:
        return False
    end, kind = closing(tokens, at), type_before(tokens, at - 2)
    if not kind or any(token.text == ".." for token in tokens[at:end]):
        return False
    tokens[end].text = "}"
    tokens[at : at + 1] = made(f"new {kind} {{")
    return True
