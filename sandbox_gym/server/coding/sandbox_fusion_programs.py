"""How an answer and its row's test become one program, as SandboxFusion's AutoEval, HumanEval and MultiPL-E rows mean
it: what is a program's own once (`main`, a package, imports) is there once, whatever the answer brings itself."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections.abc import Callable, Sequence
from functools import partial
from typing import Final

from sandbox_gym.server.coding.braces import BRACED, net, top_types
from sandbox_gym.server.coding.continued_prompts import continued, without_namespaces
from sandbox_gym.server.coding.entry_points import without_own_begin
from sandbox_gym.server.coding.js_modules import beside
from sandbox_gym.verifiers.coding import Language, known_language

MARK: Final = "#<INSERT>"
"""Where a test has its answer, if not before its text."""
MAX_READ: Final = 64 << 10
"""A longer answer is no answer in a style of its own: it is put before its test as it stands."""
_GUARDS: Final = ("__name__ == '__main__'", "'__main__' == __name__")
_PYTHON: Final = frozenset({"python", "pypy", "pytest"})
_TEXTS: Final = frozenset({"javascript", "typescript", "jest"})
_JS_TEXT: Final = re.compile(
    r'"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'|`(?:\\.|[^`\\])*`|//[^\n]*|/\*.*?\*/', re.DOTALL
)
_ONCE: Final = {
    **dict.fromkeys(("java", "junit"), r"^[ \t]*(?:import\s+(?:static\s+)?[\w.*]+[ \t]*;[ \t]*)+(?://.*)?$"),
    "csharp": r"^(?:(?:global\s+)?using\s+(?:static\s+)?[\w.]+(?:[ \t]*=[ \t]*[\w.<>, ]+)?[ \t]*;[ \t]*)+(?://.*)?$",
    **dict.fromkeys(("kotlin", "kotlin_script"), r"^import\s+[\w.*]+(?:[ \t]+as[ \t]+\w+)?[ \t]*;?[ \t]*(?://.*)?$"),
    "haskell": r"^\{-#\s*(?:LANGUAGE|OPTIONS_GHC)\b[^#]*#-\}|^import\s.*(?:\n[ \t]+\S.*)*$",
    **dict.fromkeys(("rust", "rust_test"), r"^#!\[[^\]\n]*\][ \t]*$"),
}
"""What stands before everything else in a file, and may be said twice there by no compiler."""
_HEADS: Final = {
    **dict.fromkeys(("java", "junit", "kotlin", "kotlin_script", "scala"), r"^[ \t]*package\s+[\w.]+[ \t]*;?[ \t]*$"),
    "haskell": r"^module\s[^=]{0,2000}?\bwhere\b",
    "php": r"^\s*<\?php\b",
    "racket": r"^#lang\s.*$",
}
"""A file's own name for itself, of which the first is enough or none is wanted."""
_ASIDE: Final = {
    "php": re.compile(r"\?>\s*\Z"),
    "javascript": re.compile(
        r"^export[ \t]*(?:\{[^{}]*\}[ \t]*;?$|default[ \t]+\w+[ \t]*;?$"
        r"|(?:default[ \t]+)?(?=(?:async|function|class|const|let|var)\b))",
        re.MULTILINE,
    ),
}
"""What an answer may say of itself as a file, and a program with its test may not."""
_TYPED: Final = frozenset({"java", "junit", "csharp", "kotlin", "scala"})
_KEPT_HEADS: Final = frozenset({"php", "racket"})
_KOTLIN_MAIN: Final = re.compile(r"^(?:suspend )?fun main\(", re.MULTILINE)
_MAIN_CALL: Final = re.compile(r"^main\(", re.MULTILINE)
_GO_PACKAGE: Final = re.compile(r"^package[ \t]+(\w+)[ \t]*;?[^\n]*$", re.MULTILINE)
_GO_IMPORTS: Final = re.compile(
    r"^import[ \t]*\(((?:[^()/\"]++|//[^\n]*+|/\*(?:[^*]|\*(?!/))*+\*/|\"[^\"\n]*+\")*+)\)"
    r"|^import[ \t]+((?:[\w.]+[ \t]+)?\"[^\"\n]+\")[^\n]*$",
    re.MULTILINE,
)
_GO_IMPORT: Final = re.compile(r'(?:^|;)[ \t]*([\w.]+[ \t]+)?"([^"\n]+)"', re.MULTILINE)


def as_program(language: Language, source: str) -> Language:
    """A script of Kotlin with a `main` that nothing calls does nothing: it is a program."""
    is_program = language.name == "kotlin_script" and _KOTLIN_MAIN.search(source) and not _MAIN_CALL.search(source)
    return known_language("kotlin", "config.language") if is_program else language


def mark_is_text(test: str, language: str) -> bool:
    """Whether a test has its answer in a text, so that the answer is data there."""
    return _text_around(test, language) is not None


def program_with(
    code: str, test: str, language: str, *, prompt: str = "", stops: Sequence[str] = ()
) -> Callable[[str], str]:
    """What makes a whole program of a test, this one or one like it. The answer continues `prompt`, if there is one, or
    writes its function anew; `stops` are what ends an answer that was written without a fence."""
    code = unix_lines(code)
    if mark_is_text(test, language) or len(code) > MAX_READ:
        return partial(_joined, code, language)
    if language in _PYTHON:
        code = without_guarded(code)
    elif language in _ASIDE:
        code = _ASIDE[language].sub("", code)
    elif language == "csharp":
        code, prompt = without_namespaces(code, test), without_namespaces(prompt, test, begun=True)
    code = without_own_begin(code, test + prompt, language)
    if prompt:
        code = continued(prompt, code, test, language, stops)
    if language in _TYPED:
        code = _beside(code, test, language)
    return partial(_joined, _balanced(code, test, language), language)


def unix_lines(text: str) -> str:
    """With the line ends that every rule here reads."""
    return text.replace("\r\n", "\n")


def only_imports(source: str) -> bool:
    """Whether a Python source has nothing else."""
    try:
        return all(isinstance(node, ast.Import | ast.ImportFrom) for node in ast.parse(source).body)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def without_guarded(code: str) -> str:
    """A Python program as a module: without what it does when it is started itself."""
    try:
        tree = ast.parse(code)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return code
    lines = code.split("\n")
    for node in reversed(tree.body):
        if isinstance(node, ast.If) and not node.orelse and ast.unparse(node.test) in _GUARDS:
            del lines[node.lineno - 1 : node.end_lineno]
    return "\n".join(lines)


def _joined(code: str, language: str, test: str) -> str:
    if language in BRACED and test.lstrip().startswith("}") and net(code) + net(test) == -1:
        test = test.lstrip()[1:]  # the answer has closed its function itself
    if language in _TEXTS and MARK not in test:
        code, test = beside(code, test, language)
    whole = _inserted(code, test, language) if MARK in test else f"{code}\n{test}"
    if language in ("go", "go_test"):
        return _one_go_file(whole, language)
    heads = _HEADS.get(language)
    if heads is not None:
        found = [head[0] for head in re.finditer(heads, whole, re.MULTILINE)]
        if language not in _KEPT_HEADS:
            whole = re.sub(heads, "", whole, flags=re.MULTILINE)
        elif len(found) > 1 or (found and not whole.lstrip().startswith(("<", "#lang"))):
            whole = f"{found[0].strip()}\n" + re.sub(heads, "", whole, flags=re.MULTILINE)
    once = _ONCE.get(language)
    if once is None:
        return whole
    said = dict.fromkeys(line[0].strip() for line in re.finditer(once, whole, re.MULTILINE))
    first = sorted(said, key=lambda line: not line.startswith("{-#"))
    return "\n".join([*first, re.sub(once, "", whole, flags=re.MULTILINE)])


def _inserted(code: str, test: str, language: str) -> str:
    """The test with the answer at its mark: as the same text where the mark is in one, whatever quotes it holds."""
    text = _text_around(test, language)
    if text is not None:
        start, end, written = text
        return test[:start] + written(code) + test[end:]
    before = test[: test.index(MARK)].rpartition("\n")[2]
    if before and not before.strip() and language in _PYTHON:
        code = code.replace("\n", f"\n{before}")
    return test.replace(MARK, code)


def _text_around(test: str, language: str) -> tuple[int, int, Callable[[str], str]] | None:
    """Where the text begins and ends that has the mark, and how it is written with a code in its place."""
    if MARK not in test:
        return None
    if language in _PYTHON:
        return _python_text(test)
    if language in _TEXTS:
        for found in _JS_TEXT.finditer(test):
            if MARK in found[0] and found[0][0] in "\"'`":
                return found.start(), found.end(), partial(_js_written, found[0])
    return None


def _python_text(test: str) -> tuple[int, int, Callable[[str], str]] | None:
    starts = [0]
    for line in test.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    try:
        for token in tokenize.generate_tokens(io.StringIO(test).readline):
            if token.type == tokenize.STRING and MARK in token.string:
                (row, column), (last, end) = token.start, token.end
                written = partial(_python_written, str(ast.literal_eval(token.string)))
                return starts[row - 1] + column, starts[last - 1] + end, written
    except (SyntaxError, ValueError, tokenize.TokenError):
        return None
    return None


def _python_written(value: str, code: str) -> str:
    return repr(value.replace(MARK, code))


def _js_written(text: str, code: str) -> str:
    quote = text[0]
    code = code.replace("\\", "\\\\").replace(quote, f"\\{quote}").replace("${", "\\${")
    return text.replace(MARK, code if quote == "`" else code.replace("\n", "\\n"))


def _one_go_file(whole: str, language: str) -> str:
    """One package clause, and each import once that something names."""
    packages = _GO_PACKAGE.findall(whole)
    name = packages[-1] if packages and language == "go_test" else "main"
    imports = [one[0] or one[1] for one in _GO_IMPORTS.findall(whole)]
    body = _GO_IMPORTS.sub("", _GO_PACKAGE.sub("", whole))
    said = dict.fromkeys((alias.strip(), path) for part in imports for alias, path in _GO_IMPORT.findall(part))
    used = [f'import {alias} "{path}"' for alias, path in said if _go_uses(body, alias, path)]
    return "\n".join([f"package {name}", *used, body])


def _go_uses(body: str, alias: str, path: str) -> bool:
    if alias in ("_", "."):
        return True
    last = [part for part in path.split("/") if not re.fullmatch(r"v\d+", part)][-1:] or [path]
    name = alias or re.sub(r"\.v\d+$", "", last[0]).removeprefix("go-")
    return re.search(rf"\b{re.escape(name)}\.", body) is not None or not name.isidentifier()


def _beside(code: str, test: str, language: str) -> str:
    """The answer's types in the test's file, without those that the test has itself; Java calls the file after the
    test's own public one."""
    own = {one[5] for one, _ in top_types(test)}
    if not own:
        return code
    for one, end in reversed(top_types(code)):
        if one[5] in own:
            code = code[: one.start()] + code[end:]
        elif one[2] and language in ("java", "junit"):
            code = code[: one.start(2)] + code[one.end(2) :]
    return code


def _balanced(code: str, test: str, language: str) -> str:
    """The answer with as many blocks open as its test closes; its function may be closed twice."""
    most = -net(test)
    if language not in BRACED or most < 0 or MARK in test:
        return code
    least, open_blocks = most - test.lstrip().startswith("}"), net(code)
    while open_blocks < least and code.rstrip().endswith("}"):
        code, open_blocks = code.rstrip()[:-1], open_blocks + 1
    return code + "\n}" * (open_blocks - most)
