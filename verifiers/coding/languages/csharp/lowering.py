"""C# of today in words of C# 7, which is what Mono's compiler reads: rewrites tokens, without a grammar.

Runs in the box as one script: `python3 lowering.py artifact source... -- library compiler...`. A program that compiles
as it stands is left as it is; what is still wrong when it has been rewritten is told by the compiler's first words.

Rewritten: statements at the top level, namespaces of a file, local functions (as delegates), `foreach` over pairs,
`using` declarations, `new()` and `[a, b]` of a declared type, `??=`, `x[^1]`, `x[a..b]`, `is null`, `is not T`, `!` and
`?` that only the null analysis reads, `init`, `required`, `global using`, positional records with `with`, `switch`
expressions of constants, tuples that Mono's compiler can't read, and `async Task Main`.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from itertools import pairwise

from sandbox_gym.verifiers.coding.languages.csharp.forms import (
    coalescing,
    collection,
    deconstruction,
    from_the_end,
    is_not,
    nested_tuple,
    pairs,
    properties,
    simple,
    switch_expression,
    target_typed,
    using_declaration,
    with_expression,
)
from sandbox_gym.verifiers.coding.languages.csharp.tokens import (
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
)

TYPES = frozenset(["class", "struct", "record", "interface", "enum", "delegate", "namespace"])
NULLABLE = re.compile(r"^[ \t]*#nullable[^\n]*", re.MULTILINE)
IMPLICIT = "".join(
    f"using System{name}; " for name in ("", ".Collections.Generic", ".IO", ".Linq", ".Threading", ".Threading.Tasks")
)


def record(tokens: Tokens, at: int) -> bool:
    """A positional record is a class with what the compiler writes for it."""
    if tokens[at].text != "record" or tokens[at + 1].kind != "word":
        return False
    kind = "class"
    if tokens[at + 1].text in ("struct", "class"):
        kind = tokens[at + 1].text
        del tokens[at + 1]
    name, start = tokens[at + 1].text, at + 2
    while tokens[start].text not in ("(", "{", ";", ":", ""):
        start += 1
    generic = text_of(tokens[at + 2 : start])
    fields: list[tuple[str, str]] = []
    end = start
    if tokens[start].text == "(":
        end = closing(tokens, start) + 1
        fields = [
            (text_of(part[:-1]).strip(), part[-1].text) for part in parted(tokens[start + 1 : end - 1]) if len(part) > 1
        ]
    base = ""
    if tokens[end].text == ":":
        stop = next(i for i in range(end, len(tokens)) if tokens[i].text in ("{", ";", ""))
        base, end = text_of(tokens[end:stop]), stop
    body: Tokens = []
    if tokens[end].text == "{":
        stop = closing(tokens, end)
        body, end = tokens[end + 1 : stop], stop
    own = f"{name}{generic}"
    copy = f"public {own} SandboxGymCopy() {{ return ({own})MemberwiseClone(); }} " if kind == "class" else ""
    tokens[at : end + 1] = [*made(f"{kind} {own} {base} {{ {copy}{written(name, generic, fields)}"), *body, *made("}")]
    return True


def written(name: str, generic: str, fields: list[tuple[str, str]]) -> str:
    """The members of a record that its compiler writes."""
    if not fields:
        return ""
    own = f"{name}{generic}"
    names = [field for _, field in fields]
    return " ".join(
        [
            *(f"public {kind} {field} {{ get; set; }}" for kind, field in fields),
            f"public {name}({', '.join(f'{kind} {field}' for kind, field in fields)})",
            f"{{ {' '.join(f'this.{field} = {field};' for field in names)} }}",
            f"public override bool Equals(object o) {{ if (!(o is {own})) return false; var r = ({own})o;",
            "return " + " && ".join(f"object.Equals({field}, r.{field})" for field in names) + "; }",
            f"public override int GetHashCode() {{ return System.Tuple.Create({', '.join(names[:7])})",
            ".GetHashCode(); }",
            f'public override string ToString() {{ return "{name} {{ '
            + ' + ", '.join(f'{field} = " + {field}' for field in names)
            + ' + " }"; }',
            f"public static bool operator ==({own} a, {own} b) {{ return object.Equals(a, b); }}",
            f"public static bool operator !=({own} a, {own} b) {{ return !object.Equals(a, b); }}",
        ]
    )


class Local:
    """A local function: where it stands, and the delegate that takes its place."""

    def __init__(self, tokens: Tokens, start: int, name: int) -> None:
        self.start, self.name = start, tokens[name].text
        close = closing(tokens, name + 1)
        given = parted(tokens[name + 2 : close])
        types = [text_of(part[:-1]).strip() for part in given]
        begin = start
        while tokens[begin].text in ("static", "async"):
            begin += 1
        returns = text_of(tokens[begin:name]).strip()
        self.end = declaration_end(tokens, name)
        body = (
            text_of(tokens[close + 1 : self.end + 1]).strip().removesuffix(";")
            if tokens[close + 1].text == "=>"
            else ("=> " + text_of(tokens[close + 1 : self.end + 1]).strip())
        )
        head = "System.Action" if returns == "void" else "System.Func"
        kinds = types if returns == "void" else [*types, returns]
        kind = f"{head}<{', '.join(kinds)}>" if kinds else head
        is_async = "async " if any(token.text == "async" for token in tokens[start:begin]) else ""
        self.declared = f"{kind} {self.name} = null;"
        self.set = f"{self.name} = {is_async}({text_of(tokens[name + 2 : close]).strip()}) {body};"

    def is_named_in(self, tokens: Tokens) -> bool:
        word = re.compile(rf"\b{re.escape(self.name)}\b")
        return any(token.text == self.name or (token.kind == "text" and word.search(token.text)) for token in tokens)


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
    return statement_end(tokens, closing(tokens, name + 1) + 1)


def local_name(tokens: Tokens, at: int) -> int:
    """The name's place where a local function begins at `at`, else 0."""
    start = at
    while tokens[at].text in ("static", "async"):
        at += 1
    while (
        tokens[at].kind == "word"
        or tokens[at].text in ("<", ">", ",", "[", "]", ".", "?")
        or (tokens[at].text == "(" and at == start)
    ):
        at = closing(tokens, at) + 1 if tokens[at].text == "(" else at + 1
    name = at - 1
    if name <= start or tokens[at].text != "(" or tokens[name].kind != "word" or tokens[name - 1].text == ".":
        return 0
    after = tokens[closing(tokens, at) + 1].text
    words = {
        "new",
        "return",
        "await",
        "throw",
        "else",
        "if",
        "while",
        "for",
        "foreach",
        "using",
        "switch",
        "lock",
        "catch",
        "yield",
    }
    return name if after in ("{", "=>") and not words & {token.text for token in tokens[start:at]} else 0


def local_functions(tokens: Tokens, at: int) -> bool:
    """Those of the block at `at`: each is a delegate that is set before the first statement that names it."""
    if tokens[at].text != "{" or (
        at and tokens[at - 1].text not in (")", "else", "do", "try", "finally", "=>", "{", ";", "}")
    ):
        return False
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
    return True


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
    *(
        waiting_main,
        nested_tuple,
        with_expression,
        switch_expression,
        properties,
        is_not,
        coalescing,
        from_the_end,
        target_typed,
    ),
    *(collection, pairs, deconstruction, using_declaration, local_functions),
)


def lowered(source: str) -> str:
    tokens = tokens_of(NULLABLE.sub("", source.lstrip("\ufeff")))
    simple(tokens)
    file_namespace(tokens)
    each(tokens, record)
    top_level(tokens)
    for rewrite in FORMS:
        each(tokens, rewrite)
    return with_usings(text_of(tokens))


def main(artifact: str, *given: str) -> int:
    own, command = list(given[: given.index("--")]), list(given[given.index("--") + 1 :])
    library, compiler = command[0], command[1:]
    first = subprocess.run([*compiler, f"-out:{artifact}", *own], capture_output=True)
    if first.returncode <= 0:
        return ended_as(first)
    try:
        for path in (path for path in own if path.endswith(".cs")):
            with open(path, encoding="utf-8", newline="") as file:
                text = lowered(file.read())
            with open(path, "w", encoding="utf-8", newline="") as file:
                file.write(text)
        second = subprocess.run([*compiler, f"-out:{artifact}", library, *own], capture_output=True)
    except (ValueError, IndexError, StopIteration, RecursionError):
        second = first
    return ended_as(first if second.returncode > 0 else second)


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
