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
from collections.abc import Callable

from sandbox_gym.verifiers.coding.languages.csharp.forms import (
    coalescing,
    deconstruction,
    from_the_end,
    later_member,
    natural_lambda,
    nested_tuple,
    pairs,
    simple,
    using_declaration,
    with_expression,
)
from sandbox_gym.verifiers.coding.languages.csharp.local_functions import (
    after_statement,
    declaration_end,
    local_functions,
    local_name,
)
from sandbox_gym.verifiers.coding.languages.csharp.patterns import is_pattern, switch_expression, switch_statement
from sandbox_gym.verifiers.coding.languages.csharp.records import positions, record
from sandbox_gym.verifiers.coding.languages.csharp.targets import collection, conditional, target_typed
from sandbox_gym.verifiers.coding.languages.csharp.texts import texts
from sandbox_gym.verifiers.coding.languages.csharp.tokens import (
    DECLARED,
    MODIFIERS,
    Token,
    Tokens,
    closing,
    each,
    interpolated,
    made,
    statement_end,
    text_of,
    tokens_of,
    types_of,
)

TYPES = frozenset(["class", "struct", "record", "interface", "enum", "delegate", "namespace"])
ASIDE = re.compile(r"^[ \t]*#[ \t]*(?:nullable|region|endregion|pragma)\b[^\n]*", re.MULTILINE)
"""What only readers and warnings look at; and it must stand in a line of its own."""
IMPLICIT = "".join(
    f"using System{name}; " for name in ("", ".Collections.Generic", ".IO", ".Linq", ".Threading", ".Threading.Tasks")
)


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
    returns = returns_a_value(body)
    kind = "int" if returns else "void"
    if any(token.text == "await" for token in body):
        kind = f"async System.Threading.Tasks.Task{'<int>' * returns}"
    tail = " return 0; " * returns + " "
    tokens[first:-1] = [
        *made(f"class SandboxGymProgram {{ static {kind} Main(string[] args) {{"),
        *body,
        *made(tail + "} }"),
        *rest,
    ]


def returns_a_value(body: Tokens) -> bool:
    """Whether the program itself does, not a function in it."""
    at = 0
    while at < len(body):
        name = local_name([*body[at:], Token("", "end", "")], 0) if at == 0 or body[at - 1].text in ";}" else 0
        if name or [one.text for one in body[at : at + 2]] == ["=>", "{"]:
            at = declaration_end(body, at + name) if name else closing(body, at + 1)
        elif body[at].text == "return" and body[at + 1].text != ";":
            return True
        at += 1
    return False


def with_usings(code: str) -> str:
    """With the namespaces that .NET's projects use without saying so. In the first line, so that the compiler's line
    numbers are the source's; directives must come before them."""
    return code if code.lstrip("\ufeff \t\r\n").startswith("#") else f"{IMPLICIT}{code}"


FORMS = (
    *(
        waiting_main,
        later_member,
        natural_lambda,
        nested_tuple,
        with_expression,
        switch_expression,
        switch_statement,
        is_pattern,
    ),
    *(coalescing, from_the_end, target_typed, collection, conditional),
    *(pairs, deconstruction, using_declaration, local_functions),
)


def lowered(source: str) -> str:
    tokens = texts(tokens_of(source.lstrip("\ufeff")))
    for token in tokens:
        token.before = ASIDE.sub("", token.before)
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
        text = interpolated(token.text) if token.kind == "text" else None
        number = token.text.replace("_", "") if token.kind == "number" else token.text
        token.text = text.written(whole_numbers) if text else number
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
