"""Expressions of today's C# that have their place's type: `new()`, `[a, b]`, `a ? b : c`; a part of lowering.py."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.coding.languages.csharp.tokens import (
    DECLARED,
    NOT_OPERANDS,
    PAIRS,
    Tokens,
    closing,
    declared_type,
    is_operand,
    item_type,
    made,
    opening,
    operand,
    parted,
    text_of,
    type_before,
    wanted_type,
)


def target_typed(tokens: Tokens, at: int) -> bool:
    """`T x = new()`, `T X { get; } = new()`, `return new()`, `new List<T> { new() }` and `a.Add(new())`: the type is
    that of what is declared."""
    if [tokens[at].text, tokens[at + 1].text] != ["new", "("] or at < 3:
        return False
    kind = place_type(tokens, at)
    tokens[at + 1 : at + 1] = made(kind)
    return bool(kind)


def place_type(tokens: Tokens, at: int) -> str:
    """The type that is wanted of the expression that begins at `at`."""
    last = tokens[at - 1].text
    if last == "??":
        return type_of_items(tokens, operand(tokens, at - 2), at - 1)
    if last in ("{", ",", "="):
        kind = begun_type(tokens, at)
        kind = kind or (assigned_type(tokens, at) if last == "=" else "")
    elif last == "(" and tokens[at - 3].text == ".":
        kind = item_type(type_of_items(tokens, operand(tokens, at - 4), at - 3))
    elif last == "(" and tokens[at - 2].text == ")":  # a cast of our own
        kind = text_of(tokens[opening(tokens, at - 2) + 1 : at - 2]).strip()
    else:
        kind = "" if last == "(" else wanted_type(tokens, at)
    return kind or (parameter_type(tokens, at) if last in ("(", ",") else "")


def assigned_type(tokens: Tokens, at: int) -> str:
    name = at - 2 if tokens[at - 2].text != "}" else opening(tokens, at - 2) - 1
    kind = type_before(tokens, name) if tokens[name].kind == "word" else ""
    return kind or type_of_items(tokens, operand(tokens, at - 2), at - 1)


def type_of_items(tokens: Tokens, start: int, end: int) -> str:
    """Of `a`, `this.a` or `a[b]`."""
    kind = declared_type(tokens, start + 2 if start + 1 < end and tokens[start + 1].text == "." else start)
    for _ in range(sum(token.text == "[" for token in tokens[start:end])):
        kind = item_type(kind)
    return kind


def begun_type(tokens: Tokens, at: int) -> str:
    """Of the items of `new T { ..., new() }`, `new T { [a] = new() }` and `new T { { a, new() } }`; "" elsewhere."""
    if tokens[at - 1].text == "=" and (tokens[at - 2].text != "]" or is_operand(tokens[opening(tokens, at - 2) - 1])):
        return ""
    depth = 0
    for brace in range(at - 1, 0, -1):
        depth += (tokens[brace].text in PAIRS.values()) - (tokens[brace].text in PAIRS)
        if depth < 0 and [tokens[brace - 1].text, tokens[brace].text] == ["=", "{"]:
            return item_type(type_before(tokens, brace - 2))
        if depth < 0 and tokens[brace].text == "{" and tokens[brace - 1].text in ("{", ","):  # what Add is given
            return begun_type(tokens, brace) if tokens[at - 1].text == "," else ""
        if depth < 0:
            end = opening(tokens, brace - 1) if tokens[brace - 1].text == ")" else brace
            start = end
            while start and tokens[start - 1].text not in ("new", ";", "{", "}", "(", "="):
                start -= 1
            is_new = tokens[brace].text == "{" and tokens[start - 1].text == "new"
            if is_new and tokens[start].text == "(":  # new() { ... }, not read yet
                return item_type(place_type(tokens, start - 1))
            return item_type(text_of(tokens[start:end]).strip()) if is_new else ""
    return ""


def parameter_type(tokens: Tokens, at: int) -> str:
    """Of what a method of the source, or a constructor, is given at this place."""
    depth = place = 0
    for begin in range(at - 1, 0, -1):
        depth += (tokens[begin].text in PAIRS.values()) - (tokens[begin].text in PAIRS)
        if depth < 0:
            break
        place += depth == 0 and tokens[begin].text == ","
    name = tokens[begin - 1].text
    for own in range(1, len(tokens) - 2) if tokens[begin - 1].kind == "word" else ():
        if tokens[own].text != name or tokens[own + 1].text != "(" or own == begin - 1:
            continue
        given = parted(tokens[own + 2 : closing(tokens, own + 1)])
        declares = tokens[own - 1].kind == "word" and tokens[own - 1].text not in NOT_OPERANDS
        if (declares or tokens[own - 1].text in (">", "]", "?", ")")) and place < len(given) and len(given[place]) > 1:
            return text_of(given[place][:-1]).strip()
    return ""


def conditional(tokens: Tokens, at: int) -> bool:
    """`T x = a ? b : c` of parts that are a T each: the first is told to be one."""
    if tokens[at].text not in ("=", "=>", "return"):
        return False
    kind = wanted_type(tokens, at + 1)
    if not (kind.endswith("?") or kind.partition("<")[0] in DECLARED):
        return False
    end, marks = at + 1, []
    while tokens[end].text not in (";", ",", "", ")", "}", "]"):
        marks += [end] if tokens[end].text in ("?", ":") else []
        end = closing(tokens, end) + 1 if tokens[end].text in PAIRS else end + 1
    if [tokens[mark].text for mark in marks] not in (["?", ":"], ["?", ":", "?", ":"]) or tokens[
        marks[0] + 1
    ].text == "(":
        return False
    tokens[marks[1] : marks[1]] = made(")")
    tokens[marks[0] + 1 : marks[0] + 1] = made(f"({kind})(")
    return True


def collection(tokens: Tokens, at: int) -> bool:
    """`T a = [b, c];` is `T a = new T { b, c };`, and what is spread in it is joined."""
    if tokens[at].text != "[" or tokens[at - 1].text not in ("=", "=>", "return", "(", ",", "{", "??") or at < 3:
        return False
    end = closing(tokens, at)
    kind = "" if tokens[end + 1].text == "=" else place_type(tokens, at)
    if kind:
        tokens[at : end + 1] = made(collected(tokens[at + 1 : end], kind))
    return bool(kind)


def collected(inner: Tokens, kind: str) -> str:
    made_of = re.sub(r"^I(?:ReadOnly)?(?:List|Collection|Enumerable)<", "List<", kind)
    made_of = re.sub(r"^(?:ReadOnly)?Span<(.*)>$", r"\1[]", made_of)
    item = item_type(made_of)
    parts = []
    for part in parted(inner):
        text = text_of(part).strip()
        if part[0].text == "[" and closing(part, 0) == len(part) - 1:
            text = collected(part[1:-1], item)
        elif [one.text for one in part[:2]] == ["new", "("]:
            text = f"new {item}{text[3:]}"
        parts.append(text)
    if not any(part.startswith("..") for part in parts):
        return f"new {made_of} {{ {', '.join(parts)} }}"
    joined = [part[2:] if part.startswith("..") else f"new {item}[] {{ {part} }}" for part in parts]
    whole = f"System.Linq.Enumerable.Empty<{item}>()" + "".join(f".Concat({part})" for part in joined)
    return f"{whole}.ToArray()" if made_of.endswith("]") else f"new {made_of}({whole})"
