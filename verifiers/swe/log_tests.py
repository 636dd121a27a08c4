"""Tests of languages that are not parsed, whose results a log has: where each is in its file, its variants. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Final

from sandbox_gym.verifiers.inversion.lexical import SUFFIXES, Definition, definitions, lexical_variants
from sandbox_gym.verifiers.swe.reference import MAX_FILES, MAX_TRIED, Candidate, texts_of
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

_PARTS: Final = re.compile(r" > |::|#")
_PARAMETERS: Final = re.compile(r"(?:\(\)|\[.*\]| with data set .*)$")
_MOST_WORDS: Final = 40


def is_lexical(task: SweTask) -> bool:
    """Whether the row's tests are told by a log and are in other files than Python's, most of them."""
    python = [path for path in task.test_files if path.endswith(".py")]
    return task.runner == "log" and len(lexical_files(task)) > len(python)


def lexical_files(task: SweTask) -> tuple[str, ...]:
    """Where its hidden tests may be; each is put in place for every answer."""
    return tuple(path for path in task.test_files if path.endswith(SUFFIXES))[:MAX_FILES]


def lexical_candidates(
    task: SweTask, files: Mapping[str, bytes], statuses: Mapping[str, CaseStatus]
) -> tuple[Candidate, ...]:
    """The tests that passed over the reference, are defined once and have variants; those that decide first. Of one
    within another, the inner one."""
    sources = texts_of(files)
    brought = frozenset(line[1:].strip() for line in task.test_patch.split("\n") if line.startswith("+"))
    known: dict[str, list[tuple[str, Definition]]] = {}
    for path, source in sources.items():
        for one in definitions(source):
            known.setdefault(_plain(one.name), []).append((path, one))
    found: dict[tuple[str, Definition], list[str]] = {}
    for test in task.ids:
        places = next((known[key] for key in _keys(test) if key in known), [])
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


def _plain(name: str) -> str:
    """Without case, marks and the word that PHPUnit's titles leave out."""
    plain = re.sub(r"[\W_]", "", name).lower()
    return plain.removeprefix("test") or plain
