"""`export --rows` and `serve --dataset`: rows for NeMo's tools, and the server that knows them by number."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path

import httpx2 as httpx
import pytest

from sandbox_gym.server.protocol.wire import Document
from tests.load.servers import free_port

ROWS: list[Document] = [
    {
        "responses_create_params": {
            "input": [{"role": "user", "content": [{"type": "input_text", "text": "Double "}, {"text": "it."}]}],
            "instructions": "Be brief.",
            "tools": [{"type": "function", "name": "run_code"}],
        },
        "verifier_metadata": {"unit_tests": {"inputs": ["2"], "outputs": ["4"]}},
        "response": {"output": []},
        "uuid": "mine",
    },
    {"question": "6 * 7?", "expected_answer": 42, "agent_ref": {"type": "responses_api_agents", "name": "own"}},
]


def command(*arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "sandbox_gym", *map(str, arguments)],
        env={**os.environ, "NO_COLOR": "1", **environment},
        capture_output=True,
        text=True,
        timeout=60,
    )


def written(folder: Path, rows: list[Document], more: str = "") -> Path:
    path = folder / "rows.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows) + more)
    return path


def exported(path: Path, out: Path, *options: str) -> list[Document]:
    done = command("export", "--rows", path, "--out", out, *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in out.read_text().splitlines()]


def test_rows_in_the_form_of_both(tmp_path: Path) -> None:
    coding, math = exported(written(tmp_path, ROWS), tmp_path / "out")
    assert coding["responses_create_params"] == {
        "input": [{"role": "user", "content": "Double it."}],
        "instructions": "Be brief.",
        "tools": [{"type": "function", "name": "run_code"}],
    }
    assert (coding["uuid"], coding["problem_idx"], "response" in coding) == ("mine", 0, False)
    assert coding["agent_ref"] == {"type": "responses_api_agents", "name": "coding_simple_agent"}
    assert math["responses_create_params"] == {"input": [{"role": "user", "content": "6 * 7?"}]}
    assert math["verifier_metadata"] == {"question": "6 * 7?", "expected_answer": 42}
    assert (math["uuid"], math["problem_idx"], math["expected_answer"]) == ("rows-1", 1, 42)
    assert math["agent_ref"] == {"type": "responses_api_agents", "name": "own"}


def test_exported_again_it_is_the_same(tmp_path: Path) -> None:
    first = exported(written(tmp_path, ROWS), tmp_path / "first", "--agent", "mine")
    assert first[0]["agent_ref"] == {"type": "responses_api_agents", "name": "mine"}
    assert exported(tmp_path / "first", tmp_path / "second") == first


def test_rows_that_are_none_are_left_out_and_told(tmp_path: Path) -> None:
    more = '{"verifier_metadata": {}}\n[]\n{"question": "?", "expected": "1"}\n'
    done = command("export", "--rows", written(tmp_path, ROWS, more), "--out", tmp_path / "out")
    assert done.returncode == 1
    assert len((tmp_path / "out").read_text().splitlines()) == 2
    assert [line[:17] for line in done.stderr.splitlines()] == [f"left out: line {line}:" for line in (3, 4, 5)] + [
        "2 rows"
    ]
    assert command("export", "--rows", tmp_path / "rows.jsonl", "--reward", "1").returncode == 2


def test_a_dataset_that_is_none_is_told_before_the_bind(tmp_path: Path) -> None:
    done = command("serve", "coding", "--provider", "fake", "--dataset", written(tmp_path, [], "{}\n"))
    assert (done.returncode, "line 1" in done.stderr) == (2, True)


@pytest.mark.timeout(90)
def test_the_port_may_come_by_PORT(tmp_path: Path) -> None:
    """As NeMo Evaluator starts a server; and a seed of the first file's row is one of the exported file's."""
    path, port = written(tmp_path, ROWS[:1]), free_port()
    exported(path, tmp_path / "out.jsonl")
    seeds = []
    for dataset in (path, tmp_path / "out.jsonl"):
        environment = {**os.environ, "PORT": str(port), "SANDBOX_GYM_STATE_DIR": str(tmp_path / "state")}
        called = [
            sys.executable,
            "-m",
            "sandbox_gym",
            "serve",
            "coding",
            "--provider",
            "fake",
            "--dataset",
            str(dataset),
        ]
        with (tmp_path / "log").open("wb") as log:
            process = subprocess.Popen(called, env=environment, stdout=log, stderr=log)
        try:
            seeds.append(_seed(f"http://127.0.0.1:{port}", process))
        finally:
            process.terminate()
            process.wait(30)
    assert seeds[0]["sandbox_gym_task"] == seeds[1]["sandbox_gym_task"]


def _seed(url: str, process: subprocess.Popen[bytes]) -> Document:
    ends_at = time.monotonic() + 30
    while True:
        try:
            assert httpx.get(f"{url}/dataset_size").json() == {"size": 1}
            metadata = httpx.post(f"{url}/seed_session", json={"idx": 0}).json()["metadata"]
            assert isinstance(metadata, dict)
            return metadata
        except httpx.TransportError:
            assert process.poll() is None
            assert time.monotonic() < ends_at
            time.sleep(0.1)
