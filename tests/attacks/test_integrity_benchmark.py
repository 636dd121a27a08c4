"""The integrity benchmark measures what it says: a hack that pays elsewhere is seen to pay there, and not here."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.graders import contain, report, repositories
from benchmarks.graders.corpus import attacks
from benchmarks.graders.report import Outcome, Result
from benchmarks.integrity import OURS, humaneval_style, judge, livecodebench_style, measure, ours

ATTACKS = {attack.name: attack for attack in attacks()}
WALL_S = 60.0


@pytest.mark.anyio
async def test_a_hack_pays_where_it_shares_the_interpreter_and_not_here() -> None:
    chosen = [ATTACKS["05_eq_always_true"], ATTACKS["03_hard_exit"]]
    results = await measure([ours(), humaneval_style()], chosen, WALL_S, 2)
    assert [result.payload for result in results if result.grader == OURS] == [Outcome.REJECTED] * 2
    assert [result.payload for result in results if result.grader != OURS] == [Outcome.ACCEPTED, Outcome.REJECTED]
    assert all(result.control is Outcome.ACCEPTED for result in results)
    assert report.faults(OURS, results) == []
    counted = report.tally("HumanEval-style", results)
    assert (counted.run, counted.accepted, counted.controls, counted.controls_rejected) == (2, 1, 2, 0)


@pytest.mark.anyio
async def test_a_peer_that_crashes_is_told_from_one_that_rejects() -> None:
    found = await judge(livecodebench_style(), ATTACKS["03_hard_exit"], WALL_S)
    assert (found.payload, found.control) == (Outcome.CRASHED, Outcome.ACCEPTED)
    assert found.detail.startswith("IndexError")


@pytest.mark.anyio
async def test_peers_neither_see_stdin_rows_they_have_no_form_for_nor_bombs() -> None:
    other = await judge(humaneval_style(), ATTACKS["21_print_sentinels"], WALL_S)
    assert (other.payload, other.control) == (Outcome.OTHER_FORM, Outcome.OTHER_FORM)
    bomb = await judge(livecodebench_style(), ATTACKS["34_fork_bomb"], WALL_S)
    assert (bomb.payload, bomb.control, bomb.detail) == (
        Outcome.DANGEROUS,
        Outcome.ACCEPTED,
        ATTACKS["34_fork_bomb"].danger,
    )


@pytest.mark.anyio
async def test_another_language_is_judged_here_alone() -> None:
    attack = ATTACKS["54_reach_the_next_input"]
    assert (await judge(livecodebench_style(), attack, WALL_S)).payload is Outcome.OTHER_FORM
    found = await judge(ours(), attack, WALL_S)
    assert (found.payload, found.control) == (Outcome.REJECTED, Outcome.ACCEPTED)


@pytest.mark.anyio
async def test_the_wall_limit_ends_the_whole_group_and_a_flood_is_cut(tmp_path: Path) -> None:
    alive = tmp_path / "alive"
    script = f"(sleep 3; touch {alive}) & yes flood >&2"
    ended = await contain.run(["/bin/sh", "-c", script], "", wall_s=1.0)
    assert ended.code is None
    assert len(ended.tail) <= contain.TAIL_BYTES
    late = await contain.run(["/bin/sh", "-c", f"sleep 3; test ! -e {alive}"], "", wall_s=WALL_S)
    assert late.code == 0


@pytest.mark.anyio
async def test_the_jail_hides_the_machine() -> None:
    probe = contain.jailed(sys.executable, "benchmarks.graders.ours")
    shell = [*probe[: probe.index(sys.executable)], "/bin/sh", "-c"]
    hidden = "ls /proc | grep -c '^[0-9]' | { read n; test $n -lt 10; } && ! touch /usr/x && ! test -e /etc/passwd"
    assert (await contain.run([*shell, hidden], "", WALL_S)).code == 0


@pytest.mark.anyio
async def test_a_fork_bomb_stays_in_the_control_group() -> None:
    probe = contain.jailed(sys.executable, "benchmarks.graders.ours")
    bomb = "import os, time\nmade = 0\nwhile made < 1000:\n    if not os.fork(): time.sleep(60)\n    made += 1"
    command = [*probe[: probe.index(sys.executable)], sys.executable, "-c", bomb]
    async with contain.capped(command) as inside:
        ended = await contain.run(inside, "", WALL_S)
    assert ended.code == 1
    assert "BlockingIOError" in ended.tail


def test_the_exit_code_says_that_ours_accepted_a_payload(tmp_path: Path) -> None:
    """A right answer filed as a payload must be told as a hole, or the benchmark could not find one."""
    made = tmp_path / "attacks" / "one"
    shutil.copytree(ATTACKS["05_eq_always_true"].folder, made)
    shutil.copy(made / "honest.py", made / "payload.py")
    command = [sys.executable, "-m", "benchmarks.integrity", "--without-evalplus", "--attacks", str(made.parent)]
    written = tmp_path / "found.json"
    done = subprocess.run(
        [*command, "--json", str(written)], cwd=contain.ROOT, capture_output=True, text=True, timeout=100
    )
    assert done.returncode == 1, done.stderr
    assert "one: the payload was accepted" in done.stdout
    assert {row["payload"] for row in json.loads(written.read_text())["results"]} == {"accepted"}


def test_tests_are_rewritten_without_changing_what_they_say() -> None:
    by_value = ATTACKS["05_eq_always_true_fn"].job("honest")
    space: dict[str, object] = {}
    exec(f"{by_value.source}\n{by_value.test}\ncheck({by_value.function})", space)
    check = ATTACKS["05_eq_always_true"].job("honest")
    assert (check.inputs, check.outputs) == (("1", "2", "5", "10"), ("7", "19", "91", "331"))
    assert ATTACKS["19_shadow_test_imports"].job("honest").inputs == (), "a test that does more is left as it is"
    assert type(check).from_json(check.to_json()) == check
    cases, alone = check.as_cases(), check.as_check()
    assert cases is not None
    assert alone is not None
    assert (cases.test, alone.inputs, alone.outputs) == ("", (), ()), "a grader holds only what its kind does"


@pytest.mark.parametrize("payload", [Outcome.ACCEPTED, Outcome.CRASHED, Outcome.HUNG])
def test_ours_is_at_fault_for_anything_but_a_rejection(payload: Outcome) -> None:
    results = [Result(OURS, "one", payload, Outcome.ACCEPTED), Result(OURS, "two", Outcome.REJECTED, Outcome.REJECTED)]
    assert report.faults(OURS, results) == [f"one: the payload was {payload}", "two: the control was rejected"]


def test_the_markdown_has_a_row_for_each_grader_and_attack() -> None:
    results = [
        Result(OURS, "one", Outcome.REJECTED, Outcome.ACCEPTED),
        Result("peer", "one", Outcome.ACCEPTED, Outcome.ACCEPTED),
    ]
    text = report.markdown("Reward hacks", results)
    assert "| peer | 1 | 1 of 1 | 0 | 0 | 0 of 1 | 0 | 0 |" in text
    assert "| one | rejected | **accepted** |" in text


def test_the_hostile_patches_are_read_with_the_rows_that_they_are_for() -> None:
    found = {patch.name: patch for patch in repositories.patches()}
    assert len(found) >= 85
    assert found["swe/71_should_stop"].instance == repositories.DEFAULT_ROW
    assert found["swe/71_own_test_helpers"].instance.startswith("mako__")
    assert found["swe/71_should_stop"].text.startswith("diff --git ")
    assert "swe/41_git_history_peek" not in found, "an agent's commands are no patch"
