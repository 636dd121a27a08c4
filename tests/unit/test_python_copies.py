"""Copies of this machine's interpreters: what they say of their place, copies of an earlier form, sources that went."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sandbox_gym.errors import ToolchainMissing
from sandbox_gym.sandbox.pythons import PLACE, ready

VERSION = "3.77"
DATA = f"lib/python{VERSION}/_sysconfigdata__linux_x86_64-linux-gnu.py"


@pytest.fixture
def prefix(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An installation of a version that no machine has, as pyenv lays it out; its program knows what it is asked."""
    root = tmp_path / "pyenv"
    made = root / "versions" / f"{VERSION}.1"
    monkeypatch.setenv("PYENV_ROOT", str(root))
    texts = {
        f"bin/python{VERSION}": f"#!/bin/sh\necho {made}\necho {VERSION}\n",
        f"bin/python{VERSION}-config": f"#!/bin/sh\necho -I{made}/include/python{VERSION}\n",
        f"include/python{VERSION}/Python.h": "",
        f"lib/python{VERSION}/site-packages/of_the_machine.py": "",
        DATA: f"build_time_vars = {{'INCLUDEPY': '{made}/include/python{VERSION}', 'LIBDIR': '{made}/lib',\n"
        f" 'prefix': '{made}', 'OTHER': '{made}0/lib'}}\n",
        f"lib/pkgconfig/python-{VERSION}.pc": f"prefix={made}\n",
    }
    for name, text in texts.items():
        file = made / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
        file.chmod(0o755)
    return made


def test_a_copy_names_the_headers_and_the_library_that_boxes_have(prefix: Path, tmp_path: Path) -> None:
    copy = ready(VERSION, tmp_path / "copies")
    place = f"{PLACE}/{VERSION}"
    told: dict[str, dict[str, str]] = {}
    exec((copy / DATA).read_text(), told)
    assert told["build_time_vars"] == {
        "INCLUDEPY": f"{place}/include/python{VERSION}",
        "LIBDIR": f"{place}/lib",
        "prefix": place,
        "OTHER": f"{prefix}0/lib",
    }
    assert (copy / f"lib/pkgconfig/python-{VERSION}.pc").read_text() == f"prefix={place}\n"
    assert f"-I{place}/include" in (copy / f"bin/python{VERSION}-config").read_text()
    assert (copy / f"include/python{VERSION}/Python.h").exists()
    assert not list(copy.glob("**/of_the_machine.py"))
    assert str(prefix) in (prefix / DATA).read_text()


def test_a_copy_of_an_earlier_form_is_made_anew(prefix: Path, tmp_path: Path) -> None:
    copy = ready(VERSION, tmp_path / "copies")
    (copy / DATA).write_text("of an earlier form")
    assert (ready(VERSION, tmp_path / "copies") / DATA).read_text() == "of an earlier form"  # it says that it is whole
    (copy / ".complete").write_text("")
    assert PLACE in (ready(VERSION, tmp_path / "copies") / DATA).read_text()
    assert [path.name for path in (tmp_path / "copies").iterdir()] == [VERSION]


def test_what_is_there_is_used_where_its_source_is_gone(prefix: Path, tmp_path: Path) -> None:
    copy = ready(VERSION, tmp_path / "copies")
    (copy / ".complete").write_text("")
    shutil.rmtree(prefix)
    assert ready(VERSION, tmp_path / "copies") == copy
    (copy / ".complete").unlink()
    with pytest.raises(ToolchainMissing, match="not installed"):
        ready(VERSION, tmp_path / "copies")
