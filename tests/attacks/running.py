"""An attack's verdict, by an engine. Needs no pytest, so that it also runs where only the package is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Final

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer, Verdict
from sandbox_gym.engine import Engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task

FOLDERS: Final = sorted(path.parent for path in Path(__file__).parent.glob("*/row.json"))


async def verdict(engine: Engine, folder: Path, name: str) -> Verdict:
    """Of `name`, payload or honest, over the folder's row."""
    row = json.loads((folder / "row.json").read_text())["verifier_metadata"]
    task = parse_task(row, limits=Settings().limits(), early_stop=True)
    (source,) = folder.glob(f"{name}.*")
    answer = Answer(f"```{task.language.name}\n{source.read_text()}\n```")
    return (await engine.verify(CodingVerifier(), task, answer)).verdict


async def check_earns_nothing(engine: Engine, folder: Path) -> None:
    """The attack earns nothing and the honest answer everything. Raises AssertionError."""
    hostile = await verdict(engine, folder, "payload")
    assert hostile.reward == 0.0, hostile
    assert hostile.attempts == 1, "an attack is the program's fault, never ours"
    assert hostile.failure_reason, hostile
    assert hostile.integrity == "isolated", hostile
    honest = await verdict(engine, folder, "honest")
    assert honest.reward == 1.0, honest
