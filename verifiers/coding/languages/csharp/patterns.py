"""Patterns of today's C#, as conditions of C# 7: after `is`, in `switch` expressions, and in `case` labels.

The third part of lowering.py's script. Of patterns Mono's compiler reads `is T`; of `is T x` not all.
"""

from __future__ import annotations

import re

from sandbox_gym.verifiers.coding.languages.csharp.forms import HELPERS
from sandbox_gym.verifiers.coding.languages.csharp.records import POSITIONS
from sandbox_gym.verifiers.coding.languages.csharp.tokens import (
    DECLARED,
    PAIRS,
    Token,
    Tokens,
    closing,
    is_operand,
    is_plain,
    made,
    operand,
    parted,
    statement_end,
    text_of,
    wanted_type,
    without_blanks,
)

BUILTIN = frozenset(
    [
        *("int", "long", "short", "byte", "sbyte", "uint", "ulong", "ushort", "char", "bool", "double", "float"),
        *("decimal", "string", "object", "DateTime", "TimeSpan", "Guid", "IEnumerable", "IList", "ICollection"),
        *("IComparable", "Array"),
    ]
)
RELATIONS = frozenset(["<", ">", "<=", ">="])
JOINS = frozenset(["and", "or", "when", "is", "as"])


def name_end(tokens: Tokens, at: int) -> int:
    """Behind a name or a type: `A.B<C>[]?`."""
    while at < len(tokens) and tokens[at].kind == "word":
        at += 1
        if at < len(tokens) and tokens[at].text == "<":
            stop, depth = at, 0
            while stop < len(tokens) and (tokens[stop].kind == "word" or tokens[stop].text in "<>,.[]?()"):
                depth += (tokens[stop].text == "<") - (tokens[stop].text == ">")
                stop += 1
                if depth == 0:
                    at = stop
                    break
        while at + 1 < len(tokens) and tokens[at].text == "[" and tokens[at + 1].text == "]":
            at += 2
        if at >= len(tokens) or tokens[at].text != ".":
            break
        at += 1
    return at


def pattern_end(tokens: Tokens, at: int) -> int:
    """Behind the pattern that begins at `at`."""
    while at < len(tokens):
        while tokens[at].text == "not":
            at += 1
        if tokens[at].text in RELATIONS:
            at += 1
        if tokens[at].text in ("-", "+"):
            at += 1
        if tokens[at].kind in ("number", "text"):
            at += 1
        elif tokens[at].kind == "word":
            at = name_end(tokens, at)
        while tokens[at].text in PAIRS:
            at = closing(tokens, at) + 1
        if tokens[at].kind == "word" and tokens[at].text not in JOINS:
            at += 1
        if tokens[at].text not in ("and", "or"):
            return at
        at += 1
    return at


class Arm:
    """One way that a `switch` may go: names that its pattern gives are its own."""

    def __init__(self, types: set[str], mark: str) -> None:
        self.types, self.mark = types, mark
        self.names: dict[str, str] = {}

    def fresh(self, name: str = "") -> str:
        new = f"sandbox_gym_{self.mark}_{len(self.names)}"
        self.names[name or new] = new
        return new

    def renamed(self, tokens: Tokens) -> str:
        """What may use the names, with them."""
        parts = []
        for at, token in enumerate(tokens):
            text = token.text
            if token.kind == "word" and text in self.names and not (at and tokens[at - 1].text in (".", "?.")):
                text = self.names[text]
            parts.append(token.before + text)
        return "".join(parts).strip()

    def test(self, tokens: Tokens, value: str) -> str:
        """The condition under which a value has a pattern; "true" where every value has it."""
        tokens = without_blanks(tokens)
        for at in outermost(tokens, "or"):
            return f"({self.test(tokens[:at], value)} || {self.test(tokens[at + 1 :], value)})"
        for at in outermost(tokens, "and"):
            first, narrow = self.test(tokens[:at], value), value
            if typed := re.fullmatch(r"\S+ is ([\w.]+)", first):
                narrow = self.fresh()
                first = self.typed(value, typed[1], narrow)
            elif typed := re.fullmatch(r".*, out [^()]* (\w+)\)", first):
                narrow = typed[1]
            return f"({first} && {self.test(tokens[at + 1 :], narrow)})"
        first = tokens[0].text
        if first == "not":
            return f"!({self.test(tokens[1:], value)})"
        if first in RELATIONS:
            return f"{value} {text_of(tokens)}"
        if first == "_" and len(tokens) == 1:
            return "true"
        if first == "null":
            return f"{value} == null"
        if first == "var":
            return self.bound(tokens[1:], value)
        if first in PAIRS and closing(tokens, 0) >= len(tokens) - 2:
            return self.shaped(tokens, value)
        kind = name_end(tokens, 0)
        if kind == 0 or (kind == len(tokens) and not self.is_type(tokens)):
            return f"{HELPERS}.Same({value}, {text_of(tokens)})"
        told, rest = text_of(tokens[:kind]), tokens[kind:]
        if not rest:
            return f"{value} is {told}"
        if rest[0].text == "_":
            return f"{value} is {told}"
        if len(rest) == 1:
            return self.typed(value, told, self.fresh(rest[0].text))
        own = self.fresh()
        shape = self.shaped(rest, own, POSITIONS.get(tokens[kind - 1].text), checked=True)
        return f"{self.typed(value, told, own)} && {shape}"

    def typed(self, value: str, kind: str, name: str) -> str:
        return f"{HELPERS}.As({value}, out {kind} {name})"

    def is_type(self, tokens: Tokens) -> bool:
        last = tokens[-1].text
        return last in self.types or last in BUILTIN or last in (">", "]") or last.endswith("Exception")

    def bound(self, tokens: Tokens, value: str) -> str:
        if tokens[0].text == "(":
            names = [made("var " + text_of(part)) for part in parted(tokens[1:-1])]
            return " && ".join(self.test(part, f"{value}.Item{n}") for n, part in enumerate(names, 1))
        return "true" if tokens[0].text == "_" else f"{HELPERS}.Bind({value}, out var {self.fresh(tokens[0].text)})"

    def shaped(self, tokens: Tokens, value: str, names: list[str] | None = None, *, checked: bool = False) -> str:
        """Of `(P, Q)`, `{ A: P }` and `[P, .., Q]`, with a name behind it."""
        end = closing(tokens, 0)
        parts = parted(tokens[1:end])
        tests: list[str] = []
        if tokens[0].text == "(":
            if len(parts) == 1 and not checked:
                return self.test(parts[0], value)
            members = names or [f"Item{n}" for n in range(1, len(parts) + 1)]
            tests = [self.test(part, f"{value}.{name}") for part, name in zip(parts, members, strict=False)]
        elif tokens[0].text == "{":
            tests = [] if checked else [f"(object){value} != null"]
            for part in parts:
                colon = next(i for i, token in enumerate(part) if token.text == ":")
                *outer, member = text_of(part[:colon]).split(".")
                own = ".".join([value, *map(str.strip, outer)])
                tests += [f"(object){own} != null"] if outer else []
                tests.append(self.test(part[colon + 1 :], f"{own}.{member.strip()}"))
        else:
            tests = self.listed(parts, value)
        if end + 1 < len(tokens):
            tests.append(self.bound(tokens[end + 1 :], value))
        return " && ".join(test for test in tests if test != "true") or "true"

    def listed(self, parts: list[Tokens], value: str) -> list[str]:
        count = f"{HELPERS}.Count({value})"
        slices = [n for n, part in enumerate(parts) if part[0].text == ".."]
        before = slices[0] if slices else len(parts)
        after = len(parts) - before - len(slices)
        tests = [f"{count} {'>=' if slices else '=='} {before + after}"]
        tests += [self.test(parts[n], f"{value}[{n}]") for n in range(before)]
        tests += [self.test(parts[-n], f"{value}[{count} - {n}]") for n in range(after, 0, -1)]
        if slices and len(parts[before]) > 1:
            tests.append(self.test(parts[before][1:], f"{HELPERS}.Part({value}, {before}, {count} - {after})"))
        return tests


def outermost(tokens: Tokens, word: str) -> list[int]:
    depth, found = 0, []
    for at, token in enumerate(tokens):
        depth += (token.text in PAIRS) - (token.text in PAIRS.values())
        if depth == 0 and token.text == word:
            found.append(at)
    return found


def is_pattern(tokens: Tokens, at: int) -> bool:
    """`a is P`, where P is more than a type."""
    if tokens[at].text != "is":
        return False
    end = pattern_end(tokens, at + 1)
    inner = tokens[at + 1 : end]
    arm = Arm(DECLARED, str(at))
    kind = name_end(inner, 0)
    named = inner and inner[0].kind == "word" and inner[0].text not in ("not", "null", "var", "true", "false")
    if named and (kind == 1 == len(inner) or (kind == len(inner) and arm.is_type(inner))):
        return False
    start = operand(tokens, at - 1)
    whole = text_of(tokens[start:at]).strip()
    first = ""
    if not is_plain(tokens[start:at]) and not (len(inner) < 3 and inner[0].text in ("null", "not")):
        own = arm.fresh()
        first, whole = f"{HELPERS}.Bind({whole}, out var {own}) && ", own
    test = arm.test(inner, whole)
    for name, new in arm.names.items():
        test = re.sub(rf"(?<!\w){new}(?!\w)", name, test)
    before = tokens[start].before
    tokens[start:end] = made(f"({first}{test})")
    tokens[start].before = before
    return True


def switch_expression(tokens: Tokens, at: int) -> bool:
    """`a switch { 1 => b, > 2 and < 5 => c, T x when d => e, _ => f }`: a chain of conditions."""
    if tokens[at].text != "switch" or tokens[at + 1].text != "{" or not is_operand(tokens[at - 1]):
        return False
    start, end = operand(tokens, at - 1), closing(tokens, at + 1)
    subject, types = tokens[start:at], DECLARED
    whole = text_of(subject).strip()
    values = parted(subject[1:-1]) if subject[0].text == "(" and closing(subject, 0) == len(subject) - 1 else []
    several = len(values) > 1 and all(map(is_plain, values))
    own = "" if several or is_plain(subject) else f"sandbox_gym_{at}"
    value = own or whole
    kind = wanted_type(tokens, start)
    cast = f"({kind})" if kind else ""
    chain, last = "", 'throw new System.InvalidOperationException("no arm matches")'
    for number, tokens_of_arm in enumerate(parted(tokens[at + 2 : end])):
        arrow = outermost(tokens_of_arm, "=>")[0]
        guard = next(iter(outermost(tokens_of_arm[:arrow], "when")), arrow)
        arm = Arm(types, f"{at}_{number}")
        test = tested(arm, tokens_of_arm[:guard], values if several else [], value)
        if guard < arrow:
            told = arm.renamed(tokens_of_arm[guard + 1 : arrow])
            test = f"({told})" if test == "true" else f"{test} && ({told})"
        result = arm.renamed(tokens_of_arm[arrow + 1 :])
        result = result if result.startswith("throw ") else f"{cast}({result})"
        if test == "true":
            last = result
            break
        chain += f"({test}) ? {result} : "
    before = tokens[start].before
    whole = f"{HELPERS}.Let({whole}, {own} => {chain}{last})" if own else f"({chain}{last})"
    tokens[start : end + 1] = made(whole)
    tokens[start].before = before
    return True


def tested(arm: Arm, pattern: Tokens, values: list[Tokens], value: str) -> str:
    """Of a tuple that is written where it is asked, its items are asked."""
    pattern = without_blanks(pattern)
    if not values or pattern[0].text != "(" or closing(pattern, 0) != len(pattern) - 1:
        return arm.test(pattern, value)
    parts = zip(parted(pattern[1:-1]), values, strict=False)
    tests = [arm.test(part, f"({text_of(one).strip()})") for part, one in parts]
    return " && ".join(test for test in tests if test != "true") or "true"


def switch_statement(tokens: Tokens, at: int) -> bool:
    """`switch (a) { case T x when b: ... }`: a chain of conditions that `break` leaves."""
    if tokens[at].text != "switch" or tokens[at + 1].text != "(":
        return False
    opened = closing(tokens, at + 1) + 1
    if tokens[opened].text != "{":
        return False
    end, types = closing(tokens, opened), DECLARED
    sections = sections_of(tokens[opened + 1 : end])
    labels = [label for section, _ in sections for label in section]
    if not any(is_new(label, types) for label in labels):
        return False
    value = f"sandbox_gym_{at}"
    chain, otherwise = "", ""
    for number, (section, body) in enumerate(sections):
        arm = Arm(types, f"{at}_{number}")
        tests = []
        for label in section:
            guard = next(iter(outermost(label, "when")), len(label))
            test = arm.test(label[:guard], value) if label else "true"
            if guard < len(label):
                test += f" && ({arm.renamed(label[guard + 1 :])})"
            tests.append(f"({test})")
        if [] in section:
            otherwise = f"{{ {text_of(body)} }}"
            tests = [test for test, label in zip(tests, section, strict=True) if label]
        if tests:
            chain += f"if ({' || '.join(tests)}) {{ {arm.renamed(body)} }} else "
    whole = (
        f"{{ var {value} = {text_of(tokens[at + 2 : opened - 1])}; switch (0) {{ default: {chain}{otherwise or '{ }'}"
    )
    tokens[at : end + 1] = made(f"{whole} break; }} }}")
    return True


def sections_of(tokens: Tokens) -> list[tuple[list[Tokens], Tokens]]:
    """(labels, statements); `default` is a label without tokens."""
    found: list[tuple[list[Tokens], Tokens]] = []
    at = 0
    while at < len(tokens):
        labels: list[Tokens] = []
        while at < len(tokens) and tokens[at].text in ("case", "default"):
            colon = at + 1
            while tokens[colon].text != ":":
                colon = closing(tokens, colon) + 1 if tokens[colon].text in PAIRS else colon + 1
            labels.append(tokens[at + 1 : colon])
            at = colon + 1
        start = at
        guarded = [*tokens, Token("", "end", "")]
        while at < len(tokens) and tokens[at].text not in ("case", "default"):
            at = statement_end(guarded, at) + 1
        found.append((labels, tokens[start:at]))
    return found


def is_new(label: Tokens, types: set[str]) -> bool:
    """Whether Mono's compiler can't read a label."""
    if not label:
        return False
    words = {token.text for token in label}
    kind = name_end(label, 0)
    named = kind == len(label) - 1 and label[kind].kind == "word"
    plain = kind == len(label) and Arm(types, "").is_type(label)
    return bool(words & {"when", "and", "or", "not", "{", "<", ">", "<=", ">=", ","}) or named or plain
