"""The structure's figures: this tree is within its limits, or no worse than is known; and seeded faults are counted."""

from __future__ import annotations

import json
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from anyio import create_task_group
from anyio.abc import UNIXSocketStream

from sandbox_gym.guest.protocol import frames
from tools import figures
from tools.follow import Followed, check_probes
from tools.house import measured
from tools.imports import circles, import_graph, room_circles
from tools.limits import KNOWN, LIMITS, PATH_KNOWN, PATH_LIMITS, Known
from tools.paths import WORDS, compared, held_paths, path_document
from tools.source import ROOT, Module, files_of_tests, product
from tools.table import Held, lines_of
from tools.trace import Function, Probe, own_function, recording, watching

Write = Callable[[Mapping[str, str]], list[Module]]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Makes a small product of files by path, and reads it."""

    def made(files: Mapping[str, str]) -> list[Module]:
        for path, text in files.items():
            (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
            (tmp_path / path).write_text(text)
        return list(product(tmp_path))

    return made


def test_this_tree_is_no_worse_than_is_known() -> None:
    held = measured(product(), files_of_tests())
    assert not [figure.name for figure in held if figure.standing == "over"], "\n".join(lines_of(held))
    assert {figure.name for figure in held if figure.limit is not None} == LIMITS.keys()


def test_what_is_known_has_a_limit_and_a_reason() -> None:
    assert LIMITS.keys() >= KNOWN.keys()
    assert {(kind, name) for kind, limits in PATH_LIMITS.items() for name in limits} >= PATH_KNOWN.keys()
    for known in (*KNOWN.values(), *PATH_KNOWN.values()):
        assert len(known.reason.split()) > 3


def test_functions_that_are_counted_by_name_are_there() -> None:
    check_probes()


def test_the_symlink_is_not_read_twice_and_names_are_those_of_imports() -> None:
    by_path = {module.path: module.name for module in product()}
    assert by_path["verifiers/__init__.py"] == "sandbox_gym.verifiers"
    assert by_path["sandbox_gym/__init__.py"] == "sandbox_gym"
    assert not [path for path in by_path if path.startswith("sandbox_gym/verifiers/")]


def test_sizes(write: Write) -> None:
    long = "def f():\n    '''Says.'''\n" + "    x = 1\n" * 3 + "\n\n@cache\ndef g(): return 1\n"
    modules = write({"sandbox_gym/a.py": long, "sandbox_gym/__init__.py": "", "verifiers/math/b.py": "x = 1\n"})
    assert {one.what: one.size for one in figures.module_lines(modules)} == {
        "sandbox_gym/__init__.py": 0,
        "sandbox_gym/a.py": 9,
        "verifiers/math/b.py": 1,
    }
    assert {one.what: one.size for one in figures.folder_files(modules)} == {"sandbox_gym": 1, "verifiers/math": 1}
    assert [(one.what, one.size) for one in figures.function_lines(modules)] == [
        ("sandbox_gym/a.py:1 f", 5),
        ("sandbox_gym/a.py:8 g", 1),
    ]
    assert [one.statements for module in modules for one in module.definitions] == [3, 1]
    assert figures.function_median(modules) == 3


def test_methods_of_protocols_are_counted_without_those_of_their_parts(write: Write) -> None:
    methods = "".join(f"    def m{number}(self): ...\n" for number in range(4))
    text = f"class Small(Protocol):\n{methods}class Large(Small, typing.Protocol[T]):\n    async def other(self): ...\n"
    modules = write({"sandbox_gym/a.py": text + "class Plain(Small):\n    def n(self): ...\n"})
    assert [(one.what, one.size) for one in figures.protocol_methods(modules)] == [
        ("sandbox_gym/a.py:1 Small", 4),
        ("sandbox_gym/a.py:6 Large", 1),
    ]


def test_checks_of_abilities(write: Write) -> None:
    text = "isinstance(x, SupportsA)\nisinstance(x, (int, api.SupportsB))\nisinstance(x, Own)\nisinstance(x, int)\n"
    modules = write({"sandbox_gym/a.py": text + "class Own(Protocol): ...\n"})
    assert [one.what.partition(" ")[0] for one in figures.supports_checks(modules)] == [
        "sandbox_gym/a.py:1",
        "sandbox_gym/a.py:2",
    ]
    assert [one.what for one in figures.protocol_checks(modules)] == ["sandbox_gym/a.py:3 isinstance(x, Own)"]


@pytest.mark.parametrize(
    "text",
    [
        "if provider.name == 'local': ...",
        "while 'docker' != name: ...",
        "x = 1 if name in ('local', 'e2b') else 2",
        "ok = name not in frozenset({'fake'})",
        "match name:\n    case 'e2b': ...",
        "maker = {'local': f, 'docker': g}[name]",
    ],
)
def test_branches_on_a_providers_name(write: Write, text: str) -> None:
    modules = write({"sandbox_gym/any/a.py": text, "sandbox_gym/sandbox/registry.py": text})
    assert [one.what.partition(":")[0] for one in figures.provider_branches(modules)] == ["sandbox_gym/any/a.py"]


@pytest.mark.parametrize("text", ["name = 'local'", "f(provider='docker')", "x = {'local': 1}", "kind == 'overlay'"])
def test_what_is_no_branch_on_a_providers_name(write: Write, text: str) -> None:
    assert not figures.provider_branches(write({"sandbox_gym/a.py": text}))


def test_import_circles(write: Write) -> None:
    modules = write(
        {
            "sandbox_gym/one.py": "from sandbox_gym import two\n",
            "sandbox_gym/two.py": "try:\n    import sandbox_gym.room.three\nexcept ImportError: ...\n",
            "sandbox_gym/room/__init__.py": "",
            "sandbox_gym/room/three.py": "def f():\n    from sandbox_gym.one import x\n",
            "sandbox_gym/room/four.py": "if TYPE_CHECKING:\n    from .five import x\n",
            "sandbox_gym/room/five.py": "from . import four\n",
        }
    )
    assert circles(import_graph(modules)) == []
    assert circles(import_graph(modules, deferred=True)) == [
        ["sandbox_gym.one", "sandbox_gym.room.three", "sandbox_gym.two"]
    ]


def test_import_circles_of_rooms_need_none_of_modules(write: Write) -> None:
    modules = write(
        {
            "sandbox_gym/a/x.py": "import sandbox_gym.b.x\n",
            "sandbox_gym/b/x.py": "",
            "sandbox_gym/b/y.py": "from sandbox_gym.a.y import z\n",
            "sandbox_gym/a/y.py": "",
        }
    )
    graph = import_graph(modules)
    assert (circles(graph), room_circles(graph)) == ([], [["sandbox_gym.a", "sandbox_gym.b"]])


@pytest.mark.parametrize(
    ("figure", "standing", "slack"),
    [
        (Held("f", 5, 5), "ok", False),
        (Held("f", 6, 5), "over", False),
        (Held("f", 6, 5, Known(6, "r")), "known", False),
        (Held("f", 7, 5, Known(6, "r")), "over", False),
        (Held("f", 4, 5, Known(6, "r")), "ok", True),
        (Held("f", 9, 5, Known(9, "r", excesses=1), ("a", "b"), sized=True), "over", False),
        (Held("f", 9, 5, Known(9, "r", excesses=3), ("a", "b"), sized=True), "known", True),
        (Held("f", 9), "ok", False),
    ],
)
def test_a_ratchet_allows_no_more_than_is_known(figure: Held, standing: str, slack: bool) -> None:
    assert (figure.standing, figure.slack) == (standing, slack)
    assert ("better than KNOWN" in lines_of([figure])[-1]) is slack


def test_the_table_shows_what_is_over() -> None:
    text = lines_of([Held("lines", 9, 5, None, ("    9  a.py",), sized=True), Held("other", 1, 5)])
    assert text[1].split() == ["lines", "5", "9", "1", "over"]
    assert text[-1] == "      9  a.py"


@pytest.mark.anyio
async def test_a_recording_has_what_a_task_calls_and_no_more() -> None:
    near, far = socket.socketpair()
    async with await UNIXSocketStream.from_socket(near) as ours, await UNIXSocketStream.from_socket(far) as theirs:
        with watching():
            frames.head({}, 0)
            with recording({"packs": Probe("sandbox_gym.guest", ("pack",))}) as made:
                for _ in range(2):
                    await ours.send(frames.pack({}, b"one"))
                await theirs.send(b"reply")
                await ours.receive()
                async with create_task_group() as tasks:
                    tasks.start_soon(ours.send, frames.pack({}))
            frames.FrameReader()
    assert [one.name for one in made.functions.values()] == ["pack", "head"]
    assert {one.module for one in made.functions.values()} == {"sandbox_gym.guest.protocol.frames"}
    assert len(made.calls["packs"]) == 3
    assert (made.writes, made.round_trips(), made.round_trips(frozenset({id(ours)}))) == (4, 3, 2)


def defined(module: str, text: str, **names: object) -> dict[str, Any]:
    """What a module of the product with this text would define."""
    scope: dict[str, Any] = dict(names)
    exec(compile(text, str(ROOT / "sandbox_gym" / f"{module}.py"), "exec"), scope)
    return scope


@pytest.mark.anyio
async def test_on_the_path_is_what_reaches_the_sandbox_and_what_that_calls_in_other_modules() -> None:
    side = defined("side", "def deep(): pass\ndef step(): deep()\ndef accessor(): pass\ndef unseen(): pass")
    text = "async def talk(stream): await stream.send(b'x')\ndef own(): pass\n"
    text += "async def task(stream): own(); step(); accessor(); await talk(stream)\n"
    text += "async def route(stream, group): unseen()\n"
    far_text = (
        "async def route(stream, group):\n  async with group() as tasks: tasks.start_soon(task, stream)\nlambda: 1"
    )
    near = defined("near", text, **side)
    far = defined("far", far_text, **near)
    ours, theirs = socket.socketpair()
    async with await UNIXSocketStream.from_socket(ours) as stream:
        with watching(), recording({}) as made:
            await far["route"](stream, create_task_group)
    theirs.close()
    names: dict[str, list[str]] = {
        str(function).partition(":")[0].rpartition(".")[2]: [] for function in made.functions.values()
    }
    for function in made.path(lambda function: function.name == "accessor"):
        names[function.module.rpartition(".")[2]].append(function.name)
    assert names == {"far": ["route"], "near": ["task", "talk"], "side": ["step"]}
    assert len(made.functions) == 7


def test_only_own_functions_with_a_name_count() -> None:
    assert own_function(json.loads.__code__) is None
    assert own_function((lambda: 1).__code__) is None
    found = own_function(frames.pack.__code__)
    assert found == Function("sandbox_gym.guest.protocol.frames", "pack", frames.pack.__code__.co_firstlineno)
    text = (ROOT / "sandbox_gym/guest/protocol/frames.py").read_text()
    assert text.splitlines()[found.line - 1].startswith("def pack(")


def followed(*names: str, modules: int = 1, **counts: int) -> Followed:
    path = tuple(Function(f"m{number % modules}", name, number) for number, name in enumerate(names))
    zero = dict.fromkeys(("round_trips", "writes", "session_round_trips", "row_parses", "report_parses", "listings"), 0)
    return Followed(path=path, functions=path, **{**zero, **counts})


def test_paths_are_held_and_compared() -> None:
    before, after = {"swe": followed("a", "b", "c", row_parses=2)}, {"swe": followed("a", "d", "c", row_parses=1)}
    assert WORDS.keys() == before["swe"].figures().keys()
    limits = {"swe": {"row_parses": 1}, "coding": {"path_functions": 1}}
    assert [one.standing for one in held_paths(before, limits, {})] == ["over"]
    assert [one.standing for one in held_paths(before, limits, {("swe", "row_parses"): Known(2, "r")})] == ["known"]
    assert [one.standing for one in held_paths(after, limits, {})] == ["ok"]
    lines = compared(path_document(before), path_document(after))
    assert "       2      1  parses of the row" in lines
    assert [line.split()[0] for line in lines if line.split()[:1] in (["-"], ["+"])] == ["-", "+"]
