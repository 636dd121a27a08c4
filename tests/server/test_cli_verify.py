"""`sandbox-gym verify`: rows, answers, resume, signals, sums."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import anyio
import pytest
from rich.console import Console

from sandbox_gym.cli.rows import take_up
from sandbox_gym.cli.verify import VerifyRun, prepare, verify_file
from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import ConfigurationError, ProviderDown
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.nemo_gym.verify_recorder import VerifyRecorder
from sandbox_gym.server.protocol.resources import ResourcesServer, VerifyResult
from sandbox_gym.server.protocol.wire import Document, VerifyRequest
from tests.server.fakes import EchoResources, exits_as_told, fake_engine, verify_body


def write(path: Path, rows: list[object]) -> Path:
    path.write_text("".join(f"{json.dumps(row) if not isinstance(row, str) else row}\n" for row in rows))
    return path


def read(path: Path) -> dict[int, Document]:
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    assert len({row["row"] for row in rows}) == len(rows)
    return {row["row"]: row for row in rows}


def run(job: VerifyRun, resources: ResourcesServer | None = None) -> bool:
    async def go() -> bool:
        recorder = VerifyRecorder(resources or EchoResources(), None, Settings())
        console = Console(stderr=True, quiet=True)
        return await verify_file(job, lambda _: recorder, lambda: fake_engine(FakeProvider(exits_as_told)), console)

    return anyio.run(go)


def test_every_kind_of_row_gets_its_line(tmp_path: Path) -> None:
    rows: list[object] = [
        verify_body(hash_id="h"), {"answer": "print(1)"}, {"answer": "exit 3"}, "", "{torn",
        {"answer": 7}, [], {"answer": "x", "verifier_metadata": {"bad": 1}},
    ]  # fmt: skip
    job = VerifyRun(write(tmp_path / "in", rows), tmp_path / "out", set(), 3)
    assert run(job) is False
    out = read(tmp_path / "out")
    assert sorted(out) == [0, 1, 2, 4, 5, 6, 7]
    assert (out[0]["reward"], out[0]["hash_id"], out[1]["reward"], out[2]["reward"]) == (1.0, "h", 1.0, 0.0)
    assert out[1]["response"]["output"][0]["content"][0]["text"] == "print(1)"  # type: ignore[index]
    assert [out[n]["line"] for n in (4, 5, 6, 7)] == [5, 6, 7, 8]
    assert out[5]["error"]["field"] == "answer"  # type: ignore[index]
    assert out[7]["error"]["field"] == "verifier_metadata.bad"  # type: ignore[index]
    tally = job.tally
    assert (tally.passed, tally.failed.total(), tally.invalid, tally.rows) == (2, 1, 4, 7)
    assert not tally.clean


def test_no_verdict_is_masked_and_counted_apart(tmp_path: Path) -> None:
    def fail(request: VerifyRequest) -> None:
        if request.output_text == "lost":
            raise ProviderDown("gone")

    job = VerifyRun(write(tmp_path / "in", [{"answer": "lost"}, {"answer": "x"}]), tmp_path / "out", set(), 2)
    run(job, EchoResources(before=fail))
    out = read(tmp_path / "out")
    assert (out[0]["mask_sample"], out[0]["failure_kind"]) == (True, "echo:provider_down")
    assert (job.tally.passed, dict(job.tally.failed), dict(job.tally.no_verdict)) == (
        1,
        {},
        {"echo:provider_down": 1},
    )


def test_resume_skips_what_is_there_and_drops_a_torn_line(tmp_path: Path) -> None:
    file = write(tmp_path / "in", [{"answer": f"print({i})"} for i in range(6)])
    out = tmp_path / "out"
    run(VerifyRun(file, out, set(), 2, limit=3))
    kept = out.read_bytes()
    out.write_bytes(kept + b'{"row": 3, "rew')
    done = take_up(out)
    assert (done, out.read_bytes()) == ({0, 1, 2}, kept)
    job = VerifyRun(file, out, done, 2)
    assert job.todo == 3
    run(job)
    assert sorted(read(out)) == list(range(6))
    assert VerifyRun(file, out, take_up(out), 2).todo == 0


def test_resume_refuses_a_file_that_is_not_ours(tmp_path: Path) -> None:
    out = tmp_path / "out"
    out.write_text("precious notes\n")
    with pytest.raises(ConfigurationError, match="line 1"):
        take_up(out)
    with pytest.raises(ConfigurationError, match="--overwrite"):
        prepare(out, resume=False, overwrite=False)
    assert out.read_text() == "precious notes\n"
    assert prepare(out, resume=False, overwrite=True) == set()
    assert out.read_text() == ""


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_leaves_whole_lines_and_resume_goes_on(tmp_path: Path, number: signal.Signals) -> None:
    file = write(tmp_path / "in", [{"answer": f"print({i})"} for i in range(50)])
    out = tmp_path / "out"

    def stop_at_20(request: VerifyRequest) -> None:
        if request.output_text == "print(20)":
            os.kill(os.getpid(), number)

    assert run(VerifyRun(file, out, set(), 2), EchoResources(before=stop_at_20)) is True
    done = take_up(out)
    assert 0 < len(done) < 50
    assert set(read(out)) == done
    assert run(VerifyRun(file, out, done, 2)) is False
    assert sorted(read(out)) == list(range(50))


def test_rows_in_flight_are_bounded(tmp_path: Path) -> None:
    """Memory stays put: a slow engine holds the reader back."""
    file = write(tmp_path / "in", [{"answer": "x"}] * 30)
    held = 0
    most = 0

    class Slow(EchoResources):
        async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult:
            nonlocal held, most
            held += 1
            most = max(most, held)
            await anyio.sleep(0.005)
            held -= 1
            return await super().verify(engine, request, caller)

    run(VerifyRun(file, tmp_path / "out", set(), 4), Slow())
    assert most == 4


def test_no_sandbox_at_all_is_said_once_before_any_row(tmp_path: Path) -> None:
    rows = tmp_path / "rows.jsonl"
    rows.write_text('{"answer": "print(1)", "verifier_metadata": {"unit_tests": {"inputs": [""], "outputs": ["1"]}}}\n')
    command = [sys.executable, "-m", "sandbox_gym", "verify", str(rows), "--out", str(tmp_path / "out.jsonl")]
    environment = {**os.environ, "DOCKER_HOST": f"unix://{tmp_path}/no.sock"}
    done = subprocess.run([*command, "--provider", "docker"], env=environment, capture_output=True, timeout=60)
    assert done.returncode == 2
    assert b"no sandbox for coding starts here" in done.stderr
    assert b"DOCKER_HOST" in done.stderr  # the remedy that `doctor` has
    assert b"Traceback" not in done.stderr
    assert (tmp_path / "out.jsonl").read_bytes() == b""
