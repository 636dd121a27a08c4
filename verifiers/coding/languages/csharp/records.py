"""Records and primary constructors of today's C#, with what its compiler writes for them; a part of lowering.py's
script."""

from __future__ import annotations

import re

from sandbox_gym.verifiers.coding.languages.csharp.tokens import Tokens, closing, made, parted, text_of

POSITIONS: dict[str, list[str]] = {}
"""Of each record, the names of what it is made of."""
KINDS = ("class", "struct")


def positions(tokens: Tokens) -> None:
    """Note them all, before the first is rewritten."""
    for at in range(len(tokens) - 3):
        name = at + 1 + (tokens[at + 1].text in KINDS)
        if tokens[at].text == "record" and tokens[name].kind == "word":
            start = next(i for i in range(name + 1, len(tokens)) if tokens[i].text in ("(", "{", ";", ":", ""))
            if tokens[start].text == "(":
                POSITIONS[tokens[name].text] = [name for _, name in fields_of(tokens, start)]


def fields_of(tokens: Tokens, start: int) -> list[tuple[str, str]]:
    """(type, name) of each parameter."""
    found = []
    for part in parted(tokens[start + 1 : closing(tokens, start)]):
        given = next((i for i, token in enumerate(part) if token.text == "="), len(part))
        if given > 1:
            found.append((text_of(part[: given - 1]).strip(), part[given - 1].text))
    return found


def record(tokens: Tokens, at: int) -> bool:
    """A record is a class with what the compiler writes for it; a class with parameters has them as fields."""
    is_record = tokens[at].text == "record"
    if tokens[at + 1].kind != "word" or not (
        is_record or (tokens[at].text in KINDS and tokens[at - 1].text != "record")
    ):
        return False
    kind = "class" if is_record else tokens[at].text
    if is_record and tokens[at + 1].text in KINDS:
        kind = tokens[at + 1].text
        del tokens[at + 1]
    name, start = tokens[at + 1].text, at + 2
    while tokens[start].text not in ("(", "{", ";", ":", ""):
        start += 1
    if not is_record and tokens[start].text != "(":
        return False
    generic, fields, end, given = text_of(tokens[at + 2 : start]), [], start, "()"
    if tokens[start].text == "(":
        end = closing(tokens, start) + 1
        fields, given = fields_of(tokens, start), text_of(tokens[start:end])
    base, passed = "", ""
    if tokens[end].text == ":":
        stop = next(i for i in range(end, len(tokens)) if tokens[i].text in ("{", ";", ""))
        base, end = text_of(tokens[end:stop]), stop
        base, passed = re.sub(r"\([^{}]*\)", "", base), "".join(re.findall(r"\([^{}]*\)", base))
    body: Tokens = []
    if tokens[end].text == "{":
        stop = closing(tokens, end)
        body, end = tokens[end + 1 : stop], stop
    after = f" : base{passed}" if passed else ""
    if is_record:
        inherited = POSITIONS.get(base.strip(" :").partition(",")[0].partition("<")[0], [])
        copy = f"public {name}{generic} SandboxGymCopy() {{ return ({name}{generic})MemberwiseClone(); }} "
        own = copy + written(name, generic, fields, given + after, inherited)
        parts = f"SandboxGym.IParts<{', '.join(one for one, _ in fields)}>" if 1 < len(fields) < 5 else ""
        base = f"{base}, {parts}" if base and parts else f": {parts}" if parts else base
    else:
        own = constructed(name, fields, given, after, body)
    at -= at > 0 and tokens[at - 1].text == "readonly"
    tokens[at : end + 1] = [*made(f"{kind} {name}{generic} {base} {{ {own}"), *body, *made("}")]
    return True


def constructed(name: str, fields: list[tuple[str, str]], given: str, after: str, body: Tokens) -> str:
    """Fields for parameters, and a constructor that sets them, and what the class begins its own with by them."""
    names = {field for _, field in fields}
    sets = [f"this.{field} = {field};" for _, field in fields]
    depth = 0
    for at, token in enumerate(body):
        depth += (token.text in "({[") - (token.text in ")}]") if token.text else 0
        if depth or token.text != "=" or (body[at - 1].kind != "word" and body[at - 1].text != "}"):
            continue
        end = next((i for i in range(at, len(body)) if body[i].text == ";"), len(body) - 1)
        if not names & {one.text for one in body[at:end]}:
            continue
        target = at - 1
        while body[target].text != "{" and body[at - 1].text == "}":
            target -= 1
        target -= body[at - 1].text == "}"
        sets.append(f"this.{body[target].text} {text_of(body[at:end]).strip()};")
        for one in body[at : end + (body[at - 1].text == "}")]:
            one.text = one.before = ""
    body[:] = [token for token in body if token.text]
    declared = " ".join(f"{kind} {field};" for kind, field in fields)
    return f"{declared} public {name}{given}{after} {{ {' '.join(sets)} }} "


def written(name: str, generic: str, fields: list[tuple[str, str]], given: str, inherited: list[str]) -> str:
    """The members of a record that its compiler writes."""
    if not fields:
        return ""
    own = f"{name}{generic}"
    names = [field for _, field in fields]
    shown = f'public override string ToString() {{ return "{name} {{ ' + ' + ", '.join(
        f'{field} = " + {field}' for field in names
    )
    return " ".join(
        [
            *(f"public {of} {field} {{ get; set; }}" for of, field in fields if field not in inherited),
            *(f"public {of} Item{n} {{ get {{ return {field}; }} }}" for n, (of, field) in enumerate(fields, 1)),
            f"public {name}{given}",
            f"{{ {' '.join(f'this.{field} = {field};' for field in names)} }}",
            f"public override bool Equals(object o) {{ if (!(o is {own})) return false; var r = ({own})o;",
            "return " + " && ".join(f"object.Equals({field}, r.{field})" for field in names) + "; }",
            f"public override int GetHashCode() {{ return System.Tuple.Create({', '.join(names[:7])})",
            ".GetHashCode(); }",
            f'{shown} + " }}"; }}',
            f"public static bool operator ==({own} a, {own} b) {{ return object.Equals(a, b); }}",
            f"public static bool operator !=({own} a, {own} b) {{ return !object.Equals(a, b); }}",
        ]
    )
