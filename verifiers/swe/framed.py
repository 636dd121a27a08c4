"""Tests in frames (inversion/frames.py): what their places do over the reference, what a run of them must say. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import zip_longest
from random import Random
from typing import Final

from sandbox_gym.verifiers.inversion import ByteEdit, Frame, Place, byte_edits

Choice = Mapping[int, int]
"""By the number of a place that is changed: by which of its ways."""
Said = Mapping[str, tuple[str, ...]]
"""How each assertion of a framed test ended, by test id; see said_by."""
TRIALS: Final = 4


@dataclass(frozen=True, slots=True)
class KeptWay:
    """A change that made its assertion fail over the reference. `fails`: which of the assertion's executions, by test
    id."""

    kind: str
    line: int
    edits: tuple[ByteEdit, ...]
    fails: Mapping[str, tuple[int, ...]]


@dataclass(frozen=True, slots=True)
class KeptPlace:
    """An assertion, or what it expects of one execution, that can be changed."""

    site: int
    ways: tuple[KeptWay, ...]


@dataclass(frozen=True, slots=True)
class KeptFrame:
    """A framed test. `holds`: what it says unchanged, by test id."""

    edits: tuple[ByteEdit, ...]
    holds: Said
    places: tuple[KeptPlace, ...]

    def said(self, test: str, choice: Choice) -> tuple[str, ...]:
        """What a right answer says of a test where these places are changed."""
        sites = [list(one) for one in self.holds[test]]
        for number, way in choice.items():
            place = self.places[number]
            for at in place.ways[way].fails.get(test, ()):
                sites[place.site][at] = "0"
        return tuple("".join(one) for one in sites)

    def changed(self, choice: Choice) -> tuple[ByteEdit, ...]:
        """The edits of its file."""
        return (*(edit for number, way in choice.items() for edit in self.places[number].ways[way].edits), *self.edits)


def trial(frame: Frame, number: int, *, changed: bool) -> Choice:
    """Which places a trial over the reference changes. Of TRIALS the first two change all, or, not `changed`, none;
    each of the others every other place, by its second way."""
    if number < 2:
        return dict.fromkeys(range(len(frame.places)), 0) if changed else {}
    some = [at for at in range(len(frame.places)) if at % 2 == number % 2]
    return {at: min(1, len(frame.places[at].ways) - 1) for at in some}


def tried(source: str, frame: Frame, choice: Choice) -> tuple[ByteEdit, ...]:
    """The edits of such a trial."""
    ways = [frame.places[at].ways[way] for at, way in choice.items()]
    return byte_edits(source, (*(edit for way in ways for edit in way.edits), *frame.edits))


def learned(source: str, frame: Frame, trials: Sequence[tuple[Choice, Said]]) -> KeptFrame | None:
    """The places that do what they must, for the tests that said all in every trial. None where fewer than two are
    left, or where a change shows in an assertion that it is not of."""
    holds = {
        test: own
        for choice, said in trials
        for test, own in (() if choice else said.items())
        if not _failed(own) and all(len(each.get(test, ())) == len(own) for _, each in trials)
    }
    effects: dict[tuple[int, int], dict[str, frozenset[_Ended]]] = {}
    for choice, said in trials:
        for at, way in choice.items():
            effects.setdefault((at, way), {test: _of_place(frame.places[at], said[test]) for test in holds})
    odd: set[int] = set()
    for choice, said in trials:
        for test in holds:
            expected = frozenset[_Ended]().union(*(effects[one][test] for one in choice.items()))
            odd |= {site for site, _ in expected ^ _failed(said[test])}
            odd |= {at for at, one in enumerate(said[test]) if len({*one}) > 1 and len(one) != len(holds[test][at])}
            if odd - {frame.places[at].site for at in choice}:
                return None
    places = tuple(
        KeptPlace(place.site, ways)
        for at, place in enumerate(frame.places)
        if place.site not in odd and (ways := _kept_ways(source, place, at, effects))
    )
    return KeptFrame(byte_edits(source, frame.edits), holds, places) if len(places) > 1 else None


_Ended = tuple[int, int]
"""An assertion and one of its executions."""


def _failed(said: Sequence[str]) -> frozenset[_Ended]:
    return frozenset((site, n) for site, ended in enumerate(said) for n, one in enumerate(ended) if one == "0")


def _of_place(place: Place, said: Sequence[str]) -> frozenset[_Ended]:
    return frozenset((site, n) for site, n in _failed(said) if site == place.site and place.row in (None, n))


def _kept_ways(
    source: str, place: Place, at: int, effects: Mapping[tuple[int, int], Mapping[str, frozenset[_Ended]]]
) -> tuple[KeptWay, ...]:
    made = []
    for number, way in enumerate(place.ways):
        found = effects.get((at, number), {})
        fails = {test: tuple(sorted(n for _, n in ended)) for test, ended in found.items() if ended}
        if fails:
            made.append(KeptWay(way.kind, way.line, byte_edits(source, way.edits), fails))
    return tuple(made)


def differs(expected: Sequence[str], said: Sequence[str] | None) -> tuple[bool, bool]:
    """(an assertion held that must fail, one failed that must hold), of what a test was to say and what it said. How
    often a loop goes round is the answer's where all of its rounds must end alike."""
    if said is None or len(said) != len(expected):
        return False, True
    survived = disturbed = False
    for wanted, ended in zip(expected, said, strict=True):
        alike = len({*wanted}) < 2
        pairs = [(wanted[:1], one) for one in ended] if alike else list(zip_longest(wanted, ended, fillvalue=""))
        survived |= any(want == "0" and one == "1" for want, one in pairs)
        disturbed |= any(want != "0" and one == "0" for want, one in pairs)
        disturbed |= ("0" in wanted and not ended) or (not alike and len(wanted) != len(ended))
    return survived, disturbed


def drawn(frame: KeptFrame, count: int, random: Random) -> list[Choice]:
    """Which places each of `count` runs changes: each place in neither none nor all of them."""
    runs: list[dict[int, int]] = [{} for _ in range(count)]
    for at, place in enumerate(frame.places):
        changed = random.randrange(1, 2**count - 1)
        for number, choice in enumerate(runs):
            if changed >> number & 1:
                choice[at] = random.randrange(len(place.ways))
    return list(runs)
