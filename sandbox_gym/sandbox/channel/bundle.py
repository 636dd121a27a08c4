"""The guest as one piece of source text, for any box: modules are made in memory, nothing is installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

_ROOMS: Final = ("protocol", "runs", "python", "objects", "session", "envd")
_ORDER: Final = (
    "kernel", "forks", "protocol.frames", "protocol.values", "runs.watch", "runs.seccomp", "runs.program",
    "python.prelude", "python.pyrun",
    "objects.kinds", "objects.arrays", "objects.forms", "objects.instances", "objects.graph_writer",
    "objects.graph_reader", "objects.graph", "objects.class_making", "objects.classes", "objects.proxies",
    "objects.asking", "objects.exports", "objects.peer",
    "python.guards", "python.together", "python.calls",
    "runs.sudo", "runs.places", "runs.init", "runs.zygote", "runs.init_client", "runs.evidence", "runs.starvation",
    "protocol.channel", "runs.run", "runs.supervisor",
)  # fmt: skip
_LAZY: Final = (
    "session.interrupts", "session.interpreter", "session.clip", "session.processes", "session.child", "session.shell",
    "session.repl_worker", "session.repl", "session.files", "session.command", "session.driver",
    "envd.outlet", "envd.inlet", "envd.jobs", "envd.entries", "envd.inotify", "envd.fileops", "envd.links",
    "envd.cells", "envd.contexts", "envd.notebooks", "envd.daemon",
)  # fmt: skip
"""Compiled only in boxes that hold sessions, before their zygote is forked."""

BOOTSTRAP = (
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


_DRIVER: Final = (
    "kernel", "forks", "protocol.frames", "runs.watch", "runs.seccomp", "runs.program",
    "session.interrupts", "session.interpreter", "session.clip", "session.processes", "session.child", "session.shell",
    "session.repl_worker", "session.repl", "session.files", "session.command", "session.driver",
)  # fmt: skip
"""A session's driver alone, where no supervisor starts it."""
_SPEC: Final = {
    "env": {
        "PATH": "/usr/local/bin:/usr/bin:/bin", "TMPDIR": "/tmp", "LANG": "C.UTF-8",
        "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
    },
    "main": "main.py",
    "recursion_limit": 0,
}  # fmt: skip
"""What a supervisor would say of a session's run."""


def source(name: str) -> str:
    """The text of a guest's module, such as "runs.supervisor"."""
    *rooms, leaf = name.split(".")
    return files("sandbox_gym.guest").joinpath(*rooms, f"{leaf}.py").read_text(encoding="utf-8")


def _modules(names: Sequence[str]) -> list[str]:
    """Lines that make the guest's package and these modules of it."""
    lines = [
        "import sys, types",
        "P = types.ModuleType('sandbox_guest'); P.__path__ = []",
        "sys.modules['sandbox_guest'] = P",
    ]
    for room in _ROOMS:
        lines += [
            f"R = types.ModuleType('sandbox_guest.{room}'); R.__path__ = []; R.__package__ = 'sandbox_guest.{room}'",
            f"sys.modules['sandbox_guest.{room}'] = P.{room} = R",
        ]
    for name in names:
        room = name.rpartition(".")[0]
        lines += [
            f"M = types.ModuleType('sandbox_guest.{name}'); M.__package__ = 'sandbox_guest{room and '.' + room}'",
            f"sys.modules['sandbox_guest.{name}'] = P.{name} = M",
            f"exec(compile({source(name)!r}, '<guest/{name}>', 'exec'), M.__dict__)",
        ]
    return lines


def _packed(lines: Sequence[str]) -> bytes:
    text = "\n".join(lines).encode("utf-8")
    return len(text).to_bytes(4, "big") + text


@cache
def guest_bundle() -> bytes:
    """u32 length and the guest's source, to be written to a new box before the first frame."""
    lazy = {name: source(name) for name in _LAZY}
    main = [f"P.lazy = {lazy!r}", "P.runs.supervisor.main(I, O)"]
    return _packed([*_modules(_ORDER), *main])


@cache
def session_bundle(work: str) -> bytes:
    """u32 length and a session's driver, for guest/nested_bootstrap.py; it keeps its files in `work`."""
    main = [
        "import os",
        "if I != 3: os.dup2(I, 3); os.close(I)",
        f"spec = {dict(_SPEC, workdir=work)!r}",
        "P.session.driver.serve(dict(spec, env=dict(spec['env'], **os.environ)))",
    ]
    return _packed([*_modules(_DRIVER), *main])
