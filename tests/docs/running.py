"""How a documented block is run: by bash, in a folder of its own, this environment's commands first on the path."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from tests.documented import ROOT, Block
from tests.load.servers import ServerProcess

_FAIL_ON_ERRORS: Final = """set -euo pipefail
curl() { command curl --fail-with-body --show-error "$@"; }
"""
ADDRESS: Final = re.compile(r"\b(?:localhost|127\.0\.0\.1):80[89]0\b")
"""Where the documents' servers are; a block is given its own."""
SOLUTION: Final = "print(2 * int(input()))"
TESTS: Final = {"unit_tests": {"inputs": ["2", "21", "-3", "0"], "outputs": ["4", "42", "-6", "0"]}}


def folder_for(folder: Path) -> Path:
    """A folder as a reader has it: the checkout's examples and data, a file of rows, a request."""
    for name in ("examples", "resources_servers"):
        (folder / name).symlink_to(ROOT / name)
    metadata = {**TESTS, "canonical_solution": SOLUTION}
    rows = [{"question": "Double.", "answer": code, "verifier_metadata": metadata} for code in (SOLUTION, "print(4)")]
    (folder / "rows.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    text = {"type": "output_text", "text": f"```python\n{SOLUTION}\n```", "annotations": []}
    message = {"type": "message", "role": "assistant", "content": [text]}
    request = {"responses_create_params": {"input": ""}, "response": {"output": [message]}, "verifier_metadata": TESTS}
    (folder / "request.json").write_text(json.dumps(request))
    return folder


def environment(folder: Path) -> dict[str, str]:
    """A reader's, with state of its own and without settings of the test's."""
    outer = {name: value for name, value in os.environ.items() if not name.startswith("SANDBOX_GYM_")}
    path = f"{Path(sys.executable).parent}:{outer['PATH']}"
    return {**outer, "PATH": path, "NO_COLOR": "1", "SANDBOX_GYM_STATE_DIR": str(folder / "state")}


def shell(text: str, folder: Path, timeout_s: float = 120) -> str:
    """What the block prints. Raises AssertionError with all of it where a command of it fails."""
    done = subprocess.run(
        ["bash", "-c", _FAIL_ON_ERRORS + text.replace(".venv/bin/", "")],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    assert done.returncode == 0, f"{text}\n{done.stdout}\n{done.stderr}"
    return done.stdout


def started(line: str) -> str:
    """The command of a documented line that starts a server, but for its port; on loopback."""
    own = re.sub(r" --port \d+", "", line.partition(" #")[0])
    return own.replace("--host 0.0.0.0", "--host 127.0.0.1").strip()


def served(line: str, folder: Path, more: Mapping[str, str]) -> ServerProcess:
    """The server that a documented line starts, at a free port of loopback."""
    command = ["bash", "-c", f"exec env {started(line)} --port 0"]
    return ServerProcess("", folder, command=command, settings={**environment(folder), **more})


def block_id(block: Block) -> str:
    """For a test's name."""
    return f"{block.page}:{block.line}"
