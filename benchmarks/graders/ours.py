"""sandbox_gym's own verdict: the engine in-process over the local provider, as a server has it.

Run as `python -m benchmarks.graders.ours FOLDER NAME`; the row is the attack's own, untranslated.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import anyio

from benchmarks.graders.corpus import Attack
from benchmarks.graders.verdict import ACCEPTED, CRASHED, REJECTED
from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import SandboxGymError
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task


async def verdict(folder: Path, name: str) -> Verdict:
    row = json.loads((folder / "row.json").read_text())["verifier_metadata"]
    settings = Settings(provider="local", boxes=2)
    task = parse_task(row, limits=settings.limits(), early_stop=True)
    code = Attack(folder).source(name).read_text()
    async with open_engine(settings) as engine:
        return (await engine.verify(CodingVerifier(), task, Answer(f"```{task.language.name}\n{code}\n```"))).verdict


def main() -> int:
    """A reward of one is an acceptance, zero a rejection; no verdict is what a crash is to the peers."""
    try:
        found = anyio.run(verdict, Path(sys.argv[1]), sys.argv[2])
    except SandboxGymError as error:
        sys.stderr.write(f"{type(error).__name__}: {error}\n")
        return CRASHED
    return ACCEPTED if found.reward == 1.0 else REJECTED


if __name__ == "__main__":
    sys.exit(main())
