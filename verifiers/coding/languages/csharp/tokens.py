"""Tokens of C#, and where in them an operand, a statement or a type begins and ends; without a grammar.

The first part of the script that lowering.py describes.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from itertools import pairwise

TOKEN = re.compile(
    r"""
      (?P<blank>\s+|//[^\n]*|/\*.*?\*/|^[ \t]*\#[^\n]*)
    | (?P<text>(?P<quotes>"{3,}).*?(?P=quotes)(?!") | @"(?:[^"]|"")*" | "(?:[^"\\\n]|\\.)*" | '(?:[^'\\\n]|\\.)+')
    | (?P<word>@?[^\W\d]\w*)
    | (?P<number>\d[\w]*(?:\.\d\w*)?(?:(?<=[eE])[+-]\d+)?|\.\d\w*)
    | (?P<mark>\?\?=|\?\?|\?\.|=>|==|!=|<=|>=|&&|\|\||\+\+|--|\.\.|[-+*/%&|^]=|->|::|.)
    """,
    re.VERBOSE | re.DOTALL | re.MULTILINE,
)
INTERPOLATED = re.compile(r'(?:(?P<dollars>\$+)(?P<verbatim>@?)|(?P<both>@\$))(?P<quotes>"{3,}|")')
PAIRS = {"(": ")", "[": "]", "{": "}"}
BLOCKS = frozenset(
    [
        *("if", "else", "for", "foreach", "while", "do", "using", "lock", "switch", "catch", "try", "finally", "fixed"),
        *("get", "when", "checked", "unchecked"),
    ]
)
MODIFIERS = frozenset(
    [
        *("public", "private", "protected", "internal", "static", "readonly", "const", "volatile", "sealed"),
        *("abstract", "partial", "override", "virtual", "new", "async", "unsafe"),
    ]
)
NOT_OPERANDS = frozenset(
    [
        *("return", "throw", "in", "is", "as", "await", "new", "out", "ref", "when", "case", "else", "do", "yield"),
        *("and", "or", "not"),
    ]
)


class Token:
    """A token with the blanks before it."""

    __slots__ = ("before", "kind", "text")

    def __init__(self, before: str, kind: str, text: str) -> None:
        self.before, self.kind, self.text = before, kind, text


Tokens = list[Token]


class Interpolated:
    """A text with holes: what stands around them, and of each its expression and its format (`,5:F2`)."""

    def __init__(self, source: str, opened: re.Match[str]) -> None:
        self.quotes = opened["quotes"]
        self.is_raw, self.is_verbatim = len(self.quotes) > 1, bool(opened["verbatim"] or opened["both"])
        self.opening = opened[0]
        self.dollars = len(opened["dollars"] or "$")
        self.literals, self.holes = [""], list[tuple[str, str]]()
        self.end = self.read(source, opened.end())

    def read(self, source: str, at: int) -> int:
        """Where the text ends. Raises ValueError where it does not."""
        while at < len(source):
            run = re.compile(r'\{+|"+|\\.|[^{"\\]+|.', re.DOTALL).match(source, at)
            assert run is not None, "a character"
            part = run[0]
            if part[0] == '"' and self.is_verbatim and not self.is_raw and len(part) > 1:
                part = '""'
            elif part[0] == '"' and (not self.is_raw or len(part) >= len(self.quotes)):
                at = run.end() if self.is_raw else at + 1
                self.literals[-1] += '"' * (len(part) - len(self.quotes)) if self.is_raw else ""
                return at
            elif part[0] == "\\" and (self.is_verbatim or self.is_raw):
                part = "\\"
            elif part[0] == "{" and (len(part) % 2 if not self.is_raw else len(part) >= self.dollars):
                at = self.hole(source, run.end())
                self.literals[-1:] = [self.literals[-1] + part[: -self.dollars], ""]
                continue
            self.literals[-1] += part
            at += len(part)
        raise ValueError("a text without an end")

    def hole(self, source: str, start: int) -> int:
        at, depth = start, 0
        while at < len(source):
            text = source[at : (end := token_end(source, at))]
            if depth == 0 and (text in ("}", ":") or (text == "," and re.match(r",\s*-?\w+\s*[:}]", source[at:]))):
                close = source.index("}", at)
                self.holes.append((source[start:at], source[at:close]))
                return close + self.dollars
            depth += (text in PAIRS) - (text in PAIRS.values())
            at = end
        raise ValueError("a hole without an end")

    def written(self, rewrite: Callable[[str], str]) -> str:
        """The same text with other expressions in its holes."""
        opens, closes = "{" * self.dollars, "}" * self.dollars
        parts = [f"{opens}{rewrite(hole)}{form}{closes}" for hole, form in self.holes]
        inner = "".join(literal + part for literal, part in zip(self.literals, [*parts, ""], strict=True))
        return f"{self.opening}{inner}{self.quotes}"


def interpolated(source: str, at: int = 0) -> Interpolated | None:
    opened = INTERPOLATED.match(source, at) if source[at] in "$@" else None
    try:
        return Interpolated(source, opened) if opened else None
    except ValueError:  # it has no end
        return None


def token_end(source: str, at: int) -> int:
    text = interpolated(source, at)
    match = None if text else TOKEN.match(source, at)
    return text.end if text else match.end() if match else at + 1


def tokens_of(source: str) -> Tokens:
    found: Tokens = []
    before, at = "", 0
    while at < len(source):
        text = interpolated(source, at)
        match = None if text else TOKEN.match(source, at)
        kind = "text" if text else (match and match.lastgroup) or "mark"
        end = text.end if text else match.end() if match else at + 1
        if kind == "blank":
            before += source[at:end]
        else:
            found.append(Token(before, kind, source[at:end]))
            before = ""
        at = end
    return [*found, Token(before, "end", "")]


def text_of(tokens: Tokens) -> str:
    return "".join(token.before + token.text for token in tokens)


def bare(tokens: Tokens) -> str:
    """Without the comment that may stand before them."""
    return text_of(tokens)[len(tokens[0].before) :] if tokens else ""


def made(text: str) -> Tokens:
    """Tokens of our own, apart from what stands before them."""
    return tokens_of(" " + text)[:-1]


def copied(tokens: Tokens, start: int, end: int) -> Tokens:
    return made(text_of(tokens[start:end]).strip())


def closing(tokens: Tokens, at: int) -> int:
    """Where the bracket at `at` is closed, else the last token."""
    depth = 0
    for index in range(at, len(tokens)):
        text = tokens[index].text
        depth += (text in PAIRS) - (text in PAIRS.values())
        if depth == 0:
            return index
    return len(tokens) - 1


def opening(tokens: Tokens, at: int) -> int:
    """Where the bracket at `at` is opened, else 0."""
    depth = 0
    for index in range(at, -1, -1):
        text = tokens[index].text
        depth += (text in PAIRS.values()) - (text in PAIRS)
        if depth == 0:
            return index
    return 0


def is_operand(token: Token) -> bool:
    """Whether an operand ends here."""
    word = token.kind == "word" and token.text not in NOT_OPERANDS
    return word or token.kind in ("text", "number") or token.text in (")", "]")


def operand(tokens: Tokens, last: int) -> int:
    """Where the operand begins that ends at `last`: a name, with calls, items and members; and `new` before it."""
    at = last
    while at >= 0:
        if tokens[at].text == ">":  # of arguments that are types
            name = next((i for i in range(at, 0, -1) if not angles(tokens[i : at + 1])), at + 2) - 1
            if name > at:
                return name
            at = name
        if tokens[at].text in (")", "]"):
            at = opening(tokens, at)
            if at and (is_operand(tokens[at - 1]) or tokens[at - 1].text == ">"):
                at -= 1
                continue
        if at >= 2 and (tokens[at - 1].text in (".", "?.") or [tokens[at - 1].text, tokens[at].text] == ["?", "["]):
            at -= 2
            continue
        return at - (at > 0 and tokens[at - 1].text == "new")
    return 0


def angles(tokens: Tokens) -> int:
    """How many more angle brackets are closed than opened."""
    text = "".join(token.text for token in tokens if token.kind == "mark")
    return text.count(">") - text.count("<")


def is_plain(tokens: Tokens) -> bool:
    """A value that may be asked for more than once."""
    return not any(token.text in ("(", "++", "--", "await", "=") for token in tokens)


def statement_end(tokens: Tokens, at: int) -> int:
    """The last token of the statement that begins at `at`."""
    word = tokens[at].text
    if word == "{":
        return closing(tokens, at)
    if word in ("if", "for", "foreach", "while", "using", "lock", "fixed", "switch") and tokens[at + 1].text == "(":
        end = statement_end(tokens, closing(tokens, at + 1) + 1)
    elif word in ("else", "try", "finally", "do"):
        end = statement_end(tokens, at + 1)
    elif word == "catch":
        end = statement_end(tokens, next(i for i in range(at, len(tokens)) if tokens[i].text in ("{", "")))
    else:
        while tokens[at].text not in (";", "", "}"):
            at = closing(tokens, at) + 1 if tokens[at].text in PAIRS else at + 1
        return at
    goes_on = {"if": ("else",), "do": ("while",), "try": ("catch", "finally"), "catch": ("catch", "finally")}
    follows = end + 1 < len(tokens) and tokens[end + 1].text in goes_on.get(word, ())
    return statement_end(tokens, end + 1) if follows else end


def parted(tokens: Tokens) -> list[Tokens]:
    """What commas part at the top level."""
    parts: list[Tokens] = [[]]
    at = 0
    while at < len(tokens):
        stop = closing(tokens, at) + 1 if tokens[at].text in PAIRS else at + 1
        if tokens[at].text == ",":
            parts.append([])
        else:
            parts[-1] += tokens[at:stop]
        at = stop
    return [part for part in parts if part]


def type_before(tokens: Tokens, name: int) -> str:
    """The type that stands before a declared name, "" where none does."""
    start, depth = name, 0
    while start > 0 and tokens[name - 1].text != ".":
        text = tokens[start - 1].text
        depth += (text in (">", ")", "]")) - (text in ("<", "(", "["))
        inside = depth > 0 or text in ("<", "(", "[")
        if depth < 0 or not (inside or tokens[start - 1].kind == "word" or text in (".", "?")) or text in MODIFIERS:
            break
        if text in NOT_OPERANDS or text in ("using", "foreach", "var"):
            return ""
        start -= 1
    return bare(tokens[start:name])


def declared_type(tokens: Tokens, name: int) -> str:
    """The type of a name, by its declaration."""
    for at in range(1, len(tokens) - 3):
        if tokens[at].text != tokens[name].text or at == name:
            continue
        if tokens[at - 1].text == "var" and [token.text for token in tokens[at + 1 : at + 3]] == ["=", "new"]:
            end = next(i for i in range(at + 4, len(tokens)) if tokens[i].text in ("(", "[", "{", ""))
            if tokens[at + 4].text == "<":
                end = next(i for i in range(end, len(tokens)) if tokens[i - 1].text == ">" and tokens[i].text in "([{")
            return bare(tokens[at + 3 : end]) + "[]" * (tokens[end].text == "[")
        if tokens[at - 1].kind == "word" or tokens[at - 1].text in (">", "]", "?"):
            kind = type_before(tokens, at)
            if kind:
                return kind
    return ""


def wanted_type(tokens: Tokens, start: int) -> str:
    """The type that an expression is wanted in by its place: what is declared, or what its method returns."""
    at = start - 1
    if tokens[at].text == "return":
        return returned_type(tokens, at)
    if tokens[at].text not in ("=", "=>"):
        return ""
    if tokens[at].text == "=>" and tokens[at - 1].text == ")":
        at = opening(tokens, at - 1)
        at -= tokens[at - 2].text == "operator"
    kind = type_before(tokens, at - 1) if tokens[at - 1].kind == "word" else ""
    return "" if kind in ("var", "new") else tokens[at].text if kind in ("implicit", "explicit") else kind


def returned_type(tokens: Tokens, at: int) -> str:
    """Of the method or property around a `return`; "" in a function without a name."""
    depth = 0
    for brace in range(at, 0, -1):
        depth += (tokens[brace].text == "}") - (tokens[brace].text == "{")
        if depth >= 0:
            continue
        depth, before = 0, tokens[brace - 1]
        name = opening(tokens, brace - 1) - 1 if before.text == ")" else brace - 1
        if before.text == "=>":
            return ""
        if tokens[name - 1].text == "operator":
            kind = type_before(tokens, name - 1)
            return tokens[name].text if kind in ("implicit", "explicit") else kind
        if tokens[name].kind == "word" and tokens[name].text not in BLOCKS:
            kind = type_before(tokens, name)
            if kind in ("class", "struct", "interface", "namespace"):
                return ""
            return kind[kind.index("<") + 1 : -1] if re.match(r"(?:Value)?Task<", kind) else kind
    return ""


def item_type(kind: str) -> str:
    """Of an array's or a list's items, of a dictionary's values."""
    if kind.endswith("]"):
        return kind[: kind.rindex("[")]
    inner = tokens_of(kind.partition("<")[2].rpartition(">")[0])
    depth, last = 0, 0
    for at, token in enumerate(inner):
        depth += (token.text in ("<", "(")) - (token.text in (">", ")"))
        last = at + 1 if token.text == "," and depth == 0 else last
    return text_of(inner[last:]).strip()


def each(tokens: Tokens, rewrite: Callable[[Tokens, int], bool]) -> None:
    """From the last token to the first, so that what was rewritten stays where it is."""
    for at in range(len(tokens) - 2, -1, -1):
        rewrite(tokens, at)


DECLARED: set[str] = set()
"""Names of the sources' own types."""


def types_of(tokens: Tokens) -> set[str]:
    kinds = ("class", "struct", "interface", "delegate")
    return {b.text for a, b in pairwise(tokens) if a.text in kinds and b.kind == "word"}


def without_blanks(tokens: Tokens) -> Tokens:
    return tokens_of(text_of(tokens).strip())[:-1]
