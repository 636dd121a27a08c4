"""`images prefetch` and `swe validate` as programs: what one builds the other uses; what people read at 80 columns."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from rich.console import Console

from sandbox_gym.cli.swe import STORE, _show
from sandbox_gym.errors import ProviderDown
from sandbox_gym.swe.store_lock import take
from sandbox_gym.swe.validate import Validation
from tests.swe.instance import forget_images

ROWS = Path(__file__).parents[2] / "resources_servers" / "swe" / "data" / "example.jsonl"
ROW = json.loads(ROWS.read_text().splitlines()[0])


def ran(state: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    env = {**os.environ, "SANDBOX_GYM_STATE_DIR": str(state), "SANDBOX_GYM_BOXES": "2", "COLUMNS": "80"}
    argv = [sys.executable, "-m", "sandbox_gym", *arguments]
    return subprocess.run(argv, env=env, capture_output=True, text=True, check=False, timeout=800)


def built(state: Path) -> dict[str, str]:
    """Snapshots by the store that has them."""
    found = {}
    for index in state.glob("sessions/*/instances/instances.json"):
        for one in json.loads(index.read_text()):
            found[index.parts[-3]] = one["snapshot_id"]
    return found


@pytest.fixture
def rows(tmp_path: Path) -> Path:
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps(ROW) + "\n")
    return file


@pytest.mark.timeout(900)
@pytest.mark.parametrize("provider", ["local", "docker"])
def test_what_prefetch_built_validate_uses(tmp_path: Path, rows: Path, provider: str) -> None:
    state = tmp_path / "state"
    first = ran(state, "images", "prefetch", str(rows), "--provider", provider, "--json")
    assert first.returncode == 0, first.stdout + first.stderr
    before = built(state)
    assert list(before) == [STORE]
    second = ran(state, "swe", "validate", str(rows), "--provider", provider, "--runs", "1")
    assert second.returncode == 0, second.stdout + second.stderr
    assert "1 rows, 1 sound" in second.stdout
    assert built(state) == before
    if provider == "docker":
        forget_images(state)


@pytest.mark.timeout(600)
def test_a_row_that_can_not_be_built_is_told_of_so_that_it_can_be_read(tmp_path: Path) -> None:
    environment = {**ROW["environment"], "source": "inflection==999.9"}
    file = tmp_path / "rows.jsonl"
    file.write_text(json.dumps({**ROW, "environment": environment}) + "\n")
    done = ran(tmp_path / "state", "swe", "validate", str(file), "--provider", "local")
    assert done.returncode == 1, done.stderr
    assert max(len(line) for line in done.stdout.splitlines()) <= 80
    words = " ".join(done.stdout.split())
    assert "step download (fetch the sdist of inflection==999.9) failed: " in words
    assert "Could not find a version that satisfies the requirement inflection==999.9" in words


def test_reasons_have_the_whole_width() -> None:
    printed = io.StringIO()
    problem = "building a: step download failed: " + "a long word or two " * 12
    found = [
        Validation("owner__a-package-of-some-name-1.2.3", problem),
        Validation("b", gold_resolves=True, gold_s=123.45),
        Validation("c", gold_reason="1 of 3 FAIL_TO_PASS pass", weak=("tests/test_a.py::test_b",)),
    ]
    _show(Console(file=printed, width=80), found)
    lines = printed.getvalue().splitlines()
    assert max(map(len, lines)) <= 80
    assert " ".join(problem.split()) in " ".join(" ".join(lines).split())
    assert "c: its own patch does not resolve it: 1 of 3 FAIL_TO_PASS pass" in lines
    assert "c: weak: tests/test_a.py::test_b" in lines
    assert sum("owner__a-package" in line for line in lines) == 2


def test_a_store_that_a_server_has_is_not_built_into(tmp_path: Path, rows: Path) -> None:
    store = tmp_path / "state" / "sessions" / STORE / "instances"
    with take(store):
        done = ran(tmp_path / "state", "images", "prefetch", str(rows), "--provider", "local")
        assert done.returncode == 2
        assert f"in use by process {os.getpid()}" in " ".join(done.stderr.split())
        assert "--for" in done.stderr
    other = "import sys; from pathlib import Path; from sandbox_gym.swe.store_lock import take; take(Path(sys.argv[1]))"
    assert subprocess.run([sys.executable, "-c", other, str(store)], check=False, timeout=60).returncode == 0


def test_a_process_may_take_its_store_twice(tmp_path: Path) -> None:
    with take(tmp_path), take(tmp_path):
        assert (tmp_path / "owner").read_text() == str(os.getpid())


def test_another_process_is_refused_by_name(tmp_path: Path) -> None:
    code = (
        "import sys; from pathlib import Path; from sandbox_gym.swe.store_lock import take\n"
        "held = take(Path(sys.argv[1])); print('taken', flush=True); sys.stdin.read()"
    )
    argv = [sys.executable, "-c", code, str(tmp_path)]
    with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as other:
        assert other.stdout is not None
        assert other.stdout.readline() == "taken\n"
        with pytest.raises(ProviderDown, match=f"in use by process {other.pid}"):
            take(tmp_path)
        assert other.stdin is not None
        other.stdin.close()
        other.wait(timeout=30)
    take(tmp_path).close()
