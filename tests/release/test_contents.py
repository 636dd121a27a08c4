"""A wheel has every module under its own name and nothing else, whichever tree it is built from; PyPI's page works."""

from __future__ import annotations

import re
import subprocess
import sys
import tarfile
import zipfile
from email.message import Message
from email.parser import BytesParser
from pathlib import Path
from typing import Any, Final

import pytest

from sandbox_gym import __version__
from tests.documented import ROOT, page
from tests.release.building import LINK, build, checkout
from tools.package_metadata import REPOSITORY, PackageMetadata

OURS: Final = ("sandbox_gym", "resources_servers", f"sandbox_gym-{__version__}.dist-info")


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("wheel")
    return build(checkout(folder / "tree", links=True), folder / "dist", "wheel")


@pytest.fixture(scope="module")
def metadata(wheel: Path) -> Message:
    with zipfile.ZipFile(wheel) as opened, opened.open(f"{OURS[2]}/METADATA") as file:
        return BytesParser().parse(file)


def names(wheel: Path) -> set[str]:
    with zipfile.ZipFile(wheel) as opened:
        return {name for name in opened.namelist() if not name.endswith("/")}


def tracked(folder: str) -> list[str]:
    """Git's files, and those that it does not ignore."""
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", folder]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [name for name in listed if (ROOT / name).is_file()]


def modules() -> set[str]:
    """Every module of the product, by where a wheel has it."""
    found = {path.relative_to(ROOT) for path in (ROOT / "sandbox_gym").rglob("*.py")}
    found = {path for path in found if not path.is_relative_to(LINK)}
    found |= {Path("sandbox_gym") / path.relative_to(ROOT) for path in (ROOT / "verifiers").rglob("*.py")}
    return {path.as_posix() for path in found}


def test_a_wheel_has_every_module_once_and_no_other_name(wheel: Path) -> None:
    found = names(wheel)
    assert {name.split("/")[0] for name in found} == set(OURS)  # never `verifiers`: PyPI has a package of that name
    assert {name for name in found if name.startswith("sandbox_gym/") and name.endswith(".py")} == modules()
    assert {"sandbox_gym/py.typed", f"{OURS[2]}/licenses/LICENSE"} <= found
    assert not [name for name in found if "__pycache__" in name or name.endswith(".pyc")]


def test_a_wheel_has_nemo_gyms_servers_whole(wheel: Path) -> None:
    listed = set(tracked("resources_servers"))
    assert {name for name in names(wheel) if name.startswith("resources_servers/")} == listed
    assert "resources_servers/__init__.py" not in listed  # NeMo Gym's own is a namespace package, too


def test_a_checkout_without_symbolic_links_builds_the_same(wheel: Path, tmp_path: Path) -> None:
    assert names(build(checkout(tmp_path / "tree", links=False), tmp_path / "dist", "wheel")) == names(wheel)


def test_a_checkout_without_symbolic_links_is_imported(tmp_path: Path) -> None:
    """As an editable installation does it: its root on the path."""
    tree = checkout(tmp_path / "tree", links=False)
    script = "import sandbox_gym.verifiers.swe as found, sandbox_gym.engine; print(found.__name__, found.__file__)"
    done = subprocess.run([sys.executable, "-c", script], cwd=tree, capture_output=True, text=True, timeout=60)
    assert done.stdout.split() == ["sandbox_gym.verifiers.swe", str(tree / "verifiers/swe/__init__.py")], done.stderr


@pytest.mark.parametrize("tree", ["what a wheel is made of", pytest.param("all", marks=pytest.mark.extended)])
def test_an_sdist_has_the_folder_and_not_the_link(tree: str, wheel: Path, tmp_path: Path) -> None:
    sdist = build(ROOT if tree == "all" else wheel.parents[1] / "tree", tmp_path / "sdist", "sdist")
    with tarfile.open(sdist) as opened:
        members = opened.getmembers()
        opened.extractall(tmp_path, filter="data")
    (top,) = {member.name.split("/")[0] for member in members}
    assert not [member.name for member in members if not member.isfile()]
    assert not [member.name for member in members if member.name.startswith(f"{top}/{LINK}")]
    wanted = ["LICENSE", "PKG-INFO", "verifiers/bounded.py"]
    for name in (*wanted, *(["docs/index.md", "tests/conftest.py"] if tree == "all" else [])):
        assert (tmp_path / top / name).is_file(), name
    assert names(build(tmp_path / top, tmp_path / "dist", "wheel")) == names(wheel)


def test_no_file_has_a_name_that_windows_refuses() -> None:
    found = tracked(".")
    assert [name for name in found if re.search(r'[<>:"\\|?*\x00-\x1f]|[ .](?:/|$)', name)] == []
    assert [name for name in found if re.search(r"(?:^|/)(?:con|prn|aux|nul|com\d|lpt\d)(?:\.|/|$)", name, re.I)] == []
    assert len({name.lower() for name in found}) == len(set(found))


def test_metadata(metadata: Message) -> None:
    assert (metadata["License-Expression"], metadata["License-File"]) == ("Apache-2.0", "LICENSE")
    assert metadata["Requires-Python"] == ">=3.11"
    assert metadata["Author"]
    urls = dict(line.split(", ", 1) for line in metadata.get_all("Project-URL", []))
    assert set(urls) == {"Homepage", "Documentation", "Source", "Issues", "Changelog"}
    assert all(url.startswith("https://") for url in urls.values())
    assert urls["Changelog"].endswith(f"/blob/v{__version__}/CHANGELOG.md")
    assert (ROOT / "LICENSE").read_text().lstrip().startswith("Apache License\n")


def test_the_page_on_pypi_has_addresses_in_its_links(metadata: Message) -> None:
    text = str(metadata.get_payload())
    links = re.findall(r"(!?)\[[^\]]*\]\(([^)\s]+)\)", text)
    assert len(links) == len(re.findall(r"\]\(", (ROOT / "README.md").read_text())) > 20
    for picture, target in links:
        kind, path = re.fullmatch(
            rf"{REPOSITORY}/(blob|raw)/v{re.escape(__version__)}/([^#]+)(?:#.*)?", target
        ).groups()  # type: ignore[union-attr]
        assert kind == ("raw" if picture else "blob")
        assert (ROOT / path).is_file(), path


def test_a_fork_names_its_own_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SANDBOX_GYM_REPOSITORY", "https://git.example.com/team/fork/")
    found: dict[str, Any] = {}
    PackageMetadata(str(ROOT), {}).update(found)
    assert found["urls"]["Source"] == "https://git.example.com/team/fork"
    text = found["readme"]["text"]
    assert f"(https://git.example.com/team/fork/blob/v{__version__}/docs/start/install.md)" in text
    assert REPOSITORY not in text


def test_every_extra_says_what_it_is_for(metadata: Message) -> None:
    table = re.search(r"\| extra \| for \|\n(.*?)\n\n", page("install.md").read_text(), re.DOTALL)
    assert table is not None
    listed = {name for line in table[1].splitlines() for name in re.findall(r"`([a-z0-9]+)`", line.split("|")[1])}
    extras = set(metadata.get_all("Provides-Extra", []))
    assert listed == extras - {"dev", "docs", "bench"}  # a contributor's
    sources = [path for name in ("sandbox_gym", "verifiers") for path in (ROOT / name).rglob("*.py")]
    named = {
        extra
        for path in (*sources, *(ROOT / "resources_servers").glob("*/requirements.txt"))
        for found in re.findall(r"sandbox-gym\[([a-z0-9,]+)\]", path.read_text("utf-8", "replace"))
        for extra in found.split(",")
    }
    assert named <= extras
