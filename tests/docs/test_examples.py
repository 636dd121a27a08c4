"""The examples that readers copy or run: the reward function against a real server; the naive grader is fooled."""

from __future__ import annotations

import importlib.util
import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from types import ModuleType

import pytest

from tests.documented import ROOT
from tests.load.servers import ServerProcess

METADATA = {"unit_tests": {"inputs": ["2", "21"], "outputs": ["4", "42"]}}
BROKEN = {**METADATA, "checker": {"type": "program", "style": "kattis", "language": "python", "source": "1/0"}}
RIGHT, WRONG = "```python\nprint(2 * int(input()))\n```", "```python\nprint(4)\n```"


@pytest.fixture(scope="module")
def example() -> ModuleType:
    spec = importlib.util.spec_from_file_location("reward_function", ROOT / "examples" / "reward_function.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def server(example: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with ServerProcess("local", tmp_path_factory.mktemp("reward")) as running:
        example.__dict__["URL"] = running.url
        yield


@pytest.mark.usefixtures("server")
def test_rewards(example: ModuleType) -> None:
    row = {"verifier_metadata": METADATA}
    assert [example.reward(row, answer) for answer in (RIGHT, WRONG, "no code")] == [1.0, 0.0, 0.0]
    assert example.reward({"verifier_metadata": BROKEN}, RIGHT) is None
    assert example.compute_score("mine", RIGHT, json.dumps(METADATA)) == 1.0
    with pytest.raises(RuntimeError, match="no verdict"):
        example.compute_score("mine", RIGHT, json.dumps(BROKEN))


@pytest.mark.usefixtures("server")
def test_a_sample_without_a_verdict_gets_its_groups_mean(example: ModuleType) -> None:
    prompts = [[{"role": "user", "content": "Double."}]] * 3 + ["another"]
    answers = [[{"role": "assistant", "content": RIGHT}], WRONG, RIGHT, RIGHT]
    found = example.rewards(prompts, answers, verifier_metadata=[METADATA, METADATA, BROKEN, BROKEN], more="columns")
    assert found == [1.0, 0.0, 0.5, 0.0]


class Busy(BaseHTTPRequestHandler):
    """A server that is full twice, then answers; `asked` counts."""

    asked = 0

    def do_POST(self) -> None:
        Busy.asked += 1
        self.rfile.read(int(self.headers["Content-Length"]))
        body = json.dumps({"reward": 1.0, "mask_sample": False}).encode()
        self.send_response(200 if Busy.asked > 2 else (429, 503)[Busy.asked - 1])
        self.send_header("Retry-After", "0")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, format: str, *args: object) -> None:
        """Nothing."""


def test_it_waits_where_there_is_no_verdict_yet(example: ModuleType, monkeypatch: pytest.MonkeyPatch) -> None:
    with HTTPServer(("127.0.0.1", 0), Busy) as busy:
        thread = threading.Thread(target=busy.serve_forever)
        thread.start()
        monkeypatch.setattr(example, "URL", f"http://127.0.0.1:{busy.server_port}")
        assert example.reward({"verifier_metadata": METADATA}, RIGHT) == 1.0
        busy.shutdown()
        thread.join(10)
    assert Busy.asked == 3


def test_the_demos_rows_say_what_both_graders_give() -> None:
    rows = [json.loads(line) for line in Path(ROOT / "examples" / "demo" / "rows.jsonl").read_text().splitlines()]
    hacks = [row for row in rows if row["shows"].startswith("hack: ")]
    assert len(rows) == 8
    assert len(hacks) == 3
    assert {(row["here"], row["naive"]) for row in hacks} == {("0", "1")}
    assert {row["here"] for row in rows} == {"1", "0", "no verdict"}
