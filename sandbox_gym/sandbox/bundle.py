"""The guest as one piece of source text, for any box: modules are made in memory, nothing is installed."""

from __future__ import annotations

from functools import cache
from importlib.resources import files

_ORDER = (
    "frames", "kernel", "values", "watch", "seccomp", "program", "pyrun", "calls", "init", "zygote", "inits",
    "evidence", "run", "supervisor",
)  # fmt: skip
_LAZY = (
    "clip", "child", "shell", "repl", "session",
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


@cache
def guest_bundle() -> bytes:
    """u32 length and the guest's source, to be written to a new box before the first frame."""
    folder = files("sandbox_gym.guest")
    lines = [
        "import sys, types",
        "P = types.ModuleType('sandbox_guest'); P.__path__ = []",
        "sys.modules['sandbox_guest'] = P",
    ]
    for name in _ORDER:
        source = folder.joinpath(f"{name}.py").read_text(encoding="utf-8")
        lines += [
            f"M = types.ModuleType('sandbox_guest.{name}'); M.__package__ = 'sandbox_guest'",
            f"sys.modules['sandbox_guest.{name}'] = M; P.{name} = M",
            f"exec(compile({source!r}, '<guest/{name}>', 'exec'), M.__dict__)",
        ]
    lazy = {name: folder.joinpath(f"{name}.py").read_text(encoding="utf-8") for name in _LAZY}
    lines += [f"P.lazy = {lazy!r}", "sys.modules['sandbox_guest.supervisor'].main(I, O)"]
    text = "\n".join(lines).encode("utf-8")
    return len(text).to_bytes(4, "big") + text
