"""C# of today in words of C# 7, which is what Mono's compiler reads: rewrites tokens, without a grammar.

Runs in the box as one script: `python3 lowering.py artifact source... -- library compiler...`. A program that compiles
as it stands is left as it is; what is still wrong when it has been rewritten is told by the compiler's first words.

Rewritten: patterns (patterns.py), statements at the top level, namespaces of a file, local functions (as delegates),
`foreach` over pairs, `using` declarations, `new()` and `[a, b]` of a declared type, `??=`, `x[^1]`, `x[a..b]`, `!` and
`?` that only the null analysis reads, `init`, `required`, `global using`, positional records with `with`, tuples that
Mono's compiler can't read, and `async Task Main`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from itertools import pairwise

from sandbox_gym.verifiers.coding.languages.csharp.forms import (
    coalescing,
    deconstruction,
    from_the_end,
    nested_tuple,
    pairs,
    simple,
    using_declaration,
    with_expression,
)
from sandbox_gym.verifiers.coding.languages.csharp.patterns import is_pattern, switch_expression, switch_statement
from sandbox_gym.verifiers.coding.languages.csharp.records import positions, record
from sandbox_gym.verifiers.coding.languages.csharp.targets import collection, conditional, target_typed
from sandbox_gym.verifiers.coding.languages.csharp.tokens import (
    DECLARED,
    MODIFIERS,
    Token,
    Tokens,
    closing,
    each,
    made,
    parted,
    statement_end,
    text_of,
    tokens_of,
    types_of,
)

TYPES = frozenset(["class", "struct", "record", "interface", "enum", "delegate", "namespace"])
NULLABLE = re.compile(r"^[ \t]*#nullable[^\n]*", re.MULTILINE)
IMPLICIT = "".join(
    f"using System{name}; " for name in ("", ".Collections.Generic", ".IO", ".Linq", ".Threading", ".Threading.Tasks")
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
        word = re.compile(rf"\b{re.escape(self.name)}\b")
        return any(token.text == self.name or (token.kind == "text" and word.search(token.text)) for token in tokens)


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
    if tokens[at].text != "{" or (
        at and tokens[at - 1].text not in (")", "else", "do", "try", "finally", "=>", "{", ";", "}")
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


def file_namespace(tokens: Tokens) -> None:
    for at, token in enumerate(tokens):
        if token.text == "namespace":
            end = next(i for i in range(at, len(tokens)) if tokens[i].text in ("{", ";", ""))
            if tokens[end].text == ";":
                tokens[end].text = "{"
                tokens.insert(len(tokens) - 1, Token("\n", "mark", "}"))
            return


def waiting_main(tokens: Tokens, at: int) -> bool:
    """`async Task Main`: what starts it waits for it."""
    if tokens[at].text != "Main" or tokens[at + 1].text != "(" or tokens[at - 1].text not in ("Task", ">"):
        return False
    start = at
    while start and tokens[start - 1].text not in ("{", "}", ";"):
        start -= 1
    given = "new string[0]" if closing(tokens, at + 1) > at + 2 else ""
    kind, result = ("int", "return ") if tokens[at - 1].text == ">" else ("void", "")
    tokens[at].text = "SandboxGymMain"
    tokens[start:start] = made(f"static {kind} Main() {{ {result}SandboxGymMain({given}).GetAwaiter().GetResult(); }}")
    return True


def top_level(tokens: Tokens) -> None:
    """Statements outside of every type are the body of a class's `Main`."""
    at = 0
    while (tokens[at].text == "using" and tokens[at + 1].text != "(" and tokens[at + 3].text != "=") or tokens[
        at
    ].text == "[":
        at = statement_end(tokens, at) + 1 if tokens[at].text == "using" else closing(tokens, at) + 1
    first, body, rest = at, [], []
    while at < len(tokens) - 1:
        word = at
        while tokens[word].text in MODIFIERS or tokens[word].text in ("async", "unsafe"):
            word += 1
        if tokens[at].text == "[" or tokens[word].text in TYPES:
            while tokens[at].text == "[":
                at = closing(tokens, at) + 1
            end = next(i for i in range(at, len(tokens)) if tokens[i].text in ("{", ";", ""))
            end = closing(tokens, end) if tokens[end].text == "{" else end
            end += tokens[min(end + 1, len(tokens) - 1)].text == ";"
            rest += tokens[at : end + 1]
        else:
            end = after_statement(tokens, at) - 1
            body += tokens[at : end + 1]
        at = end + 1
    if not body:
        return
    waits = "async System.Threading.Tasks.Task" if any(token.text == "await" for token in body) else "void"
    returns = any(a.text == "return" and b.text != ";" for a, b in pairwise(body) if waits == "void")
    kind = "int" if returns and not any(token.text in ("=>", "static") for token in body) else waits
    tail = " return 0; " if kind == "int" else " "
    tokens[first:-1] = [
        *made(f"class SandboxGymProgram {{ static {kind} Main(string[] args) {{"),
        *body,
        *made(tail + "} }"),
        *rest,
    ]


def with_usings(code: str) -> str:
    """With the namespaces that .NET's projects use without saying so. In the first line, so that the compiler's line
    numbers are the source's; directives must come before them."""
    return code if code.lstrip("\ufeff \t\r\n").startswith("#") else f"{IMPLICIT}{code}"


FORMS = (
    *(waiting_main, nested_tuple, with_expression, switch_expression, switch_statement, is_pattern),
    *(coalescing, from_the_end, target_typed, collection, conditional),
    *(pairs, deconstruction, using_declaration, local_functions),
)


def lowered(source: str) -> str:
    tokens = tokens_of(NULLABLE.sub("", source.lstrip("\ufeff")))
    simple(tokens)
    file_namespace(tokens)
    positions(tokens)
    each(tokens, record)
    DECLARED.update(types_of(tokens))
    top_level(tokens)
    for rewrite in FORMS:
        each(tokens, rewrite)
    return with_usings(text_of(tokens))


def main(artifact: str, *given: str) -> int:
    own, command = list(given[: given.index("--")]), list(given[given.index("--") + 1 :])
    library, compiler = command[0], command[1:]
    sources = [path for path in own if path.endswith(".cs")]
    for path in sources:
        rewrite(path, whole_numbers)
    first = subprocess.run([*compiler, f"-out:{artifact}", *own], capture_output=True)
    if first.returncode <= 0:
        return ended_as(first)
    try:
        for path in sources:
            rewrite(path, lowered)
        patterns = [part.replace("-langversion:latest", "-langversion:experimental") for part in compiler]
        second = subprocess.run([*patterns, f"-out:{artifact}", library, *own], capture_output=True)
    except (ValueError, IndexError, StopIteration, RecursionError):
        second = first
    return ended_as(first if second.returncode > 0 else second)


def rewrite(path: str, how: Callable[[str], str]) -> None:
    with open(path, encoding="utf-8", errors="surrogateescape", newline="") as file:
        text = file.read()
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as file:
        file.write(how(text))


def whole_numbers(source: str) -> str:
    """Numbers without `_`: Mono's compiler reads `1_000_000` as ten times that, or another number."""
    tokens = tokens_of(source) if re.search(r"\d_+[\dA-Fa-f]", source) else []
    for token in tokens:
        token.text = token.text.replace("_", "") if token.kind == "number" else token.text
    return text_of(tokens) or source


def ended_as(compiler: subprocess.CompletedProcess[bytes]) -> int:
    """The exit code to end with. One that a signal ended ends this process by it, too: who sent it is asked outside,
    and a kill that was not the source's doing is no error of the source."""
    if compiler.returncode:
        sys.stderr.buffer.write(compiler.stdout + compiler.stderr)
        sys.stderr.flush()
    if compiler.returncode < 0:
        os.kill(os.getpid(), -compiler.returncode)
    return compiler.returncode


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
