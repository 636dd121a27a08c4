"""Copies of a test whose result is in a log, one for each of its assertions: their results tell the assertions apart.

A test fails as a whole, so that one changed assertion says nothing of what an answer makes of the others. In a copy all
assertions but one are kept from failing the test (`try { … } catch {}`); it is there changed or as it is, and reads the
same but for the value that it expects. Nothing of this is certain: copies count that pass over the reference.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import accumulate
from random import Random
from typing import Final

from sandbox_gym.verifiers.inversion.edits import Edit, Variant, edited
from sandbox_gym.verifiers.inversion.frames import Frame
from sandbox_gym.verifiers.inversion.lexical import Definition, definitions, tokens_of, values_of
from sandbox_gym.verifiers.inversion.text import block_parses

MOST: Final = 8
_LONG: Final = 20_000
_Muted = tuple[str, str]
_MUTED: Final[Mapping[tuple[str, ...], _Muted]] = {
    (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts"): ("try {\n", "\n} catch {}"),
    (".php",): ("try {\n", "\n} catch (\\Throwable $ignored_) {}"),
    (".rb",): ("begin\n", "\nrescue Exception\nend"),
    (".java", ".kt", ".kts", ".groovy"): ("try {\n", "\n} catch (Throwable ignored_) {}"),
    (".rs",): ("let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| {\n", "\n}));"),
    (".go",): (
        "func() { done_ := make(chan int); go func(t *testing.T) { defer close(done_)\n",
        "\n}(new(testing.T)); <-done_ }()",
    ),
}
"""By the ends of files' names: what stands before and after an assertion that is not to fail its test."""
_SWALLOWED: Final = '__import__("contextlib").suppress(BaseException)'
_ASSERTION = re.compile(
    r"[ \t]*(?:(?:await[ \t]+)?[\w$.:>-]*?(?i:expect|assert|refute|should|require|ensure|check|must)\w*!?[ \t(.]"
    r"|t\.\w+\(|if\b)"
)
_GOES_ON = re.compile(r"(?:[,(\[=?:.+]|=>|&&|\|\|)[ \t]*$")
_CONTINUES = re.compile(r"[ \t]*(?:[.,?:+\])]|&&|\|\|)")
_CLOSING = re.compile(r"(?:[})]+;?|end)[ \t]*(?:\n|$)")
_MARKS = re.compile(r"(?:^[ \t]*(?:@|#\[).*\n)*\Z", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Copy:
    """What brings a copy into its file: as the test is, and changed. `name`, `words`: what a name and words for it have
    at their end."""

    name: str
    words: str
    plain: tuple[Edit, ...]
    changed: Variant


_Span = tuple[int, int]
_Chosen = Mapping[_Span, Variant]


def copies_of(source: str, path: str, one: Definition, fresh: frozenset[int], random: Random) -> tuple[Copy, ...]:
    """A copy for each assertion with a value that can be changed; of those in the lines `fresh`, if there are such. The
    first takes the test's place. What is kept from failing expects, by the toss of a coin, another value, too: which of
    two values is the true one can't be told by how often it is there."""
    muted = next((both for ends, both in _MUTED.items() if path.endswith(ends)), None)
    closing = _CLOSING.match(source, one.end)
    line = source.rfind("\n", 0, one.start) + 1
    head = source[line : one.start]
    if muted is None or closing is None or closing.end() - line > _LONG or one.name not in head or "class " in head:
        return ()
    chosen: dict[_Span, Variant] = {}
    statements = sorted(_statements(source, path, one), reverse=True)
    for in_row, variant in values_of(source, path, one):
        at = variant.edits[0].start
        inner = next((each for each in statements if each[0] <= at < each[1]), None)
        better = inner not in chosen or (chosen[inner].line not in fresh and variant.line in fresh)
        if inner is not None and not in_row and better:
            chosen[inner] = variant
    own = [each for each in chosen if not fresh or chosen[each].line in fresh][:MOST]
    if len(chosen) < 2:
        return ()
    start = line - len(_MARKS.search(source, 0, line)[0])  # type: ignore[index]  # it matches always
    around = dict.fromkeys(chosen, muted)
    return _copies(source, one, (start, closing.end()), own, chosen, around, random)


def copies_in(source: str, test: str, frame: Frame, random: Random) -> tuple[Copy, ...]:
    """The same of a test in Python, by its frame."""
    name = test.rpartition(".")[2]
    named = [one for one in definitions(source) if one.name == name]
    one = next((one for one in named if source.count("\n", 0, one.start) + 1 == frame.line), None)
    if one is None or frame.edits[-1].start >= one.end:
        return ()
    chosen: dict[_Span, Variant] = {}
    around: dict[_Span, _Muted] = {}
    for place in frame.places:
        wrap = frame.edits[1 + place.site]
        if place.row is None:
            chosen[wrap.start, wrap.start] = place.ways[0]
            around[wrap.start, wrap.start] = (re.sub(r"_each_\(\d+\)", _SWALLOWED, wrap.text), "")
    line = source.rfind("\n", 0, one.start) + 1
    start = line - len(_MARKS.search(source, 0, line)[0])  # type: ignore[index]  # it matches always
    whole = (start, source.rfind("\n", 0, one.end) + 1 if one.end < len(source) else one.end)
    made = _copies(source, one, whole, [*chosen][:MOST], chosen, around, random) if len(chosen) > 1 else ()
    texts = [edits[-1].text for copy in made for edits in (copy.plain, copy.changed.edits)]
    return made if all(map(block_parses, (text.lstrip("\n") for text in texts))) else ()


def _statements(source: str, path: str, one: Definition) -> Iterator[_Span]:
    """Where assertions begin and end that are lines of their own."""
    lines = source[one.start : one.end].split("\n")
    starts = [*accumulate((len(line) + 1 for line in lines), initial=one.start)]
    brackets = [token for token in tokens_of(source, path, one) if token["open"] or token["close"]]
    deep = [sum(1 if token["open"] else -1 for token in brackets if token.start() < start) for start in starts]
    for number, line in enumerate(lines):
        if not number or not _ASSERTION.match(line) or _GOES_ON.search(lines[number - 1]):
            continue
        for last in range(number, len(lines)):
            after = lines[last + 1] if last + 1 < len(lines) else ""
            if deep[last + 1] < deep[number]:
                break
            if deep[last + 1] == deep[number] and not _CONTINUES.match(after) and not _GOES_ON.search(lines[last]):
                yield starts[number] + len(line) - len(line.lstrip()), starts[last] + len(lines[last].rstrip())
                break


def _copies(
    source: str,
    one: Definition,
    whole: _Span,
    asked: Sequence[_Span],
    chosen: _Chosen,
    around: Mapping[_Span, _Muted],
    random: Random,
) -> tuple[Copy, ...]:
    return tuple(_copy(source, one, whole, number, own, chosen, around, random) for number, own in enumerate(asked))


def _copy(
    source: str,
    one: Definition,
    whole: _Span,
    number: int,
    own: _Span,
    chosen: _Chosen,
    around: Mapping[_Span, _Muted],
    random: Random,
) -> Copy:
    letter, quoted = "abcdefgh"[number], source[one.start - 1] in "'\"`"
    words = f" copy {letter}"
    name = words if quoted else f"_copy_{letter}" if "_" in one.name else f"Copy{letter.upper()}"
    edits = [Edit(one.start - quoted, one.start - quoted, name)]
    for (begin, end), variant in chosen.items():
        if (begin, end) != own:
            other = variant.edits if random.random() < 0.5 else ()
            before, after = around[begin, end]
            edits += [Edit(begin, begin, before), *other, Edit(end, end, after)]
    start, end = whole
    made = []
    for some in (edits, [*edits, *chosen[own].edits]):
        moved = [Edit(edit.start - start, edit.end - start, edit.text) for edit in some]
        text = edited(source[start:end], moved).rstrip("\n")
        made.append((*[Edit(start, end, "")][number:], Edit(end, end, f"\n{text}\n")))
    return Copy(name, words, made[0], Variant("expected_value", chosen[own].line, made[1], certain=False))
