"""The client is a small install: it imports httpx2, anyio and what they need, and runs where there is no fork."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import fields
from typing import get_type_hints

import pytest

from sandbox_gym.client import Verdict, VerdictGroup, VerdictInverted, VerdictTest
from sandbox_gym.server.protocol import verdicts

SCRIPT = """
import builtins, sys
NONE_OF = {"fastapi", "starlette", "uvicorn", "docker", "sympy", "pydantic", "sqlalchemy", "typer", "structlog"}
ELSEWHERE = {"resource", "fcntl", "grp", "pwd", "termios"}
own = builtins.__import__
def checked(name, globals=None, *rest):
    assert name.partition(".")[0] not in NONE_OF, name
    if (globals or {}).get("__name__", "").startswith("sandbox_gym"):
        assert name.partition(".")[0] not in ELSEWHERE, name
    return own(name, globals, *rest)
builtins.__import__ = checked
from sandbox_gym.client import AsyncClient, Client
client = Client("http://127.0.0.1:9")
try:
    client.verify({}, "x", deadline_s=0.2)
except Exception as error:
    print(type(error).__name__)
print(*sorted(name for name in sys.modules if name.startswith("sandbox_gym")))
"""


def test_it_needs_nothing_of_the_servers() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr
    error, modules = done.stdout.splitlines()
    assert error == "NoVerdict"
    assert all(name == "sandbox_gym" or name.startswith("sandbox_gym.client") for name in modules.split())


@pytest.mark.parametrize(
    ("kind", "document"),
    [
        (Verdict, verdicts.VerdictDocument),
        (VerdictTest, verdicts.VerdictTest),
        (VerdictGroup, verdicts.VerdictGroup),
        (VerdictInverted, verdicts.VerdictInverted),
    ],
)
def test_it_knows_every_field_of_a_verdict(kind: type, document: type) -> None:
    known = {one.name for one in fields(kind)}
    assert set(get_type_hints(document)) == known - {"id", "replayed", "server", "requests", "reply"}
