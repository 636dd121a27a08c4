"""The guest as one piece of source text, for any box: its modules are made in memory, nothing is installed.

Which modules and in which order follows from their imports.
"""

from __future__ import annotations

import json
import re
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Final

_MAIN: Final = "main"
_DRIVER: Final = "session.driver"
"""A session's driver, which needs no supervisor where the sandbox is not ours."""
_SESSIONS: Final = (_DRIVER, "envd.daemon")
"""What guest/main.py imports in boxes that hold sessions: compiled there alone, before their zygote is forked."""

_IMPORT: Final = re.compile(r"^from (\.+)([\w.]*) import (\([^)]*\)|.*)$", re.MULTILINE)
_NAME: Final = re.compile(r"\w+")

BOOTSTRAP: Final = (
    "import os,sys\n"
    "i,o=int(sys.argv[1]),int(sys.argv[2])\n"
    "def r(n):\n"
    " b=b''\n"
    " while len(b)<n:\n"
    "  c=os.read(i,n-len(b))\n"
    "  if not c:os._exit(1)\n"
    "  b+=c\n"
    " return b\n"
    "exec(compile(r(int.from_bytes(r(4),'big')),'<guest>','exec'),{'I':i,'O':o})\n"
)
"""What a box is started with: `python3 -I -c BOOTSTRAP <read fd> <write fd>`. It reads the bundle from its channel."""

_SPEC: Final = {
    "env": {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": "/tmp", "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    },
    "main": "main.py",
    "recursion_limit": 0,
}  # fmt: skip
"""What a supervisor would say of a session's run."""


_COMPILER: Final = (
    "import base64, json, marshal, sys\n"
    "for name, text in json.load(sys.stdin).items():\n"
    " print(base64.b64encode(marshal.dumps(compile(text, '<guest/' + name + '>', 'exec'))).decode())"
)
_COMPILER_S: Final = 60.0


@cache
def source(name: str) -> str:
    """The text of a guest's module, such as "runs.supervisor"."""
    *rooms, leaf = name.split(".")
    return files("sandbox_gym.guest").joinpath(*rooms, f"{leaf}.py").read_text(encoding="utf-8")


def _imports(name: str) -> tuple[str, ...]:
    """The guest's modules that a module of it imports when it is loaded; what a function imports is not among them."""
    package = name.split(".")[:-1]
    found: list[str] = []
    for dots, module, names in _IMPORT.findall(source(name)):
        path = ".".join([*package[: len(package) + 1 - len(dots)], *([module] if module else [])])
        below = [".".join(filter(None, (path, one))) for one in _NAME.findall(names)]
        found += [path] if _is_module(path) else below
    return tuple(found)


def _is_module(name: str) -> bool:
    *rooms, leaf = name.split(".")
    return bool(leaf) and files("sandbox_gym.guest").joinpath(*rooms, f"{leaf}.py").is_file()


def _in_order(roots: Sequence[str]) -> list[str]:
    """These modules and all that they import, each after what it imports."""
    ordered: dict[str, None] = {}

    def add(name: str) -> None:
        if name not in ordered:
            for imported in _imports(name):
                add(imported)
            ordered[name] = None

    for root in roots:
        add(root)
    return list(ordered)


def _modules(names: Sequence[str], rooms: Sequence[str], compiled: Mapping[str, str]) -> list[str]:
    """Lines that make the guest's package with these rooms, and these modules of it, some of them compiled already."""
    lines = [
        "import binascii, marshal, sys, types",
        "P = types.ModuleType('sandbox_guest'); P.__path__ = []",
        "sys.modules['sandbox_guest'] = P",
    ]
    for room in rooms:
        lines += [
            f"R = types.ModuleType('sandbox_guest.{room}'); R.__path__ = []; R.__package__ = 'sandbox_guest.{room}'",
            f"sys.modules['sandbox_guest.{room}'] = P.{room} = R",
        ]
    for name in names:
        room = name.rpartition(".")[0]
        code = (
            f"marshal.loads(binascii.a2b_base64({compiled[name]!r}))"
            if name in compiled
            else f"compile({source(name)!r}, '<guest/{name}>', 'exec')"
        )
        lines += [
            f"M = types.ModuleType('sandbox_guest.{name}'); M.__package__ = 'sandbox_guest{room and '.' + room}'",
            f"sys.modules['sandbox_guest.{name}'] = P.{name} = M",
            f"exec({code}, M.__dict__)",
        ]
    return lines


def _rooms(names: Sequence[str]) -> list[str]:
    return list(dict.fromkeys(name.rpartition(".")[0] for name in names if "." in name))


def _packed(lines: Sequence[str]) -> bytes:
    text = "\n".join(lines).encode("utf-8")
    return len(text).to_bytes(4, "big") + text


@cache
def guest_bundle(python: Path | None = None) -> bytes:
    """u32 length and the guest's source, to be written to a new box before the first frame. `python`: the box's
    interpreter, where it is this machine's: it compiles the guest once for all boxes, which costs a box most of its
    start. Raises OSError."""
    always = _in_order([_MAIN])
    everything = _in_order([_MAIN, *_SESSIONS])
    sessions = {name: source(name) for name in everything if name not in always}
    compiled = _compiled(python, always) if python is not None else {}
    return _packed([*_modules(always, _rooms(everything), compiled), f"P.main.main(I, O, {sessions!r})"])


def _compiled(python: Path, names: Sequence[str]) -> dict[str, str]:
    """The code of these modules, marshalled in base64, by name; none where the interpreter fails."""
    run = subprocess.run(
        [python, "-I", "-S", "-c", _COMPILER],
        input=json.dumps({name: source(name) for name in names}),
        capture_output=True, text=True, check=False, timeout=_COMPILER_S, env={},
    )  # fmt: skip
    return dict(zip(names, run.stdout.split(), strict=True)) if run.returncode == 0 else {}


@cache
def session_bundle(work: str) -> bytes:
    """u32 length and a session's driver, for guest/nested_bootstrap.py; it keeps its files in `work`."""
    names = _in_order([_DRIVER])
    main = [
        "import os",
        "if I != 3: os.dup2(I, 3); os.close(I)",
        f"spec = {dict(_SPEC, workdir=work)!r}",
        f"P.{_DRIVER}.serve(dict(spec, env=dict(spec['env'], **os.environ)))",
    ]
    return _packed([*_modules(names, _rooms(names), {}), *main])
