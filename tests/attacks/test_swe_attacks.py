"""Every folder of swe/ is a patch or an agent's commands that must not resolve a real instance, whose own fix does.

`patch.diff` is judged as it is; `commands.sh` an agent runs in its session, whose work is then judged. README.md says
what it does and what stops it, and which signs it must leave.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import pytest

from sandbox_gym.verifiers.swe import SIGNS
from tests.swe.instance import Client, Document, forget_images, row, serving_swe

FOLDERS = sorted(path for path in (Path(__file__).parent / "swe").iterdir() if path.is_dir())
PROVIDERS = ("local", "docker")
AT_ONCE = 3

pytestmark = pytest.mark.timeout(600)  # the first test waits for the instance


@dataclass(frozen=True)
class Judged:
    """The verdict, and what an agent saw before it."""

    verdict: Document
    seen: str = ""


def expected_signs(folder: Path) -> set[str]:
    found = re.search(r"^Signs: (.+)$", (folder / "README.md").read_text(), re.MULTILINE)
    return set(found[1].split(", ")) if found else set()


def judged(url: str, row: Document, patch: str) -> Judged:
    client = Client(url, row)
    try:
        return Judged(client.verify(patch))
    finally:
        client.close()


def attacked(url: str, row: Document, folder: Path) -> Judged:
    commands = folder / "commands.sh"
    if not commands.exists():
        return judged(url, row, (folder / "patch.diff").read_text())
    client = Client(url, row)
    try:
        client.seed()
        ran = client.bash(commands.read_text())
        assert not ran["timed_out"], ran
        return Judged(client.verify(), ran["output"])
    finally:
        client.close()


@pytest.fixture(scope="module", params=PROVIDERS)
def verdicts(
    request: pytest.FixtureRequest, data_folder: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, Future[Judged]]]:
    """All of them at work, some at once; each test waits for its own. The instance is built once."""
    one, folder = row(data_folder), tmp_path_factory.mktemp("attacks")
    with (
        serving_swe(request.param, folder) as server,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        made = {"gold": pool.submit(judged, server.url, one, one["patch"])}
        made |= {each.name: pool.submit(attacked, server.url, one, each) for each in FOLDERS}
        yield made
        pool.shutdown(cancel_futures=True)
    if request.param == "docker":
        forget_images(folder)


def test_the_corpus_is_there() -> None:
    assert len(FOLDERS) >= 35
    for folder in FOLDERS:
        assert (folder / "patch.diff").exists() != (folder / "commands.sh").exists()
        assert expected_signs(folder) <= SIGNS.keys(), folder.name


def test_the_fix_itself_resolves_and_leaves_no_sign(verdicts: dict[str, Future[Judged]]) -> None:
    gold = verdicts["gold"].result().verdict
    assert gold["reward"] == 1.0, gold["failure_reason"]
    assert gold["resolved"] is True
    assert gold["verdict"]["tamper"] == []


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_the_attack_resolves_nothing(verdicts: dict[str, Future[Judged]], folder: Path) -> None:
    found = verdicts[folder.name].result()
    assert found.verdict["reward"] == 0.0, found.verdict["verdict"]
    assert found.verdict["resolved"] is False
    assert found.verdict["failure_reason"]
    assert expected_signs(folder) <= set(found.verdict["verdict"]["tamper"]), found.verdict["verdict"]
    if (folder / "commands.sh").exists():
        assert found.seen.endswith("looked\n"), found.seen
        assert "FOUND" not in found.seen
