"""Every ```bash block of the documentation is run, or says why not; those marked `run:` are run here."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Final

import httpx2 as httpx
import pytest
import yaml

from tests.docs.running import ADDRESS, block_id, environment, folder_for, served, shell, started
from tests.documented import ROOT, Block, blocks, commands, pages
from tests.load.servers import ServerProcess

KINDS: Final = {
    "shell": "in a folder with rows, a request and a journal",
    "serve": "each line a server, which answers and stops",
    "coding": "by a client of `serve coding`",
    "math": "by a client of `serve math`",
    "pool": "by a client of `serve pool`",
    "make": "with this environment in place of the one that make would install",
}
ALL: Final = blocks()
SERVERS: Final = {
    started(line): (block, line) for block in ALL if block.mark.startswith("run: serve") for line in block.commands
}
"""By the command: what several pages start is started once."""


def _marks(block: Block) -> list[pytest.MarkDecorator]:
    return [pytest.mark.extended] if block.mark.endswith(", extended") else []


def of(*kinds: str) -> list[object]:
    """The blocks of these kinds, as parameters."""
    return [
        pytest.param(block, id=block_id(block), marks=_marks(block))
        for block in ALL
        if block.mark.startswith("run: ") and block.mark.removeprefix("run: ").partition(",")[0] in kinds
    ]


@pytest.mark.parametrize("block", ALL, ids=block_id)
def test_each_is_run_or_says_why_not(block: Block) -> None:
    how, _, what = block.mark.partition(" by " if block.mark.startswith("run by ") else " ")
    match how:
        case "run:":
            assert what.removesuffix(", extended") in KINDS
        case "run":
            assert Path(block.page).name in (ROOT / what).read_text(), f"{what} does not run {block.page}"
        case "as":
            assert set(block.commands) <= set(commands(Path(what).name))
        case "not":
            assert what.startswith("run: ")
            assert len(what) > len("run: a reason")
        case _:
            pytest.fail(f"{block.page}:{block.line} has no mark: tests/documented.py says which there are")


READ: Final[dict[str, Callable[[str], object]]] = {
    "json": json.loads,
    "toml": tomllib.loads,
    "yaml": yaml.safe_load,
    "python": lambda text: compile(text, "a page", "exec"),
}
OTHERS: Final = [
    pytest.param(found[1], found[2], id=f"{path.name}-{found[1]}-{found.start()}")
    for path in pages()
    for found in re.finditer(r"^```(json|toml|yaml|python)\n(.*?)^```$", path.read_text(), re.M | re.S)
]


@pytest.mark.parametrize(("language", "text"), OTHERS)
def test_other_blocks_are_what_they_say(language: str, text: str) -> None:
    assert READ[language](text) is not None


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A reader's folder, with a journal of two verdicts."""
    made = folder_for(tmp_path_factory.mktemp("docs"))
    shell("sandbox-gym verify rows.jsonl --out first.jsonl --journal default", made)
    return made


@pytest.fixture(scope="module")
def address(folder: Path) -> Iterator[Callable[[str], str]]:
    """Where a server of a kind answers, as host and port; it is started when it is first asked for."""
    running: dict[str, ServerProcess] = {}

    def of_kind(kind: str) -> str:
        if kind not in running:
            (folder / kind).mkdir()
            running[kind] = served(f"sandbox-gym serve {kind}", folder / kind, {})
        return running[kind].url.removeprefix("http://")

    yield of_kind
    for server in running.values():
        server.stop()


@pytest.mark.parametrize("block", of("shell"))
def test_in_a_shell(block: Block, folder: Path) -> None:
    shell(block.text, folder, timeout_s=280)


@pytest.mark.parametrize("block", of("coding", "math", "pool"))
def test_against_a_server(block: Block, folder: Path, address: Callable[[str], str]) -> None:
    found = shell(ADDRESS.sub(address(block.mark.removeprefix("run: ")), block.text), folder)
    assert found.strip() or ">" in block.text
    if "/verify" in block.text:
        assert re.search(r'"reward": ?1\.0', found), found


@pytest.mark.parametrize(
    ("block", "line"), [pytest.param(*one, id=command, marks=_marks(one[0])) for command, one in SERVERS.items()]
)
def test_a_server(block: Block, line: str, folder: Path, tmp_path: Path, address: Callable[[str], str]) -> None:
    plain = re.fullmatch(r"sandbox-gym serve (coding|math|pool)", started(line))
    if plain:  # it runs already
        assert _health(f"http://{address(plain[1])}") == 200
        return
    for path in re.findall(r"--keys (\S+)", line):  # the page shows the file, too
        (found,) = re.findall(r"^```toml\n(.*?)^```$", (ROOT / block.page).read_text(), re.MULTILINE | re.DOTALL)
        (tmp_path / path).write_text(found)
        line = line.replace(path, str(tmp_path / path))
    if "sandbox.pool:8090" in line:  # another machine's
        line = line.replace("sandbox.pool:8090", address("pool"))
    with served(line, tmp_path, {}) as server:
        assert _health(server.url) == 200


def _health(url: str) -> int:
    return httpx.get(f"{url}/health", timeout=60).status_code


@pytest.mark.parametrize("block", of("make"))
def test_by_make(block: Block, tmp_path: Path) -> None:
    """Its environment is there already: make must not install it anew."""
    (line,) = block.commands
    made = Path(sys.executable).parents[1]
    command = ["make", "-C", str(ROOT), "-o", f"{made}/bin/sandbox-gym", f"VENV={made}", *line.split()[1:]]
    done = subprocess.run(command, env=environment(tmp_path), capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "no verdict" in done.stdout
