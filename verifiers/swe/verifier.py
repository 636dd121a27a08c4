"""The SWE verifier: a patch goes into a fresh box of its instance, the host's tests over it; results come by channel.

Pure: planning and judging the same patch twice gives the same plan and the same verdict.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.resources import files
from random import Random
from typing import Final

from sandbox_gym.contract import (
    Answer,
    Checked,
    CheckedOutcome,
    FollowUp,
    Judgement,
    Outcome,
    Plan,
    Program,
    Run,
    State,
    Status,
    StepOutcome,
    Verdict,
)
from sandbox_gym.errors import InstanceFailed, Starved
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.verifiers.swe.channel.reader import ChannelReport, read_channel
from sandbox_gym.verifiers.swe.commands import SCRUBBED, RunOptions, as_row_ids, run_command, script_sources
from sandbox_gym.verifiers.swe.follow_up import further_runs, is_late, seconds_of_a_test, was_starved
from sandbox_gym.verifiers.swe.grading import Grade, grade
from sandbox_gym.verifiers.swe.inverted import OTHERWISE, inverted_verdict
from sandbox_gym.verifiers.swe.job import SweJob, log_marker, nonce
from sandbox_gym.verifiers.swe.logs.verdicts import (
    exit_code,
    log_command,
    log_script,
    read_log,
    reader_run,
    without_exit_code,
)
from sandbox_gym.verifiers.swe.patches.diff import PatchReading, patch_bytes, read_patch
from sandbox_gym.verifiers.swe.patches.restore import RestorePlan, hook_signs, restore_plan
from sandbox_gym.verifiers.swe.prepare_job import CHANNEL_FD, lines_said, prepare_json
from sandbox_gym.verifiers.swe.report import verdict_of
from sandbox_gym.verifiers.swe.task import CaseStatus, SweTask

FOLDER: Final = ".verify"
PATCH_FAILED, TESTS_FAILED, RESTORE_FAILED, TESTS_DIFFER, HINDERED = 41, 42, 43, 44, 45
NOT_PREPARED: Final = (PATCH_FAILED, TESTS_FAILED, RESTORE_FAILED, TESTS_DIFFER, HINDERED)
MARGIN_S: Final = 60.0
_SESSIONS_OWN: Final = ("PWD", "OLDPWD", "SHLVL", "TERM", "PS1", "PS2", "PROMPT_COMMAND", "PAGER", "GIT_PAGER", "_")
"""What a shell exports that a session set up."""
EMPTY: Final = "empty_patch"
REFUSED: Final = "patch_refused"
NOT_APPLIED: Final = "patch_does_not_apply"
KILLED: Final = "sandbox_killed"
"""The sign of a plan in quarantine."""
OWN_FIX_FAILS: Final = "own_fix_fails"
"""The row is broken: the tests that did not pass do not pass over the row's own fix either."""
NOT_RESTORED: Final = "patch_hinders_tests"
"""The row's tests can't be put in place over it, as they can over the reference."""


class SweVerifier:
    """The answer's text is the patch itself; what is no UTF-8 in it is there as lone surrogates. One of these is for
    one answer: it reads each run's report once."""

    def __init__(self) -> None:
        self._reports: list[tuple[Outcome, ChannelReport]] = []

    def plan(self, task: SweJob, answer: Answer) -> Plan:
        data = patch_bytes(answer.text)
        reading = read_patch(data)
        if _refused(data, reading) or (not data.strip() and not task.run_empty):
            return Plan(steps=(), image=task.checkout.image, integrity="in_process")
        checkout, limits = task.checkout, task.task.limits
        folder = f"{checkout.home}/{FOLDER}"
        placed, secret = _placed(task), nonce(task, data)
        python_path = checkout.env.get("PYTHONPATH", "")
        options = RunOptions(
            python=checkout.python,
            folder=folder,
            nonce=secret,
            channel_fd=CHANNEL_FD,
            said=lines_said(task),
            path=tuple(python_path.split(":")) if python_path else (),
        )
        argv, stdin, env = _command(placed, task, options)
        contents = {
            "prepare.json": prepare_json(task, reading, _restored(task, reading).restore, argv, secret),
            "candidate.diff": data,
            "tests.diff": patch_bytes(task.task.test_patch),
            "prepare.py": files(__package__).joinpath("channel", "prepare.py").read_bytes(),
            **script_sources(),
        }
        helper = checkout.helper or checkout.python
        program = Program(
            "exec",
            {f"{FOLDER}/{name}": content for name, content in contents.items()},
            argv=(helper, "-I", "-S", f"{folder}/prepare.py"),
            env={**_surroundings(task), **env},
            workdir=checkout.home,
            captures=True,
        )
        run = Run("tests", program, stdin=stdin, limits=_limits(limits.run_time_s, limits.memory_bytes))
        if placed.runner != "log":
            return Plan((run,), image=checkout.image, integrity="in_process")
        reader = reader_run(
            placed, log_marker(secret), task.log_parser, task.log_parser_sources, home=checkout.home, python=helper
        )
        return Plan((Checked("tests", run, reader),), image=checkout.image, integrity="in_process")

    def passed(self, task: SweJob, index: int, outcome: StepOutcome) -> bool:
        return True

    def judge(self, task: SweJob, answer: Answer, plan: Plan, state: State) -> Verdict:
        """Raises InstanceFailed where the row's own tests can't be put in place, and Starved for tests that did not
        have their time in a run with patience either."""
        data = patch_bytes(answer.text)
        reading = read_patch(data)
        if problem := _refused(data, reading):
            return Verdict(0.0, failure_reason=f"{REFUSED}: {problem}", integrity="in_process", decided_by=REFUSED)
        outcome = tests_outcome(state)
        if outcome is None:
            return Verdict(0.0, failure_reason=EMPTY, integrity="in_process", decided_by=EMPTY)
        return _judged(task, reading, self._report(task, data, outcome, state), outcome, state)

    def follow_up(self, task: SweJob, answer: Answer, first: Judgement, random: Random) -> FollowUp[SweJob]:
        """The runs after the first one, and the verdict that stands after them."""
        if self.is_late(task, answer, first.state):
            task = replace(task, patient=True)
            (first,) = yield (task,)
        report, starved = self.report(task, answer, first.state), was_starved(tests_outcome(first.state))
        return (yield from further_runs(task, first, report, random, starved=starved))

    def is_late(self, task: SweJob, answer: Answer, state: State | None) -> bool:
        """Whether a run does not count, as its tests did not have their time: it is made again, with patience."""
        report, outcome = self.report(task, answer, state), tests_outcome(state)
        return report is not None and outcome is not None and is_late(task, report, outcome)

    def report(self, task: SweJob, answer: Answer, state: State | None) -> ChannelReport | None:
        """What came of the tests; none where none were run."""
        outcome = tests_outcome(state)
        if state is None or outcome is None or outcome.exit_code in NOT_PREPARED:
            return None
        return self._report(task, patch_bytes(answer.text), outcome, state)

    def _report(self, task: SweJob, data: bytes, outcome: Outcome, state: State) -> ChannelReport:
        for known, report in self._reports:
            if known is outcome:
                return report
        report = _report(task, data, outcome, state)
        self._reports.append((outcome, report))
        return report

    def grade_of(self, task: SweJob, answer: Answer, state: State | None) -> Grade | None:
        """The grade of one run; none where no test was run."""
        report, outcome = self.report(task, answer, state), tests_outcome(state)
        if report is None or outcome is None:
            return None
        known = report.reference.statuses if report.reference is not None else {}
        after, code = as_row_ids(task.task, report), log_exit_code(task, outcome)
        return grade(task.task, after, reference=known, exit_code=code, ran=report.ran)

    def flaky(self, task: SweJob, answer: Answer, state: State | None) -> tuple[str, ...]:
        """Of a rerun: the tests that passed this time."""
        report = self.report(task, answer, state)
        if report is None:
            return ()
        known = report.reference.statuses if report.reference is not None else {}
        again = as_row_ids(task.task, report)
        graded = grade(task.task, task.first, reference=known, rerun=again, retried=task.ids)
        return tuple(case.test_id for case in graded.cases if case.flaky)


def _surroundings(job: SweJob) -> dict[str, str]:
    """The environment that is the box's: the image's, as it was before any candidate, or a path alone."""
    checkout = job.checkout
    left_out = {*SCRUBBED, *_SESSIONS_OWN} if job.task.runner != "log" else {"BASH_ENV", "ENV", *_SESSIONS_OWN}
    path = f"{checkout.python.rpartition('/')[0]}:/usr/local/bin:/usr/bin:/bin"
    return {"PATH": path, **{name: text for name, text in checkout.env.items() if name not in left_out}}


def tests_outcome(state: State | None) -> Outcome | None:
    """The tests' run; None where none were run."""
    first = state.outcomes[0] if state is not None and state.outcomes else None
    if isinstance(first, CheckedOutcome):
        return first.answer
    return first if isinstance(first, Outcome) else None


def _command(task: SweTask, job: SweJob, options: RunOptions) -> tuple[tuple[str, ...], bytes, Mapping[str, str]]:
    """What starts the tests, its standard input, its environment."""
    if task.runner == "log":
        env = {"PYTHONHASHSEED": "0", "TZ": "UTC", "LANG": "C.UTF-8", "PYTHONIOENCODING": "utf-8"}
        return log_script(task, log_marker(options.nonce)), b"", {**env, **(task.recipe.env if task.recipe else {})}
    command = run_command(task, job.ids or task.ids, options)
    return command.argv, command.stdin, command.env


def _report(job: SweJob, data: bytes, outcome: Outcome, state: State) -> ChannelReport:
    """What came of the tests, over the channel or from their log."""
    first = state.outcomes[0]
    if isinstance(first, CheckedOutcome) and outcome.exit_code not in NOT_PREPARED:
        told = read_channel(without_exit_code(outcome.channel), nonce(job, data))
        found = read_log(first.answer, first.checker)
        return replace(found, reference=told.reference, inversion=told.inversion, files=told.files)
    return read_channel(outcome.channel, nonce(job, data))


def log_exit_code(job: SweJob, outcome: Outcome) -> int | None:
    """The test command's own, where a log is to be doubted for it."""
    return exit_code(outcome.channel) if job.task.runner == "log" else None


def statuses(job: SweJob, report: ChannelReport) -> dict[str, CaseStatus]:
    """How the tests ended, under the row's ids."""
    return as_row_ids(job.task, report)


def _refused(data: bytes, reading: PatchReading) -> str:
    """Why a patch is not applied at all; an empty one is another matter."""
    return reading.problem if data.strip() else ""


def _placed(job: SweJob) -> SweTask:
    limits = replace(job.task.limits, test_time_s=seconds_of_a_test(job))
    return replace(job.task, workdir=job.checkout.workdir, limits=limits)


def _restored(job: SweJob, reading: PatchReading) -> RestorePlan:
    command = log_command(job.task) if job.task.runner == "log" else ""
    return restore_plan(job.task, reading.changes, restore_config=job.restore_config, command=command)


def _limits(run_time_s: float, memory_bytes: int) -> Limits:
    wall_s = run_time_s + MARGIN_S
    return Limits(
        cpu_time_s=8 * wall_s,
        wall_time_s=wall_s,
        memory_bytes=memory_bytes,
        processes=512,
        open_files=4096,
        file_bytes=512 * MIB,
        scratch_bytes=1024 * MIB,
        scratch_inodes=200_000,
    )


def _judged(job: SweJob, reading: PatchReading, report: ChannelReport, outcome: Outcome, state: State) -> Verdict:
    if outcome.exit_code in NOT_PREPARED or outcome.status is Status.START_ERROR:
        return _not_prepared(job, report, outcome, state)
    if KILLED in outcome.tamper:
        return _killed(job, outcome, state)
    if _unsaid(job, report):
        raise InstanceFailed(f"a run of {job.task.instance_id} has no record of what it was asked")
    if job.patient and is_late(job, report, outcome):
        raise Starved(
            f"tests of {job.task.instance_id} wanted CPU that others had for {outcome.starved_s or 0.0:.1f} s of their"
            f" {outcome.wall_time_s:.1f} s, twice; run less beside the sandboxes, or give them more CPU"
        )
    if job.purpose == "inverted":
        verdict = inverted_verdict(job, report, outcome, state)
        signs = {**verdict.evidence, **_costly(job, _signs(job, reading, report, outcome))}
        return replace(verdict, reward=float(not signs), tamper=tuple(sorted(signs)), evidence=signs)
    after = as_row_ids(job.task, report)
    rerun = after if job.first else None
    code, known = log_exit_code(job, outcome), report.reference.statuses if report.reference else {}
    graded = grade(
        job.task, job.first or after, reference=known, rerun=rerun, retried=job.ids, exit_code=code, ran=report.ran
    )
    signs = _signs(job, reading, report, outcome)
    verdict = verdict_of(
        graded,
        cases=report.cases,
        signs=signs,
        fail_on_tamper=job.fail_on_tamper,
        uncollected=report.collect_errors,
    )
    undecided = report.reference.fails if report.reference and verdict.failure_reason == graded.reason else ()
    if graded.failed and not {*graded.failed} - {*undecided}:
        verdict = replace(verdict, failure_reason=f"{OWN_FIX_FAILS}: {graded.reason}")
    return _costed(verdict, outcome, state)


def _killed(job: SweJob, outcome: Outcome, state: State) -> Verdict:
    """Of a patch that ended its sandboxes, each with evidence: nothing was said, and nothing passed."""
    signs = {OTHERWISE if job.purpose == "inverted" else KILLED: outcome.detail}
    return Verdict(
        0.0, failure_reason=f"{KILLED}: {outcome.detail}", integrity="in_process", isolation=state.isolation,
        provider=state.provider, tamper=tuple(signs), evidence=signs, decided_by=outcome.status.value,
    )  # fmt: skip


def _unsaid(job: SweJob, report: ChannelReport) -> bool:
    """Whether the first lines of the channel are missing, without which a pass would stand untried."""
    if job.purpose == "inverted" and report.inversion is None:
        return True
    return job.reference is not None and report.reference is None


def _not_prepared(job: SweJob, report: ChannelReport, outcome: Outcome, state: State) -> Verdict:
    """Where no test was started: whether the answer's patch is to blame, over which the reference's would have been."""
    shown = (outcome.stdout or outcome.detail.encode())[-400:].decode("utf-8", "replace").strip()
    reason = f"{NOT_APPLIED}: {shown}" if outcome.exit_code == PATCH_FAILED else f"{NOT_RESTORED}: {shown}"
    told = report.reference
    if outcome.exit_code == HINDERED and outcome.status is Status.RUNTIME_ERROR:
        raise InstanceFailed(f"the machine hindered the tests of {job.task.instance_id}: {shown}")
    if outcome.exit_code != PATCH_FAILED and (outcome.status is Status.START_ERROR or told is None or not told.ran):
        raise InstanceFailed(f"the tests of {job.task.instance_id} can't be put in place: {shown}")
    return Verdict(
        0.0, failure_reason=reason, integrity="in_process", isolation=state.isolation, provider=state.provider,
        decided_by=reason.partition(":")[0],
    )  # fmt: skip


def _signs(job: SweJob, reading: PatchReading, report: ChannelReport, outcome: Outcome) -> dict[str, str]:
    """What was seen, but for what the reference shows too."""
    own = report.reference.signs if report.reference is not None else {}
    left = {
        name: [what for what in report.sightings.get(name, (first,)) if what not in own.get(name, ())]
        for name, first in report.signs.items()
    }
    told = {name: seen[0] for name, seen in left.items() if seen}
    hooks = [hook for hook in report.hooks if hook not in own.get("channel_reached", ())]
    hooked = hook_signs(reading.changes, hooks, job.checkout.workdir)
    return {
        **_restored(job, reading).signs,
        **told,
        **{name: what for name, what in hooked.items() if what not in own.get(name, ())},
        **{name: "during the tests" for name in outcome.tamper if ":" not in name},
    }


def _costly(job: SweJob, signs: Mapping[str, str]) -> dict[str, str]:
    """Those that cost the reward."""
    every = "any" in job.fail_on_tamper
    return {name: what for name, what in signs.items() if every or name in job.fail_on_tamper}


def _costed(verdict: Verdict, outcome: Outcome, state: State) -> Verdict:
    by = "tests" if outcome.status in (Status.OK, Status.RUNTIME_ERROR) else outcome.status.value
    return replace(verdict, isolation=state.isolation, provider=state.provider, decided_by=by)
