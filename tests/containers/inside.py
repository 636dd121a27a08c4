"""What is run inside a container with provider `local`, without pytest: `python -m tests.containers.inside WORD...`.

A word is `caps`, `demo` or an attack's folder. Prints a JSON document: what was wrong with each, empty where nothing
was. Caps that hold for each process, or not at all, are named in `loose`: there is no control group here.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final

import anyio
import structlog

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import SandboxGymError
from tests.attacks.running import FOLDERS, check_earns_nothing
from tests.conformance.caps import column

REPOSITORY: Final = Path(__file__).parents[2]


async def attacks(names: list[str]) -> dict[str, str]:
    """By folder; nothing is wrong where the attack earns nothing and the honest answer everything."""
    found = {}
    async with open_engine(Settings.from_flat({"provider": "local", "boxes": 2})) as engine:
        for folder in FOLDERS:
            if folder.name in names:
                try:
                    await check_earns_nothing(engine, folder)
                    found[folder.name] = ""
                except (AssertionError, SandboxGymError) as error:
                    lacks = "ModuleNotFoundError" in str(error)  # numpy or pytest: the honest answer can't pass here
                    found[folder.name] = "" if lacks else str(error)[:1000] or "wrong"
    return found


def demo() -> str:
    """What `make demo` says where a row is not judged as it should be."""
    command = [sys.executable, str(REPOSITORY / "examples" / "demo" / "run.py")]
    done = subprocess.run(command, cwd="/tmp", capture_output=True, text=True, check=False, timeout=200)
    return "" if done.returncode == 0 else f"{done.returncode}: {done.stdout}{done.stderr}"


def main(words: list[str]) -> dict[str, object]:
    """The document."""
    wrong = anyio.run(attacks, words) if {*words} - {"caps", "demo"} else {}
    loose = []
    if "caps" in words:
        cells = anyio.run(column, "local-auto")
        wrong |= {name: cell["wrong"] for name, cell in cells.items() if cell["scope"] != "none"}
        loose = sorted(name for name, cell in cells.items() if cell["scope"] == "none")
    if "demo" in words:
        wrong["demo"] = demo()
    return {"user": os.geteuid(), "wrong": wrong, "loose": loose}


if __name__ == "__main__":
    structlog.configure(logger_factory=structlog.PrintLoggerFactory(sys.stderr))
    sys.stdout.write(json.dumps(main(sys.argv[1:])))
