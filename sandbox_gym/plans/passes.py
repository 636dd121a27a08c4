"""Steps of several passes: what a checker asks for, and the step that the next pass is. Pure.

What a checker keeps goes from pass to pass through its own outcome, so that no box has to hold it: the answer's program
never shares a box with it, and a pass may run in any box.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Final

from sandbox_gym.contract import Checked, CheckedOutcome, Dialogue, DialogueOutcome, Outcome, Passes, PassOutcome, Run

SHOWN_BYTES: Final = 64 << 10
"""Of each output of a pass that was followed by another."""
_HEAD_BYTES: Final = 20


@dataclass(frozen=True, slots=True)
class NextPass:
    """What a checker asked for."""

    given: bytes
    kept: bytes


def next_pass(passes: Passes, checker: Outcome | None) -> NextPass | None:
    """The pass that a checker asks for; None where it asks for none, or asks without ending as agreed."""
    if checker is None or checker.exit_code != passes.exit_code or not checker.channel:
        return None
    head, line_end, rest = checker.channel.partition(b"\n")
    if not line_end or not head.isdigit() or len(head) > _HEAD_BYTES or int(head) > len(rest):
        return None
    return NextPass(rest[: int(head)], rest[int(head) :])


def next_checked(step: Checked, passes: Passes, asked: NextPass) -> Checked:
    """The same answer on the next input."""
    return replace(step, answer=replace(step.answer, stdin=asked.given), checker=_given(step.checker, passes, asked))


def next_dialogue(step: Dialogue, passes: Passes, asked: NextPass) -> Dialogue:
    """The same two programs; what the candidate learns of the next input is the asker's affair."""
    return replace(step, asker=_given(step.asker, passes, asked))


def _given(checker: Run, passes: Passes, asked: NextPass) -> Run:
    files = {**checker.program.files, passes.input_file: asked.given, passes.kept_file: asked.kept}
    return replace(checker, program=replace(checker.program, files=files))


def past(outcome: CheckedOutcome | DialogueOutcome) -> PassOutcome:
    """A pass that another one followed, as a state keeps it."""
    if isinstance(outcome, DialogueOutcome):
        return PassOutcome(_short(outcome.candidate), _short(outcome.asker))
    assert outcome.checker is not None, "a pass that was followed by another was checked"
    return PassOutcome(_short(outcome.answer), _short(outcome.checker))


def _short(outcome: Outcome) -> Outcome:
    stdout, stderr = outcome.stdout[:SHOWN_BYTES], outcome.stderr[-SHOWN_BYTES:]
    return replace(outcome, stdout=stdout, stderr=stderr, channel=b"")
