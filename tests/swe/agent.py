"""An agent's side of the tools for tests: servers with git in their sandboxes, and a client that checks statuses."""

from __future__ import annotations

import base64
import json
import os
import subprocess
from pathlib import Path
from typing import Any

import httpx2 as httpx

from tests.load.servers import ServerProcess, free_port
from tests.server.fakes import JSON
from tests.swe.tool_server import BASE, WORKDIR

PROVIDERS = ("local", "docker")
IMAGE_PREFIX = "sandbox-gym-test-git/"
_DOCKERFILE = b"""FROM sandbox-gym/python:latest
RUN apt-get update && apt-get install -qy --no-install-recommends git && rm -rf /var/lib/apt/lists/*
"""
SOURCE = "def half(n):\n    return n // 2\n\n\ndef double(n):\n    return n + n\n"
TESTS = (
    "import unittest\nfrom calc import half\n\n\nclass Halves(unittest.TestCase):\n"
    "    def test_even(self):\n        self.assertEqual(half(4), 2)\n\n"
    "    def test_odd(self):\n        self.assertEqual(half(3), 1.5)\n"
)


def image_with_git() -> None:
    """The python image and git, under a prefix of our own."""
    docker = os.environ.get("DOCKER", "docker")
    command = [docker, "build", "-q", "--network", "host", "-t", f"{IMAGE_PREFIX}python:latest", "-"]
    subprocess.run(command, input=_DOCKERFILE, check=True, capture_output=True, timeout=600)


def serving(provider: str, folder: Path, **settings: str) -> ServerProcess:
    if provider == "docker":
        image_with_git()
        settings = {"SANDBOX_GYM_DOCKER_IMAGE_PREFIX": IMAGE_PREFIX, **settings}
    return ServerProcess(provider, folder, free_port(), settings, module="tests.swe.tool_server")


class Agent:
    """One session."""

    def __init__(self, url: str) -> None:
        self.http = httpx.Client(base_url=url, timeout=120)

    def _post(self, tool: str, arguments: dict[str, object]) -> httpx.Response:
        return self.http.post(f"/{tool}", content=json.dumps(arguments), headers=JSON)  # lone surrogates go as escapes

    def text(self, tool: str, **arguments: object) -> str:
        reply = self._post(tool, arguments)
        assert reply.status_code == 200, reply.text[:1000]
        return str(reply.text)

    def json(self, tool: str, **arguments: object) -> dict[str, Any]:
        reply = self._post(tool, arguments)
        assert reply.status_code == 200, reply.text[:1000]
        document: dict[str, Any] = reply.json()
        return document

    def refused(self, tool: str, **arguments: object) -> dict[str, str]:
        """{field, problem, remedy} of a 422."""
        reply = self._post(tool, arguments)
        assert reply.status_code == 422, reply.text[:1000]
        error: dict[str, str] = reply.json()["error"]
        assert error["remedy"]
        return error

    def sh(self, command: str) -> str:
        ran = self.json("bash", command=command)
        assert ran["exit_code"] == 0, ran
        return str(ran["output"])

    def repository(self) -> None:
        """A repository with one commit, and the ref that patches are made against."""
        for name, text in (("calc.py", SOURCE), ("test_calc.py", TESTS)):
            self.json("write_file", path=f"{WORKDIR}/{name}", content=text)
        self.sh(
            f"cd {WORKDIR} && git init -q . && git config user.email a@b.c && git config user.name n"
            f" && git add -A && git commit -qm base && git update-ref {BASE} HEAD"
        )

    def file(self, path: str) -> bytes:
        return base64.b64decode(self.json("read_file", path=path, encoding="base64")["content"])

    def close(self) -> None:
        self.http.close()
