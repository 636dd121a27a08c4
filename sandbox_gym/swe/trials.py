"""Variants and frames of a row's tests are tried over the reference: which fail there as they must."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from typing import Final

from sandbox_gym.verifiers.swe import (
    MAX_HOLDING,
    TRIALS,
    ByteEdit,
    Candidate,
    CaseStatus,
    Choice,
    Inversion,
    InvertibleTest,
    KeptFrame,
    KeptVariant,
    Said,
    SweJob,
    differs,
    digest_of,
    learned,
    runs_for,
    trial,
    tried,
)

MORE_ROUNDS: Final = 4
"""Runs for the deciding tests of which too few variants failed yet."""
FAILS: Final = frozenset({CaseStatus.FAILED, CaseStatus.ERROR})
_Key = tuple[str, str]
_Edits = tuple[ByteEdit, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """How the tests of a run ended, by the row's ids, and what those in frames said."""

    statuses: Mapping[str, CaseStatus]
    said: Said


class Trials:
    """Of one reference. `run`: runs a job of its tests."""

    def __init__(self, job: SweJob, files: Mapping[str, bytes], run: Callable[[SweJob], Awaitable[Seen]]) -> None:
        self._job, self._files, self._run = job, files, run
        self._fails: dict[_Key, dict[int, dict[str, CaseStatus]]] = {}
        self._leaning: set[_Key] = set()
        self._said: dict[_Key, list[tuple[Choice, Said]]] = {}

    async def invertible(
        self, found: tuple[Candidate, ...], seconds: Mapping[str, float]
    ) -> tuple[InvertibleTest, ...]:
        """The tests that can be asked, each with what fails of it as it must. `seconds`: of each test."""
        await self._try(found)
        frames = {_key(one): frame for one in found if (frame := self._frame(one)) is not None}
        plain = tuple(replace(one, frame=None) for one in found if one.frame is not None and _key(one) not in frames)
        if any(one.decides for one in plain):
            await self._try(plain)
        wanted = runs_for(sum(one.decides for one in found)) - 1
        await self._try_more([one for one in found if one.decides and _key(one) not in frames], wanted)
        tests = [test for one in found if (test := self._test(one, frames.get(_key(one)), seconds)) is not None]
        return await self._standing(tests)

    async def _try(self, found: tuple[Candidate, ...]) -> None:
        """Every test's first two variants, half of the tests at a time, as in an answer's runs; of those in frames
        every place."""
        for number in range(TRIALS):
            edits: dict[_Key, _Edits] = {}
            turned: dict[_Key, int] = {}
            choices: dict[_Key, Choice] = {}
            for index, one in enumerate(found):
                key, half = _key(one), index % 2 == number % 2
                if one.frame is not None:
                    choices[key] = trial(one.frame, number, changed=half)
                    edits[key] = tried(one.source, one.frame, choices[key])
                elif half and len(one.variants) > number // 2:
                    turned[key] = number // 2
                    edits[key] = one.edits(number // 2)
            seen = await self._round(found, edits)
            self._note(found, seen, turned)
            for key, choice in choices.items():
                self._said.setdefault(key, []).append((choice, seen.said))

    async def _try_more(self, found: list[Candidate], wanted: int) -> None:
        """As many variants as an answer's runs ask for."""
        for number in range(2, 2 + MORE_ROUNDS):
            few = [one for one in found if sum(map(bool, self._fails.get(_key(one), {}).values())) < wanted]
            left = tuple(one for one in few if len(one.variants) > number)
            if not left:
                return
            seen = await self._round(left, {_key(one): one.edits(number) for one in left})
            self._note(left, seen, {_key(one): number for one in left})

    async def _round(self, found: tuple[Candidate, ...], edits: Mapping[_Key, _Edits]) -> Seen:
        """One run of all of `found`."""
        by_path: dict[str, _Edits] = {one.path: () for one in found}
        for one in found:
            by_path[one.path] += edits.get(_key(one), ())
        return await self._asked(by_path, {test for one in found for test in one.ids})

    async def _asked(self, edits: Mapping[str, _Edits], ids: set[str]) -> Seen:
        inversion = Inversion(edits, {path: digest_of(self._files[path]) for path in edits})
        wanted = tuple(test for test in self._job.task.ids if test in ids)
        return await self._run(replace(self._job, ids=wanted, inversion=inversion))

    def _note(self, found: tuple[Candidate, ...], seen: Seen, turned: Mapping[_Key, int]) -> None:
        for one in found:
            ended = {test: seen.statuses.get(test, CaseStatus.MISSING) for test in one.ids}
            if _key(one) in turned:
                failed = {test: word for test, word in ended.items() if word in FAILS}
                self._fails.setdefault(_key(one), {})[turned[_key(one)]] = failed
            elif one.frame is None and any(word is not CaseStatus.PASSED for word in ended.values()):
                self._leaning.add(_key(one))

    def _frame(self, one: Candidate) -> KeptFrame | None:
        if one.frame is None:
            return None
        own = frozenset(one.ids)
        trials = [
            (choice, {test: ended for test, ended in said.items() if test in own})
            for choice, said in self._said[_key(one)]
        ]
        return learned(one.source, one.frame, trials)

    def _test(self, one: Candidate, frame: KeptFrame | None, seconds: Mapping[str, float]) -> InvertibleTest | None:
        """A test with those of its variants that failed; None for one that has none, or depends on other tests."""
        kept = tuple(
            KeptVariant(one.variants[number].kind, one.variants[number].line, one.edits(number), failed)
            for number, failed in sorted(self._fails.get(_key(one), {}).items())
            if failed
        )
        if frame is None and (not kept or _key(one) in self._leaning):
            return None
        took_s = sum(seconds.get(test, 0.0) for test in one.ids)
        return InvertibleTest(one.path, one.name, one.decides, () if frame else kept, took_s, frame)

    async def _standing(self, tests: list[InvertibleTest]) -> tuple[InvertibleTest, ...]:
        """Those that pass unchanged in a run of just these, as in an answer's."""
        holding = [test for test in tests if not test.decides][:MAX_HOLDING]
        tests = [test for test in tests if test.decides or test in holding]
        edits: dict[str, _Edits] = {test.path: () for test in tests}
        for test in tests:
            edits[test.path] += test.frame.edits if test.frame is not None else ()
        seen = await self._asked(edits, {one for test in tests for one in test.ids}) if tests else Seen({}, {})
        return tuple(test for test in tests if _stands(test, seen))


def _stands(test: InvertibleTest, seen: Seen) -> bool:
    if test.frame is not None:
        return not any(any(differs(own, seen.said.get(one))) for one, own in test.frame.holds.items())
    return all(seen.statuses.get(one) is CaseStatus.PASSED for one in test.ids)


def _key(one: Candidate) -> _Key:
    return one.path, one.name
