"""What the row's own fix did: how its tests ended, and which of them can be inverted. Pure.

A test of an answer passes by what the same test did over the reference fix, so that no answer can choose another end
for it (an imperative xfail, a skip). Variants of a test that fail over the reference are kept here; for an answer that
would earn the reward some runs are made of them, two and more: in each, most of the chosen tests are replaced by a
variant, and each test is unchanged in one of the runs at least. The runs look alike but for what is right.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from random import Random
from typing import Final

from sandbox_gym.verifiers.inversion import (
    ByteEdit,
    Edit,
    Frame,
    Variant,
    byte_edits,
    definition,
    frame_of,
    variants_of,
)
from sandbox_gym.verifiers.swe.framed import Choice, KeptFrame, drawn
from sandbox_gym.verifiers.swe.ids import dotted, file_of
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

MAX_FILE_BYTES: Final = 2 << 20
"""Of a test file that is looked into."""
MAX_FILES: Final = 64
MAX_TRIED: Final = {True: 150, False: 6}
"""Test functions of a row that variants are made of: of FAIL_TO_PASS, and of PASS_TO_PASS."""
MAX_CHOSEN: Final = 48
MAX_HOLDING: Final = 4
"""PASS_TO_PASS functions among the chosen: they have copies in the repository's history, which an answer may read."""
MAX_IDS: Final = 16
"""Of one function's parameters."""
BUDGET: Final = 0.25
"""The chosen tests' time, as a share of all tests' time over the reference."""
QUICK_S: Final = 60.0
"""A command that takes longer, all tests of it, is run once more and not twice."""
LEAST_S: Final = 0.5
"""What the chosen tests may always take."""


@dataclass(frozen=True, slots=True)
class KeptVariant:
    """A variant that failed over the reference. `fails`: how, by test id."""

    kind: str
    line: int
    edits: tuple[ByteEdit, ...]
    fails: Mapping[str, CaseStatus]


@dataclass(frozen=True, slots=True)
class InvertibleTest:
    """A test function of the row, and how it can be made to fail."""

    path: str
    name: str
    """Within its file: `test_a`, `TestA.test_b`."""
    decides: bool
    """It is of FAIL_TO_PASS."""
    variants: tuple[KeptVariant, ...]
    seconds: float = 0.0
    frame: KeptFrame | None = None
    """In place of variants, where it has several assertions that can be changed."""

    @property
    def ids(self) -> tuple[str, ...]:
        """Those that are asked, if the test is."""
        if self.frame is not None:
            return tuple(self.frame.holds)
        return tuple(dict.fromkeys(test for variant in self.variants for test in variant.fails))


@dataclass(frozen=True, slots=True)
class Inversion:
    """Which tests of one run are replaced, how each must end, and which run unchanged beside them."""

    edits: Mapping[str, tuple[ByteEdit, ...]] = field(default_factory=dict)
    """By path. A file without one is written again all the same: no file tells by its times."""
    digests: Mapping[str, str] = field(default_factory=dict)
    must_fail: Mapping[str, CaseStatus] = field(default_factory=dict)
    """By test id: how it ended over the reference."""
    how: Mapping[str, str] = field(default_factory=dict)
    """By test id: kind and line of its variant, for people."""
    unchanged: tuple[str, ...] = ()
    must_say: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """By test id, of a test in a frame: how its assertions must end."""

    @property
    def ids(self) -> tuple[str, ...]:
        return (*self.must_fail, *self.must_say, *self.unchanged)


@dataclass(frozen=True, slots=True)
class Reference:
    """What the reference run gave: the row's own fix, or, where it has none, no patch at all."""

    statuses: Mapping[str, CaseStatus] = field(default_factory=dict)
    """Of the row's ids that ended well in another way than by passing: XFAIL and SKIPPED."""
    signs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    """Of the reference itself: what the repository does by its own nature."""
    tests: tuple[InvertibleTest, ...] = ()
    digests: Mapping[str, str] = field(default_factory=dict)
    """SHA-256 of each test file that edits are for, before they are made."""
    ran: bool = False
    """The tests could be put in place and run."""
    seconds: float = 0.0
    """All tests' together."""
    wall_s: float = 0.0
    """Of its first run, with all that is before and after the tests."""
    why_none: str = ""
    """Why no deciding test can be inverted, where none can."""
    fails: tuple[str, ...] = ()
    """The row's tests that did not pass over the row's own fix, in neither of two runs: they decide nothing."""
    rounds: tuple[Inversion, ...] = ()
    """Of tests in languages that are not parsed: runs that were made over it, and how each test ended there."""
    holding: Inversion | None = None
    """One in which PASS_TO_PASS tests alone are changed, as they are in the rounds: their copies in the repository's
    history tell of no run whether a deciding test is changed in it. None: the rounds change none of them."""

    @property
    def asked(self) -> int:
        """How many inverted runs an answer goes through."""
        most = 2 if self.wall_s <= QUICK_S else 1
        if self.rounds:
            return min(most, len(self.rounds))
        return runs_for(sum(test.decides for test in self.tests)) if self.tests else 0


@dataclass(frozen=True, slots=True)
class ReferenceRecord:
    """What a verdict needs of a reference, as a run's record has it."""

    statuses: Mapping[str, CaseStatus] = field(default_factory=dict)
    signs: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    ran: bool = False
    runs: int = 0
    """How many inverted runs an answer goes through; 0: no test can be inverted."""
    why_none: str = ""
    fails: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Candidate:
    """A test function whose variants are to be tried over the reference."""

    path: str
    name: str
    ids: tuple[str, ...]
    decides: bool
    variants: tuple[Variant, ...]
    source: str = field(repr=False, default="")
    frame: Frame | None = None
    fresh: int = 0
    """How many of the variants, the first, are in lines that the test patch brings, where no copy tells of a change."""
    plain: tuple[Edit, ...] = ()
    """What brings it into its file where it is not changed: it is a copy of a test, for one of its assertions."""

    def edits(self, number: int | None) -> tuple[ByteEdit, ...]:
        """Of the variant of that number, in bytes; None: of none."""
        return byte_edits(self.source, self.plain if number is None else self.variants[number].edits)


def files_to_read(task: SweTask) -> tuple[str, ...]:
    """Where the row's deciding tests may be: the files that their ids name, and those of the test patch."""
    named = [file_of(test) for test in task.fail_to_pass]
    paths = dict.fromkeys(path for path in (*named, *task.test_files, *task.hidden_files) if path.endswith(".py"))
    return tuple(paths)[:MAX_FILES]


def candidates(task: SweTask, files: Mapping[str, bytes], statuses: Mapping[str, CaseStatus]) -> tuple[Candidate, ...]:
    """The functions of the row's tests that passed over the reference and have variants; FAIL_TO_PASS first."""
    sources = texts_of(files)
    found: dict[tuple[str, str], list[str]] = {}
    bare = _bare_functions(task.ids, sources) if task.rule == "expected_map" else {}
    named = {test: key for test in task.ids if (key := bare.get(test) or _function(test, sources))}
    # classes that inherit a test have it changed together
    defined = {(path, name): (path, definition(sources[path], name) or name) for path, name in {*named.values()}}
    deciding = {defined[named[test]] for test in task.fail_to_pass if test in named}
    for test, key in named.items():
        if statuses.get(test) is CaseStatus.PASSED:
            found.setdefault(defined[key], []).append(test)
    tried = [
        key for decides, most in MAX_TRIED.items() for key in [k for k in found if (k in deciding) is decides][:most]
    ]
    made = (_candidate(key, sources[key[0]], tuple(found[key]), decides=key in deciding) for key in tried)
    return tuple(one for one in made if one.variants)


def _candidate(key: tuple[str, str], source: str, ids: tuple[str, ...], *, decides: bool) -> Candidate:
    path, name = key
    return Candidate(path, name, ids, decides, _own_variants(source, name), source, frame_of(source, name))


def _own_variants(source: str, name: str) -> tuple[Variant, ...]:
    """Those that no other test feels. What fails is tried on the reference: an exception that tests of the same file
    expect goes before one that is certainly another, which no test would expect."""
    own = [variant for variant in variants_of(source, name) if not variant.shared]
    kinds = list(dict.fromkeys(variant.kind for variant in own))
    return tuple(sorted(own, key=lambda one: (kinds.index(one.kind), one.certain is (one.kind == "other_exception"))))


def digest_of(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def texts_of(files: Mapping[str, bytes]) -> dict[str, str]:
    """Those that are UTF-8."""
    return {path: source for path, data in files.items() if (source := _text(data)) is not None}


def _text(data: bytes) -> str | None:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError:
        return None


def _bare_functions(tests: Sequence[str], sources: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """File and name of ids without a file; not of those that several files have."""
    names = {test.partition("[")[0] for test in tests}
    found = Counter[str]()
    path_of = dict[str, str]()
    for path, source in sources.items():
        own = [name for name in names if definition(source, name)]
        found.update(own)
        path_of |= dict.fromkeys(own, path)
    return {test: (path_of[name], name) for test in tests if found[name := test.partition("[")[0]] == 1}


def _function(test_id: str, sources: Mapping[str, str]) -> tuple[str, str] | None:
    """The file and the name in it of a test id, in pytest's or unittest's spelling; None where no file has it."""
    path, colons, rest = test_id.partition("::")
    if colons:
        return (path, rest.partition("[")[0].replace("::", ".")) if path in sources else None
    parts = dotted(test_id).split(".")
    for count in range(len(parts) - 1, 0, -1):
        module = "/".join(parts[:count]) + ".py"
        for path in sources:
            if path == module or path.endswith("/" + module):
                return path, ".".join(parts[count:])
    return None


# -- choosing


def chosen(reference: Reference, random: Random) -> tuple[InvertibleTest, ...]:
    """Whom to ask: as many deciding tests as the time allows, in no order, and a few of those that must hold."""
    left_s = max(LEAST_S, BUDGET * reference.seconds)
    taken: list[InvertibleTest] = []
    for decides, most in ((True, MAX_CHOSEN), (False, MAX_HOLDING)):
        some = [test for test in reference.tests if test.decides is decides]
        random.shuffle(some)
        for test in some[: most * 4]:
            fits = test.seconds <= left_s or not taken
            if fits and len([one for one in taken if one.decides is decides]) < most:
                taken.append(test)
                left_s -= test.seconds
    return tuple(taken)


def runs_for(deciding: int) -> int:
    """How many inverted runs ask of so many deciding tests. In each run a test is changed or not by the toss of a coin,
    and neither in all nor in none; what can only guess is right in all of them with 1 in 16 at most."""
    return {1: 4, 2: 3}.get(deciding, 2)


def rounds(reference: Reference, random: Random) -> tuple[Inversion, ...]:
    """Runs of the same tests; each test is unchanged in one of them, and in the others another variant each."""
    tests = chosen(reference, random)
    count = runs_for(sum(test.decides for test in reference.tests))
    columns = [
        [_Cell(tuple(some), None, choice) for choice in drawn(test.frame, count, random)]
        if test.frame is not None and (some := _some(test.ids, random))
        else _column(test, count, random)
        for test in tests
    ]
    return tuple(_inversion(reference, tests, [column[number] for column in columns]) for number in range(count))


@dataclass(frozen=True, slots=True)
class _Cell:
    """A test in one run. No variant and no choice: it is unchanged."""

    ids: tuple[str, ...]
    variant: KeptVariant | None
    choice: Choice | None = None


def _some(ids: Sequence[str], random: Random) -> tuple[str, ...]:
    return tuple(random.sample(ids, min(MAX_IDS, len(ids))))


def _column(test: InvertibleTest, count: int, random: Random) -> list[_Cell]:
    """One test through the runs, with the same ids in each."""
    variants = list(test.variants)
    random.shuffle(variants)
    ids = _some(tuple(variants[0].fails), random)
    fitting = [variant for variant in variants if all(test_id in variant.fails for test_id in ids)]
    changed = random.randrange(1, 2**count - 1)  # neither in none nor in all of the runs
    # what equals everything fails a turned assertion by itself: another value is expected at least once
    of_value = next((one for one in fitting if not one.kind.endswith("_assertion")), None)
    fitting.sort(key=lambda one: one is of_value)  # the last is taken first
    fitting *= count
    return [_Cell(ids, fitting.pop() if changed >> number & 1 else None) for number in range(count)]


def _inversion(reference: Reference, tests: Sequence[InvertibleTest], cells: Sequence[_Cell]) -> Inversion:
    edits: dict[str, tuple[ByteEdit, ...]] = {test.path: () for test in tests}
    must_fail: dict[str, CaseStatus] = {}
    how: dict[str, str] = {}
    unchanged: list[str] = []
    must_say: dict[str, tuple[str, ...]] = {}
    for test, cell in zip(tests, cells, strict=True):
        variant = cell.variant
        if test.frame is not None and cell.choice is not None:
            edits[test.path] += test.frame.changed(cell.choice)
            must_say |= {test_id: test.frame.said(test_id, cell.choice) for test_id in cell.ids}
            how |= dict.fromkeys(cell.ids, f"{len(cell.choice)} of {len(test.frame.places)} places changed")
        elif variant is None:
            unchanged += cell.ids
        else:
            edits[test.path] += variant.edits
            must_fail |= {test_id: variant.fails[test_id] for test_id in cell.ids}
            how |= dict.fromkeys(cell.ids, f"{variant.kind} in line {variant.line}")
    digests = {path: reference.digests[path] for path in edits}
    return Inversion(edits, digests, must_fail, how, tuple(unchanged), must_say)
