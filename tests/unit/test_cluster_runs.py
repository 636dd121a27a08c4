"""Plans as messages, and a run followed from afar: the same state as here, whatever came late, twice or not at all."""

from __future__ import annotations

from collections.abc import Sequence

import anyio
import pytest

from sandbox_gym.cluster.messages import (
    SHARED,
    Failure,
    Finished,
    NodeLost,
    Pong,
    Progress,
    StepReport,
    failure_reply,
    read_reply,
    reply,
)
from sandbox_gym.cluster.runs import REPLY_BYTES, Assembly, NodeRun
from sandbox_gym.codec import CodecError, decode, encode
from sandbox_gym.contract import (
    Build,
    Checked,
    CheckedOutcome,
    Dialogue,
    DialogueOutcome,
    Outcome,
    Passes,
    Plan,
    Program,
    Query,
    Run,
    Service,
    State,
    Status,
    StepOutcome,
)
from sandbox_gym.errors import BoxLost, PoolFull, SessionClosed, Unavailable
from sandbox_gym.plans.runner import PlanResult

OK, BAD = Outcome(Status.OK), Outcome(Status.RUNTIME_ERROR, exit_code=1)
PROGRAM = Program(mode="fork", files={"main.py": b"print(1)", "data": b"\xff\x00"}, env={"A": "b"})


def plan(*sizes: int, early_stop: bool = True) -> Plan:
    steps = tuple(Run(f"t{n}", PROGRAM) for n in range(sum(sizes)))
    return Plan(steps, early_stop=early_stop, groups=sizes)


async def passes(index: int, outcome: StepOutcome) -> bool:
    return outcome is not BAD and isinstance(outcome, Outcome) and outcome.status is Status.OK


def finished(length: int, ran: Sequence[int], builds: tuple[Outcome, ...] = ()) -> Finished:
    return Finished(length, tuple(ran), "namespace", "local", builds, (), 1, {"run": 0.5}, 0.6)


def test_every_kind_of_step_travels() -> None:
    run = Run("run", PROGRAM, b"in\xfe")
    service = Service("math", {"main.py": b"serve()"})
    whole = Plan(
        steps=(run, Dialogue("d", run, Run("c", PROGRAM), "stdio"), Checked("k", run, run, "out.txt", Passes(3))),
        image="polyglot",
        integrity="in_process",
        early_stop=True,
        builds=(Build("b", run, "a.out", "judge"),),
        groups=(1, 2),
    )
    asked = Plan((Query("q", service, b"1"), Query("r", service, b"2")))
    for one in (whole, asked):
        assert decode(Plan, encode(one, shared=SHARED), shared=SHARED) == one


def test_what_steps_share_is_written_once_and_shared_again() -> None:
    raw = encode(plan(50), shared=SHARED)
    assert raw.count(b"print(1)") == 1
    there = decode(Plan, raw, shared=SHARED)
    first = there.steps[0]
    assert isinstance(first, Run)
    assert all(isinstance(step, Run) and step.program is first.program for step in there.steps)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"program":0', b'"program":1'),
        (b'"program":0', b'"program":-1'),
        (b'"program":0', b'"program":true'),
        (b'"program":0', b'"program":{"mode":"fork","files":{}}'),
        (b'{"shared":[', b'{"shared":[[],'),
    ],
)
def test_a_number_that_no_table_has_is_refused(old: bytes, new: bytes) -> None:
    raw = encode(plan(1), shared=SHARED)
    assert raw.count(old) == 1
    with pytest.raises(CodecError):
        decode(Plan, raw.replace(old, new), shared=SHARED)


@pytest.mark.parametrize("error", [BoxLost("gone"), PoolFull("full", retry_after_s=7), SessionClosed("closed")])
def test_errors_travel_by_kind(error: Exception) -> None:
    assert isinstance(error, BoxLost | PoolFull | SessionClosed)
    with pytest.raises(type(error), match=str(error)) as caught:
        read_reply(Pong, failure_reply(error))
    if isinstance(error, PoolFull):
        assert isinstance(caught.value, PoolFull)
        assert caught.value.retry_after_s == 7


def test_an_unknown_error_is_no_verdict() -> None:
    with pytest.raises(Unavailable, match="new kind"):
        read_reply(Pong, b"-" + encode(Failure("invented_later", "new kind")))


@pytest.mark.parametrize("raw", [b"", b"nonsense", b"+{", b'+{"version":1}', b"-{}", reply(OK)])
def test_a_reply_that_makes_no_sense_is_a_lost_node(raw: bytes) -> None:
    with pytest.raises(NodeLost):
        read_reply(Pong, raw)


@pytest.mark.anyio
async def test_a_failed_step_ends_its_group_alone() -> None:
    assembly = Assembly(plan(3, 2), passes)
    assert await assembly.add(Progress(1, (StepReport(0, OK), StepReport(1, BAD)))) == (1,)
    late = Progress(1, (StepReport(2, OK), StepReport(3, OK), StepReport(4, OK)), finished(5, range(5)))
    assert await assembly.add(late) == ()
    state = assembly.state(finished(5, range(5)))
    assert state.outcomes == (OK, BAD, None, OK, OK)  # what ran while the word was on its way is left out
    assert (state.isolation, state.provider) == ("namespace", "local")


@pytest.mark.anyio
async def test_a_tail_that_early_stop_left_out_is_cut() -> None:
    assembly = Assembly(plan(4), passes)
    await assembly.add(Progress(1, (StepReport(0, BAD),)))
    assert assembly.state(finished(1, [0])).outcomes == (BAD,)


@pytest.mark.anyio
async def test_without_early_stop_everything_stays() -> None:
    assembly = Assembly(plan(3, early_stop=False), passes)
    assert await assembly.add(Progress(1, (StepReport(0, BAD), StepReport(1, OK), StepReport(2, BAD)))) == ()
    assert assembly.state(finished(3, range(3))).outcomes == (BAD, OK, BAD)


@pytest.mark.anyio
async def test_outcomes_of_an_earlier_try_are_void() -> None:
    assembly = Assembly(plan(2), passes)
    assert await assembly.add(Progress(1, (StepReport(0, BAD),))) == (0,)
    assert await assembly.add(Progress(2, (StepReport(0, OK), StepReport(1, OK)))) == ()
    assert assembly.state(finished(2, range(2))).outcomes == (OK, OK)


@pytest.mark.anyio
async def test_a_hole_that_nothing_excuses_is_the_nodes_fault() -> None:
    """A node that stops early on its own must not make a right answer look wrong."""
    assembly = Assembly(plan(3), passes)
    await assembly.add(Progress(1, (StepReport(0, OK),)))
    with pytest.raises(NodeLost):
        assembly.state(finished(1, [0]))
    with pytest.raises(NodeLost):
        assembly.state(finished(3, range(3)))
    with pytest.raises(NodeLost):
        await assembly.add(Progress(1, (StepReport(9, OK),)))


def test_a_failed_build_excuses_all_steps() -> None:
    built = Plan(plan(2).steps, early_stop=True, builds=(Build("b", Run("b", PROGRAM)),))
    state = Assembly(built, passes).state(finished(0, [], (BAD,)))
    assert (state.outcomes, state.builds) == ((), (BAD,))


async def run_through(run: NodeRun, *outcomes: StepOutcome) -> list[bool]:
    return [await run.passed(index, outcome) for index, outcome in enumerate(outcomes)]


@pytest.mark.anyio
async def test_a_run_stops_where_the_server_says() -> None:
    run = NodeRun(plan(3, 2))
    assert await run_through(run, OK, BAD) == [True, True]
    progress = await run.progress()
    assert (progress.attempt, [seen.index for seen in progress.outcomes], progress.finished) == (1, [0, 1], None)
    run.stop_at(1, [1])
    assert not await run.passed(2, OK)
    assert await run.passed(3, OK)


@pytest.mark.anyio
async def test_a_word_on_an_earlier_try_stops_nothing() -> None:
    run = NodeRun(plan(3))
    await run_through(run, OK, BAD)
    assert await run_through(run, OK, OK) == [True, True]  # the box was lost, and the plan begins again
    run.stop_at(1, [1])
    assert await run.passed(2, OK)
    progress = await run.progress()
    assert (progress.attempt, [seen.index for seen in progress.outcomes]) == (2, [0, 1, 2])


@pytest.mark.anyio
async def test_what_was_told_is_not_told_again_at_the_end() -> None:
    run, assembly = NodeRun(plan(3)), Assembly(plan(3), passes)
    await run_through(run, OK, OK)
    await assembly.add(await run.progress())
    last = Outcome(Status.OK, stdout=b"last")
    await run.passed(2, last)
    run.finish(PlanResult(State((OK, OK, last), "namespace", "local")), 0.1)
    progress = await run.progress()
    assert [seen.index for seen in progress.outcomes] == [2]
    await assembly.add(progress)
    assert progress.finished is not None
    assert assembly.state(progress.finished).outcomes == (OK, OK, last)


@pytest.mark.anyio
async def test_replies_are_bounded_whatever_programs_print() -> None:
    flood = Outcome(Status.OK, stdout=b"x" * (REPLY_BYTES // 2 + 1))
    both = CheckedOutcome(flood, None), DialogueOutcome(OK, flood)
    run = NodeRun(plan(5, early_stop=False))
    run.finish(PlanResult(State((flood, *both, OK, OK), "none", "local")), 0.1)
    sizes, last = [], None
    while last is None:
        progress = await run.progress()
        sizes.append(len(progress.outcomes))
        last = progress.finished
    assert sizes == [1, 1, 3]


@pytest.mark.anyio
async def test_what_ends_a_run_is_told() -> None:
    run = NodeRun(plan(1))
    with anyio.fail_after(5):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(anyio.sleep, 0.1)
            run.fail(BoxLost("twice"))
            with pytest.raises(BoxLost):
                await run.progress()
