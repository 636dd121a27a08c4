"""A resources server that has nothing but the tools: python -m tests.swe.tool_server PROVIDER PORT."""

from __future__ import annotations

import sys
from collections.abc import Mapping

from pydantic import BaseModel

from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import RequestError
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.server.launch import serve
from sandbox_gym.server.protocol.resources import Tool, VerifyResult
from sandbox_gym.server.protocol.wire import Document, VerifyRequest
from sandbox_gym.server.swe.arguments import ARGUMENTS
from sandbox_gym.server.swe.tools import SweTools
from sandbox_gym.server.tools.session_tools import python

WORKDIR = "/workspace/repo"
BASE = "refs/sandbox-gym/base"
TEST_COMMAND = "python3 -m unittest -v {test_ids}"


class ToolsOnly:
    """No task, no verdict."""

    name = kind = "tools"

    def __init__(self) -> None:
        self._tools = SweTools(WORKDIR, BASE, TEST_COMMAND, test_timeout_s=5)

    @property
    def tools(self) -> Mapping[str, Tool]:
        return {**self._tools.tools, "python": python}

    @property
    def tool_arguments(self) -> Mapping[str, type[BaseModel]]:
        return ARGUMENTS

    def row(self, body: Document) -> Document:
        return {}

    async def seed(self, engine: Engine, session_id: str, row: Document) -> None:
        """Nothing."""

    def public_tests(self, row: Document) -> Document | None:
        return None

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult:
        raise RequestError("body", "has nothing to verify", "use the tools")

    def aggregate(self, verify_responses: list[Document]) -> Document:
        return {}


if __name__ == "__main__":
    serve(ToolsOnly(), Settings.from_flat({"provider": sys.argv[1], "port": int(sys.argv[2]), "journal_url": "off"}))
