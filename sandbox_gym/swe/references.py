"""References: each row's own fix is run once, variants of its tests are tried on it, and the results are kept.

Owns which reference a row has and where it is kept. Knows neither HTTP nor rewards.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from random import SystemRandom
from typing import Final, Protocol

import anyio.to_thread
import structlog
from anyio.abc import TaskGroup
from pydantic import TypeAdapter, ValidationError

from sandbox_gym.contract import Answer, Plan, State, Verdict
from sandbox_gym.plans.runner import ANYONE, Caller, patiently
from sandbox_gym.private import make_private, write_whole
from sandbox_gym.single_flight import SingleFlight
from sandbox_gym.swe.trials import Seen, Trials
from sandbox_gym.verifiers.swe import (
    MAX_SIGHTINGS,
    QUICK_S,
    ByteEdit,
    Candidate,
    CaseStatus,
    ChannelReport,
    Inversion,
    InvertibleTest,
    Reference,
    SweJob,
    SweTask,
    SweVerifier,
    candidates,
    digest_of,
    failing,
    files_to_read,
    is_lexical,
    lexical_files,
    log_candidates,
    log_exit_code,
    said_in,
    statuses,
    stood,
    tests_outcome,
)

FORM: Final = 12  # of the files; references of another version are made anew
LOG_ROUNDS, LOG_KEPT = 6, 3  # runs in which tests that are not parsed are tried, and how many are kept
HOLDING_TRIED: Final = 2
MAX_KEPT: Final = 4096
"""References that are held in memory."""
_LIKE_REFERENCE = frozenset({CaseStatus.XFAIL, CaseStatus.SKIPPED})
_FAILS = frozenset({CaseStatus.FAILED, CaseStatus.ERROR})
_NO_PATCH = "the row has no patch of its own to try variants on"
_NO_VARIANT = "no variant of a FAIL_TO_PASS test fails over the row's own patch"
_stored = TypeAdapter(Reference)
_Found = tuple[Candidate, ...]
_Turned = list[tuple[Candidate, int]]  # each with its variant's number
_RANDOM: Final = SystemRandom()
_log = structlog.get_logger(__name__)


class Runs(Protocol):
    """What runs a plan."""

    async def run(self, plan: Plan, *, caller: Caller = ANYONE) -> State: ...


class References:
    """Makes and remembers. `folder`: where they are kept between runs of the server; None: nowhere."""

    def __init__(self, folder: Path | None, background: TaskGroup) -> None:
        self._folder = folder
        self._known: dict[str, Reference] = {}
        self._flights = SingleFlight[Reference](background, outlives=True)
        self.made = self.reused = 0

    def stats_dict(self) -> dict[str, int]:
        """Counters and gauges by name."""
        return {"made": self.made, "reused": self.reused, "kept": len(self._known)}

    async def ensure(self, engine: Runs, job: SweJob, *, caller: Caller = ANYONE) -> Reference:
        """The job's reference, made unless it is kept; asked for by many at once, it is made once, and goes on being
        made when they have left.

        Raises Unavailable where one of its runs has no result.
        """
        key = reference_key(job)
        known = self._known.get(key) or await anyio.to_thread.run_sync(self._load, key)
        if known is None:
            return (await self._flights.run(key, partial(self._make, engine, job, caller, key)))[0]
        self.reused += 1
        return self._remembered(key, known)

    async def _make(self, engine: Runs, job: SweJob, caller: Caller, key: str) -> Reference:
        known = await _Making(engine, job, caller).reference()
        self.made += 1
        await anyio.to_thread.run_sync(self._store, key, known)
        said = {"instance": job.task.instance_id, "tests": len(known.tests), "why_none": known.why_none}
        _log.info("reference_made", **said, signs=sorted(known.signs))
        return self._remembered(key, known)

    def _remembered(self, key: str, known: Reference) -> Reference:
        self._known[key] = known
        while len(self._known) > MAX_KEPT:
            del self._known[next(iter(self._known))]
        return known

    def _path(self, key: str) -> Path | None:
        return self._folder / f"{key}.json" if self._folder is not None else None

    def _load(self, key: str) -> Reference | None:
        path = self._path(key)
        try:
            return _stored.validate_json(path.read_bytes()) if path is not None else None
        except FileNotFoundError:
            return None
        except (ValidationError, OSError) as error:
            _log.warning("reference_unreadable", path=str(path), why=str(error)[:300])
            return None

    def _store(self, key: str, known: Reference) -> None:
        path = self._path(key)
        if path is not None:
            make_private(path.parent)
            write_whole(path, _stored.dump_json(known))


def reference_key(job: SweJob) -> str:
    """Equal repositories with equal tests, fixes and settings have one reference. 64 hexadecimal digits."""
    task, checkout = job.task, job.checkout
    parts = [
        FORM, checkout.commit, checkout.workdir, task.image, task.recipe.key() if task.recipe else "",
        task.runner, task.rule, task.patch, task.patch_is_bug, task.test_patch, task.test_files, task.fail_to_pass,
        task.pass_to_pass, task.test_command, task.hidden_files, sorted(task.expected.items()), job.log_parser,
        job.restore_config, task.limits.test_time_s, task.limits.run_time_s,
    ]  # fmt: skip
    return hashlib.sha256(json.dumps(parts, ensure_ascii=True).encode("ascii")).hexdigest()


@dataclass(frozen=True, slots=True)
class _Ran:
    """One run over the reference."""

    statuses: Mapping[str, CaseStatus]
    report: ChannelReport
    verdict: Verdict
    wall_s: float
    fails: tuple[str, ...]  # tests that did not pass; all where a log is not believed


class _Making:
    """One row's reference."""

    def __init__(self, engine: Runs, job: SweJob, caller: Caller) -> None:
        self._engine, self._caller = engine, caller
        plain = replace(job, purpose="reference", ids=(), first={}, inversion=None, reference=None)
        self._job = replace(plain, run_empty=True, fail_on_tamper=frozenset())

    async def reference(self) -> Reference:
        task = self._job.task
        lexical = is_lexical(task)
        first = await self._run(replace(self._job, reads=lexical_files(task) if lexical else files_to_read(task)))
        if first is None:
            return Reference(why_none="the row's own patch does not apply")
        ended = {test: first.statuses.get(test) for test in task.names}
        known = Reference(
            statuses={test: word for test, word in ended.items() if word in _LIKE_REFERENCE},
            signs=_signs(first),
            ran=True,
            seconds=sum(case.wall_time_s for case in first.report.cases.values()),
            wall_s=first.wall_s,
        )
        if not task.patch:
            return replace(known, why_none=_NO_PATCH)
        known = replace(known, fails=await self._failing(first))
        if task.rule == "fail_only" and not lexical:
            return replace(known, why_none="rows judged by fail_only are not asked")
        if task.rule == "expected_map":
            task = await self._told_apart(ended)
        files = first.report.files
        silent = CaseStatus.PASSED if task.rule == "fail_only" else CaseStatus.MISSING
        passing = {test: word or silent for test, word in ended.items()}
        looked = partial(log_candidates, random=_RANDOM) if task.runner == "log" else candidates
        found = await anyio.to_thread.run_sync(looked, task, files, passing)
        if not found:
            return replace(known, why_none="no test of the row has an assertion that can be inverted")
        if task.runner == "log":
            return await self._with_rounds(known, found, files)
        seconds = {test: case.wall_time_s for test, case in first.report.cases.items()}
        tests = await Trials(self._job, files, self._seen).invertible(found, seconds)
        why_none = "" if any(test.decides for test in tests) else _NO_VARIANT
        digests = {test.path: digest_of(files[test.path]) for test in tests}
        return replace(known, tests=tests, digests=digests, why_none=why_none)

    async def _told_apart(self, ended: Mapping[str, CaseStatus | None]) -> SweTask:
        """The task with its map's tests as lists: those decide that pass over its fix and do not without."""
        task = self._job.task
        before = await self._run(replace(self._job, task=replace(task, patch="")))
        passed = {test for test, word in ended.items() if word is CaseStatus.PASSED}
        held = {test for test in passed if before is not None and before.statuses.get(test) is CaseStatus.PASSED}
        decide, hold = (tuple(test for test in ended if test in some) for some in (passed - held, held))
        return replace(task, fail_to_pass=decide, pass_to_pass=hold)

    async def _failing(self, first: _Ran) -> tuple[str, ...]:
        """The row's tests that its own fix passes in neither of two runs."""
        again = await self._run(self._job) if first.fails else None
        twice = frozenset(again.fails if again is not None else ())
        return tuple(test for test in first.fails if test in twice)

    async def _with_rounds(self, known: Reference, found: _Found, files: Mapping[str, bytes]) -> Reference:
        """Runs of the whole command with a deciding test changed, if there is one (a log that is printed whole passes
        the others, too), and about half of the others. Each is kept as it was: a change may keep others from running,
        or from being compiled."""
        found, as_is = await self._with_copies(found, files, known)
        asked = [one for one in found if one.decides] or list(found)
        holding = await self._holding(found, files, frozenset(known.signs)) or as_is
        kept, beside = list[Inversion](), holding is not as_is or not asked[0].decides
        spared = [_RANDOM.randrange(LOG_KEPT) for _ in asked]  # each is changed in one at least of any two rounds
        for number in range(LOG_ROUNDS):
            first = asked[number % len(asked)]
            few = first.fresh if first.fresh and (kept or number < LOG_ROUNDS // 2) else len(first.variants)
            others = [one for one, at in zip(asked, spared, strict=True) if one is not first and at != len(kept)]
            changed = [(first, number % few), *_drawn(others)]
            changed += _some_of([one for one in found if one not in asked]) if beside else []
            made = await self._tried(changed, found, files, frozenset(known.signs))
            kept += [made] if made is not None else []
            if len(kept) == (LOG_KEPT if known.wall_s <= QUICK_S else 1):
                break
        failed = {test for made in kept for test in made.must_fail}
        some = dict.fromkeys((one.path, one.name, one.decides) for one in found if failed & {*one.ids})
        tests = tuple(InvertibleTest(*one, ()) for one in some)
        why_none = "" if any(one.decides for one in tests) else _NO_VARIANT
        return replace(known, tests=tests, rounds=tuple(kept), holding=holding, why_none=why_none)

    async def _with_copies(
        self, found: _Found, files: Mapping[str, bytes], known: Reference
    ) -> tuple[_Found, Inversion | None]:
        """The candidates, with the copies of a test in its place where all of them pass over the reference; and the run
        of all as they are, None where there are no copies or a run takes long."""
        copied = {(one.path, one.name) for one in found if one.plain} if known.wall_s <= QUICK_S else set()
        while copied:
            some = tuple(one for one in found if bool(one.plain) is ((one.path, one.name) in copied))
            ran = await self._tried([], some, files, frozenset(known.signs))
            passed = {*ran.unchanged} if ran is not None else set[str]()
            failed = {(one.path, one.name) for one in some if one.plain and not passed.issuperset(one.ids)}
            if not failed:
                return some, ran
            copied -= failed
        return tuple(one for one in found if not one.plain), None

    async def _holding(self, found: _Found, files: Mapping[str, bytes], signs: frozenset[str]) -> Inversion | None:
        """A run with tests changed that do not decide, as in the rounds, and the deciding ones as they are. None where
        there are none, and where they keep deciding ones from passing."""
        deciding = {test for one in found if one.decides for test in one.ids}
        others = [one for one in found if not one.decides]
        for _ in range(HOLDING_TRIED if deciding and others else 0):
            made = await self._tried(_some_of(others), found, files, signs)
            if made is not None and deciding <= {*made.unchanged}:
                return made
        return None

    async def _tried(
        self,
        changed: _Turned,
        found: _Found,
        files: Mapping[str, bytes],
        signs: frozenset[str],
    ) -> Inversion | None:
        """A run with these tests changed; None where none that it was made for failed in it."""
        edits: dict[str, tuple[ByteEdit, ...]] = {one.path: () for one in found}
        turned = {id(one): number for one, number in changed}
        for one in found:
            edits[one.path] += one.edits(turned.get(id(one))) if id(one) in turned or one.plain else ()
        inversion = Inversion(edits, {path: digest_of(files[path]) for path in edits})
        ran = await self._run(replace(self._job, inversion=inversion))
        if ran is None or any(name.startswith("log_") for name in ran.verdict.evidence.keys() - signs):
            return None
        how = {test: (one, one.variants[number]) for one, number in changed for test in one.ids}
        failed = {test: word for test in how if (word := ran.statuses.get(test, CaseStatus.MISSING)) in _FAILS}
        decisive = any(one.decides for one, _ in changed)
        if changed and not any(how[test][0].decides is decisive for test in failed):
            return None
        others = [test for one in found for test in one.ids if test not in how]
        return replace(
            inversion,
            must_fail=failed,
            how={test: f"{how[test][1].kind} in line {how[test][1].line}" for test in failed},
            unchanged=tuple(test for test in others if stood(self._job.task, ran.statuses.get(test))),
        )

    async def _seen(self, job: SweJob) -> Seen:
        ran = await self._run(job)
        return Seen({}, {}) if ran is None else Seen(ran.statuses, said_in(job.task, ran.report))

    async def _run(self, job: SweJob) -> _Ran | None:
        """None where the row's own patch does not apply. Raises Starved, so that nothing is kept of tests that did not
        have their time, either time."""
        verifier, answer = SweVerifier(), Answer(job.task.patch)
        plan = verifier.plan(job, answer)
        state = await patiently(partial(self._engine.run, plan, caller=self._caller), self._caller)
        if not job.patient and await anyio.to_thread.run_sync(verifier.is_late, job, answer, state):
            return await self._run(replace(job, patient=True))
        verdict = await anyio.to_thread.run_sync(verifier.judge, job, answer, plan, state)
        report = await anyio.to_thread.run_sync(verifier.report, job, answer, state)
        outcome = tests_outcome(state)
        if report is None or outcome is None:
            return None
        ended = statuses(job, report)
        fails = failing(job.task, ended, exit_code=log_exit_code(job, outcome), ran=report.ran)
        return _Ran(ended, report, verdict, outcome.wall_time_s, fails)


def _some_of(found: Sequence[Candidate]) -> _Turned:
    """Some of them, one at least, each with one of its variants."""
    some = [one for one in found if _RANDOM.random() < 0.5]
    return _drawn(some or ([_RANDOM.choice(found)] if found else []))


def _drawn(found: Sequence[Candidate]) -> _Turned:
    return [(one, _RANDOM.randrange(one.fresh or len(one.variants))) for one in found]


def _signs(ran: _Ran) -> dict[str, tuple[str, ...]]:
    """What the tests' process showed of the reference, all of it. What reaches for objects counts in files that it
    does not touch, too: another fix may."""
    told = {name: (what,) for name, what in ran.verdict.evidence.items() if name.startswith("channel_")}
    reaching = tuple(hook for hook in ran.report.hooks if hook.startswith("reaching "))[:MAX_SIGHTINGS]
    reached = {"channel_reached": (*told.get("channel_reached", ()), *reaching)} if reaching else {}
    return {**told, **ran.report.sightings, **reached}
