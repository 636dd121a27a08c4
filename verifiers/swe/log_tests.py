"""Tests whose results a log has, with variants and copies; where those are that are in no Python. Pure."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from random import Random
from typing import Final

from sandbox_gym.verifiers.inversion.copies import Copy, copies_in, copies_of
from sandbox_gym.verifiers.inversion.lexical import SUFFIXES, Definition, definitions, lexical_variants
from sandbox_gym.verifiers.swe.reference import MAX_FILES, MAX_TRIED, Candidate, candidates, texts_of
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

_PARTS: Final = re.compile(r" > |::|#")
_PARAMETERS: Final = re.compile(r"(?:\(\)|\[.*\]| with data set .*)$")
_FILLED: Final = re.compile(r"\$\{[^}]*\}|#\{[^}]*\}|%[a-zA-Z#]|\$[\w.]+")
"""What a title has for the values of its row."""
_OF_FILE: Final = re.compile(r"^(?:tests?|t|check)(?=[_-])|[_-](?:tests?|check)$|(?<=[a-z])Tests?$")
"""What the names of files have beside those of tests that are a program each, as ctest's."""
_MOST_WORDS: Final = 40


def is_lexical(task: SweTask) -> bool:
    """Whether the row's tests are told by a log and are in other files than Python's, most of them."""
    python = [path for path in task.test_files if path.endswith(".py")]
    return task.runner == "log" and len(lexical_files(task)) > len(python)


def lexical_files(task: SweTask) -> tuple[str, ...]:
    """Where its hidden tests may be; each is put in place for every answer."""
    return tuple(path for path in task.test_files if path.endswith(SUFFIXES))[:MAX_FILES]


def log_candidates(
    task: SweTask, files: Mapping[str, bytes], statuses: Mapping[str, CaseStatus], random: Random
) -> tuple[Candidate, ...]:
    """The tests that variants are made of, and behind each that decides the copies for its assertions."""
    if is_lexical(task):
        return _lexical(task, files, statuses, random)
    return tuple(each for one in candidates(task, files, statuses) for each in _parsed(one, random))


def _parsed(one: Candidate, random: Random) -> Iterator[Candidate]:
    """The test with the surest of its variants first, and its copies."""
    sure = [each for each in one.variants if each.certain and each.kind in ("expected_value", "other_operand")]
    yield replace(one, variants=(*sure, *(each for each in one.variants if each not in sure)), fresh=len(sure))
    if one.frame is not None and one.decides and len(one.ids) == 1:
        yield from _copied(one, copies_in(one.source, one.name, one.frame, random))


def _copied(one: Candidate, copies: Iterable[Copy]) -> Iterator[Candidate]:
    """The copies of a test, under the ids that its log will have for them."""
    (test,) = one.ids
    name = one.name.rpartition(".")[2] if one.path.endswith(".py") else one.name
    before, _, after = test.rpartition(name)
    for copy in copies:
        known = f"{before}{name}{copy.name}{after}" if name in test else f"{test}{copy.words}"
        if name in test and name.isidentifier():  # some logs have it twice
            known = re.sub(rf"(?<![\w/]){name}\b(?!\.py)", name + copy.name, test)
        yield replace(one, ids=(known,), variants=(copy.changed,), plain=copy.plain, fresh=0)


def _lexical(
    task: SweTask, files: Mapping[str, bytes], statuses: Mapping[str, CaseStatus], random: Random
) -> tuple[Candidate, ...]:
    """The tests that passed over the reference, are defined once and have variants; those that decide first. Of one
    within another, the inner one."""
    sources = texts_of(files)
    brought = frozenset(line[1:].strip() for line in task.test_patch.split("\n") if line.startswith("+"))
    known: dict[str, list[tuple[str, Definition]]] = {}
    whole: dict[str, list[tuple[str, Definition]]] = {}
    for path, source in sources.items():
        for one in definitions(source):
            known.setdefault(_plain(one.name), []).append((path, one))
        stem = posixpath.basename(path).partition(".")[0]
        whole.setdefault(_plain(_OF_FILE.sub("", stem)), []).append((path, Definition(stem, 0, len(source))))
    found: dict[tuple[str, Definition], list[str]] = {}
    filled = [place for places in known.values() for place in places if _FILLED.search(place[1].name)]
    for test in task.ids:
        places = next((some[key] for some in (known, whole) for key in _keys(test) if key in some), [])
        places = places or [place for place in filled if _fits(place[1].name, test)]
        if len(places) == 1 and statuses.get(test) is CaseStatus.PASSED:
            found.setdefault(places[0], []).append(test)
    made = []
    for decides, most in MAX_TRIED.items():
        chosen = [place for place in found if any(test in task.fail_to_pass for test in found[place]) is decides]
        for path, one in chosen[:most]:
            if any(path == other and one.start < inner.start < one.end for other, inner in found):
                continue
            lines = sources[path].split("\n") if decides and brought else []
            fresh = frozenset(at for at, line in enumerate(lines, 1) if line.strip() in brought)
            variants = lexical_variants(sources[path], path, one, fresh)
            count = sum(variant.line in fresh for variant in variants)
            ids = tuple(found[path, one])
            made.append(Candidate(path, one.name, ids, decides, variants, sources[path], fresh=count))
            if decides and len(ids) == 1:
                changing = fresh if count else frozenset[int]()
                made += _copied(made[-1], copies_of(sources[path], path, one, changing, random))
    return tuple(one for one in made if one.variants)


def _keys(test: str) -> Iterator[str]:
    """What the definition of a test may be called, by its id: the likeliest first. Some logs put a group's title before
    it without a mark."""
    if re.match(r"Test\w*/", test):  # Go's subtests are of the function
        test = test.partition("/")[0]
    last = _PARAMETERS.sub("", _PARTS.split(_PARAMETERS.sub("", test))[-1])
    yield _plain(test)
    yield _plain(last)
    if " " not in last:
        yield _plain(last.rpartition(".")[2])
    words = last.split(" ")
    yield from (_plain(" ".join(words[begin:])) for begin in range(1, min(len(words), _MOST_WORDS)))


def _fits(title: str, test: str) -> bool:
    """Whether an id ends with the title, whatever stands for the values in it."""
    first, *middle, last = _FILLED.split(title)
    for start in (0, *(part.end() for part in _PARTS.finditer(test))):
        at = start + len(first)
        if test.startswith(first, start) and test.endswith(last):
            for words in middle:
                at = test.find(words, at) + len(words) if test.find(words, at) >= 0 else len(test) + 1
            if at + len(last) <= len(test):
                return True
    return False


def _plain(name: str) -> str:
    """Without case, marks and the word that PHPUnit's titles leave out."""
    plain = re.sub(r"[\W_]", "", name).lower()
    return plain.removeprefix("test") or plain
