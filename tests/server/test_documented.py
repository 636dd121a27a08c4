"""The commands of docs/guides/trainer/from-sandboxfusion.md, run as they stand but for the port."""

from __future__ import annotations

import base64
import json
import shlex
import subprocess
from pathlib import Path

import pytest

from tests.documented import command, commands
from tests.load.servers import ServerProcess

PAGE = "from-sandboxfusion.md"


@pytest.mark.timeout(120)
def test_sandboxfusions_page(tmp_path: Path) -> None:
    assert command(PAGE, "sandbox-gym serve", {}) == ["sandbox-gym", "serve", "coding", "--port", "8080"]
    curls = [line for line in commands(PAGE) if line.startswith("curl")]
    with ServerProcess("local", tmp_path) as server:
        answers = []
        for line in curls:
            assert "http://127.0.0.1:8080" in line
            called = shlex.split(line.replace("http://127.0.0.1:8080", server.url))
            done = subprocess.run(called, capture_output=True, check=True, timeout=60)
            answers.append(json.loads(done.stdout))
    ran, fetched, submitted = answers
    assert (ran["status"], ran["run_result"]["stdout"]) == ("Success", "42\n")
    assert base64.b64decode(fetched["files"]["out.txt"]) == b"hi"
    assert submitted["accepted"] is True
