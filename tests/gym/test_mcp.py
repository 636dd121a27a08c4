"""Tools over MCP as NeMo Gym has it: the seed's grant by its own model, called by the MCP SDK that it installs."""

from __future__ import annotations

import importlib
import json
from datetime import timedelta

import httpx2 as httpx
import pytest

from sandbox_gym.server.protocol.wire import Document
from tests.gym.running import WORKERS, Gym
from tests.gym.tasks import SWE_EXAMPLES

pytestmark = [pytest.mark.timeout(1500), pytest.mark.anyio, pytest.mark.filterwarnings("ignore")]
session_module = importlib.import_module("mcp.client.session")
transport = importlib.import_module("mcp.client.streamable_http")


def granted(url: str, row: Document) -> dict[str, str]:
    """A session's headers; its cookie is thrown away."""
    base = importlib.import_module("nemo_gym.base_resources_server")
    answer = httpx.post(f"{url}/seed_session", json=row, timeout=300)
    access = base.MCPServerMetadata.model_validate(answer.json()["mcp"])
    assert (access.url_path, access.transport) == ("/mcp", "http")
    return dict(access.headers)


async def called(url: str, headers: dict[str, str], calls: list[tuple[str, Document]]) -> tuple[set[str], list[str]]:
    """The tools that are listed, and what each call says. A connection of its own for each call: any worker's."""
    listed: set[str] = set()
    texts = []
    for name, arguments in calls:
        async with (
            transport.streamablehttp_client(f"{url}/mcp", headers=headers) as (read, write, _),
            session_module.ClientSession(read, write, read_timeout_seconds=timedelta(seconds=120)) as session,
        ):
            await session.initialize()
            listed |= {tool.name for tool in (await session.list_tools()).tools}
            result = await session.call_tool(name, arguments)
            texts.append("".join(getattr(part, "text", "") for part in result.content))
    return listed, texts


@pytest.mark.parametrize("kind", sorted(WORKERS))
async def test_a_sessions_tools(gym: Gym, kind: str) -> None:
    url = gym.address(kind)
    row = json.loads(SWE_EXAMPLES.read_text().splitlines()[0]) if kind == "swe" else {}
    first, second = granted(url, row), granted(url, row)
    keep: list[tuple[str, Document]] = [("bash", {"command": "cd /tmp; echo $((6 * 7)) > kept"})]
    look: list[tuple[str, Document]] = [("bash", {"command": "cat kept"})] * 3
    listed, texts = await called(url, first, keep + look)
    assert {"bash"} <= listed
    assert [json.loads(text)["output"] for text in texts[1:]] == ["42\n"] * 3
    _, others = await called(url, second, [("bash", {"command": "cat /tmp/kept"})])
    assert "No such file" in others[0]
    _, wrong = await called(url, {"X-NeMo-Gym-Session-Token": "forged"}, keep)
    assert "none of ours" in wrong[0]
