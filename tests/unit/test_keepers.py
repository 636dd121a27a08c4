"""Whose a snapshot's image is: certain that its folder is gone, or nothing is said."""

from __future__ import annotations

import base64
import itertools
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from sandbox_gym.sandbox.cleanup.owner import Owners
from sandbox_gym.sandbox.containers.keepers import FOLDER_LABEL, keeper_of, kept_in, marks, why_gone

MAKE = """
import json, sys
from pathlib import Path
from sandbox_gym.sandbox.containers.keepers import keeper_of, marks
print(json.dumps(marks(Path(sys.argv[1]), keeper_of(Path(sys.argv[1])))))
"""


def made_by_another(folder: Path) -> dict[str, str]:
    """The labels that a process gave which has ended."""
    done = subprocess.run([sys.executable, "-c", MAKE, folder], capture_output=True, text=True, check=True, timeout=60)
    labels: dict[str, str] = json.loads(done.stdout)
    return labels


def remade(folder: Path) -> None:
    shutil.rmtree(folder)
    keeper_of(folder)


FOLDERS: dict[str, Callable[[Path], object]] = {
    "there": lambda folder: None,
    "gone": shutil.rmtree,
    "made anew": remade,
}
LABELS = {"whole": None, "other mounts": (1, 1), "other disk": (2, -1), "other machine": (0, "0" * 32 + "-1-1-1")}


@pytest.mark.parametrize(
    ("maker", "folder", "label"), list(itertools.product(("dead", "alive"), FOLDERS, [*LABELS, "none", "garbage"]))
)
def test_a_folder_is_gone_only_for_who_can_know(tmp_path: Path, maker: str, folder: str, label: str) -> None:
    place = tmp_path / "state" / "globals"
    labels = made_by_another(place) if maker == "dead" else marks(place, keeper_of(place))
    if label == "none":
        del labels[FOLDER_LABEL]
    elif label == "garbage":
        labels[FOLDER_LABEL] = "W10="
    elif LABELS[label] is not None:
        where = json.loads(base64.b64decode(labels[FOLDER_LABEL]))
        at, value = LABELS[label] or (0, 0)
        where[at] = value
        labels[FOLDER_LABEL] = base64.b64encode(json.dumps(where).encode()).decode()
    FOLDERS[folder](place)
    gone = maker == "dead" and folder != "there" and label == "whole"
    assert bool(why_gone(Owners(), labels)) == gone
    assert (kept_in(labels) == place) == (folder == "there" and label not in ("none", "garbage"))


def test_each_disk_has_a_keeper_of_its_own_and_keeps_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two servers in containers see one path."""
    place, seen = tmp_path / "globals", set()
    for disk in ("one", "two"):
        shutil.rmtree(place, ignore_errors=True)
        assert keeper_of(place) == keeper_of(place)
        seen.add(keeper_of(place))
        shutil.copytree(place, tmp_path / disk)
    assert len(seen) == 2
    assert keeper_of(tmp_path / "one") not in seen
    shutil.rmtree(place)
    shutil.copytree(tmp_path / "one", place)  # as a backup that is put back
    assert keeper_of(place) in seen
