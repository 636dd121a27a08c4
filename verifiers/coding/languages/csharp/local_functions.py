"""Local functions of today's C# as delegates or methods, for Mono; a part of lowering.py's script."""

from __future__ import annotations

from collections.abc import Iterator

from sandbox_gym.verifiers.coding.languages.csharp.tokens import (
    Tokens,
    closing,
    made,
    parted,
    statement_end,
    text_of,
)


class Local:
    """A local function: where it stands, and the delegate that takes its place."""

    def __init__(self, tokens: Tokens, start: int, name: int) -> None:
        self.start, self.name, self.delegate = start, tokens[name].text, ""
        close = closing(tokens, name + 1)
        given = parted(tokens[name + 2 : close])
        begin = start
        while tokens[begin].text in ("static", "async"):
            begin += 1
        returns = text_of(tokens[begin:name]).strip()
        self.end = declaration_end(tokens, name)
        body = text_of(tokens[close + 1 : self.end + 1]).strip()
        body = body.removesuffix(";") if tokens[close + 1].text == "=>" else f"=> {body}"
        if any(part[0].text in PASSING or any(token.text == "=" for token in part) for part in given):
            kind = f"SandboxGymLocal{start}"
            self.delegate = f"delegate {returns} {kind}({text_of(tokens[name + 2 : close])});"
        else:
            types = [text_of(part[:-1]).strip() for part in given] + [returns] * (returns != "void")
            kind = ("System.Action" if returns == "void" else "System.Func") + f"<{', '.join(types)}>" * bool(types)
        is_async = "async " if any(token.text == "async" for token in tokens[start:begin]) else ""
        self.declared = f"{kind} {self.name} = null;"
        self.set = f"{self.name} = {is_async}({', '.join(map(parameter, given))}) {body};"

    def is_named_in(self, tokens: Tokens) -> bool:
        return any(token.text == self.name for token in tokens)


PASSING = ("ref", "out", "in", "params")


def parameter(part: Tokens) -> str:
    """As a lambda has it, which has no `params` and no value of its own."""
    end = next((at for at, token in enumerate(part) if token.text == "="), len(part))
    return text_of(part[part[0].text == "params" : end]).strip()


def statements(tokens: Tokens, at: int, end: int) -> Iterator[int]:
    """Where each statement between two tokens begins."""
    while at < end:
        yield at
        at = after_statement(tokens, at)


def after_statement(tokens: Tokens, at: int) -> int:
    name = local_name(tokens, at)
    return max(declaration_end(tokens, name) if name else statement_end(tokens, at), at) + 1


def declaration_end(tokens: Tokens, name: int) -> int:
    """The last token of a local function."""
    at = closing(tokens, parenthesis(tokens, name)) + 1
    while tokens[at].text not in ("{", "=>", ""):
        at += 1
    return statement_end(tokens, at)


def parenthesis(tokens: Tokens, name: int) -> int:
    """Where its parameters begin, behind those of types."""
    return next(at for at in range(name, len(tokens)) if tokens[at].text in ("(", ""))


def local_name(tokens: Tokens, at: int) -> int:
    """The name's place where a local function begins at `at`, else 0."""
    while tokens[at].text in ("static", "async"):
        at += 1
    start = at
    while (
        tokens[at].kind == "word"
        or tokens[at].text in ("<", ">", ",", "[", "]", ".", "?")
        or (tokens[at].text == "(" and at == start)
    ):
        at = closing(tokens, at) + 1 if tokens[at].text == "(" else at + 1
    name = at - 1
    if tokens[name].text == ">" and tokens[at].text == "(":
        while name > start and tokens[name].text != "<":
            name -= 1
        name -= 1
    if name <= start or tokens[at].text != "(" or tokens[name].kind != "word" or tokens[name - 1].text == ".":
        return 0
    after = tokens[closing(tokens, at) + 1].text
    words = {"new", "return", "await", "throw", "else", "if", "while", "for"}
    words |= {"foreach", "using", "switch", "lock", "catch", "yield"}
    return name if after in ("{", "=>", "where") and not words & {token.text for token in tokens[start:at]} else 0


def local_functions(tokens: Tokens, at: int) -> bool:
    """Those of the block at `at`: each is a delegate that is set before the first statement that names it."""
    before = [one.text for one in tokens[max(at - 3, 0) : at]]
    if tokens[at].text != "{" or (  # `where T : new()` has no block behind it
        at
        and (
            before == ["new", "(", ")"] or before[-1] not in (")", "else", "do", "try", "finally", "=>", "{", ";", "}")
        )
    ):
        return False
    lift_generic(tokens, at)
    end = closing(tokens, at)
    starts = list(statements(tokens, at + 1, end))
    found = {start: Local(tokens, start, name) for start in starts if (name := local_name(tokens, start))}
    if not found:
        return False
    waiting = list(found.values())
    parts: list[Tokens] = []

    def reached(from_here: Tokens) -> list[Local]:
        """Those that are named here, and in one another; no more waiting."""
        named = [local for local in waiting if local.is_named_in(from_here)]
        for local in named:
            waiting.remove(local)
        return [*(one for local in named for one in reached(tokens[local.start : local.end + 1])), *named]

    for start, stop in zip(starts, [*starts[1:], end], strict=True):
        if start in found:
            continue
        first = reached(tokens[start:stop])
        parts += [made(local.declared) for local in first] + [made(local.set) for local in first]
        parts.append(tokens[start:stop])
    tokens[at + 1 : end] = [token for part in parts for token in part]
    last = len(tokens) - 1 - any(token.text == "namespace" for token in tokens)
    tokens[last:last] = [token for local in found.values() for token in made(local.delegate)]
    return True


def lift_generic(tokens: Tokens, at: int) -> None:
    """A local function with types of its own, or an iterator, is a static method of its type: no lambda can be one."""
    end = closing(tokens, at)
    for start in reversed(list(statements(tokens, at + 1, end))):
        name = local_name(tokens, start)
        stop = declaration_end(tokens, name) + 1 if name else start
        if not name or not (tokens[name + 1].text == "<" or any(one.text == "yield" for one in tokens[start:stop])):
            continue
        lifted = [token for token in tokens[start:stop] if token.text != "static"]
        del tokens[start:stop]
        around = type_around(tokens, at)
        tokens[around:around] = [*made(" static "), *lifted]


def type_around(tokens: Tokens, at: int) -> int:
    """Where the type ends that a block is in."""
    depth = 0
    for brace in range(at - 1, -1, -1):
        depth += (tokens[brace].text == "}") - (tokens[brace].text == "{")
        if depth < 0:
            depth, head = 0, brace - 1
            while head > 0 and tokens[head].text not in ("{", "}", ";"):
                head -= 1
            if any(token.text in ("class", "struct", "interface") for token in tokens[head:brace]):
                return closing(tokens, brace)
    return len(tokens) - 1
