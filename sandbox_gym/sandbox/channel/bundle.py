"""The guest as one piece of source text, for any box: modules are made in memory, nothing is installed."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from typing import Final

_ORDER = (
    "frames", "kernel", "values", "watch", "seccomp", "program", "prelude", "pyrun", "forks", "kinds", "arrays",
    "forms", "instances", "graph_writer", "graph_reader", "graph",
    "class_making", "classes", "proxies", "asking", "exports", "peer", "guards", "together", "calls", "sudo", "places",
    "init", "zygote", "inits", "evidence", "starvation", "channel", "run", "supervisor",
)  # fmt: skip
_LAZY = (
    "interrupts", "clip", "child", "shell", "repl_worker", "repl", "session",
    "outlet", "inlet", "jobs", "entries", "inotify", "fileops", "links", "cells", "contexts",
    "notebooks", "envd",
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
    "frames", "kernel", "watch", "seccomp", "program", "forks", "interrupts", "clip", "child", "shell", "repl_worker",
    "repl", "session",
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


def _source(name: str) -> str:
    return files("sandbox_gym.guest").joinpath(f"{name}.py").read_text(encoding="utf-8")


def _modules(names: Sequence[str]) -> list[str]:
    """Lines that make the guest's package and these modules of it."""
    lines = [
        "import sys, types",
        "P = types.ModuleType('sandbox_guest'); P.__path__ = []",
        "sys.modules['sandbox_guest'] = P",
    ]
    for name in names:
        lines += [
            f"M = types.ModuleType('sandbox_guest.{name}'); M.__package__ = 'sandbox_guest'",
            f"sys.modules['sandbox_guest.{name}'] = M; P.{name} = M",
            f"exec(compile({_source(name)!r}, '<guest/{name}>', 'exec'), M.__dict__)",
        ]
    return lines


def _packed(lines: Sequence[str]) -> bytes:
    text = "\n".join(lines).encode("utf-8")
    return len(text).to_bytes(4, "big") + text


@cache
def guest_bundle() -> bytes:
    """u32 length and the guest's source, to be written to a new box before the first frame."""
    lazy = {name: _source(name) for name in _LAZY}
    main = [f"P.lazy = {lazy!r}", "sys.modules['sandbox_guest.supervisor'].main(I, O)"]
    return _packed([*_modules(_ORDER), *main])


@cache
def session_bundle(work: str) -> bytes:
    """u32 length and a session's driver, for guest/nested_bootstrap.py; it keeps its files in `work`."""
    main = [
        "import os",
        "if I != 3: os.dup2(I, 3); os.close(I)",
        f"spec = {dict(_SPEC, workdir=work)!r}",
        "P.session.serve(dict(spec, env=dict(spec['env'], **os.environ)))",
    ]
    return _packed([*_modules(_DRIVER), *main])
