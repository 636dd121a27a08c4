"""The tools over MCP, driven by the official client: the same session as the plain routes', by token or by cookie."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager

import anyio
import httpx2 as httpx
import pytest
from mcp import ClientSession
from mcp.client.streamable_http import streamable_http_client
from mcp_types import CallToolResult, TextContent

from tests.load.servers import ServerProcess
from tests.swe.agent import SOURCE, Agent, serving

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(300)]
HEADER = "X-NeMo-Gym-Session-Token"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("mcp")
    with serving("local", folder, SANDBOX_GYM_EXPOSE_TOOLS_OVER_MCP="true") as running:
        yield running


@pytest.fixture
def agent(server: ServerProcess) -> Iterator[Agent]:
    one = Agent(server.url)
    yield one
    one.close()


def seeded(agent: Agent) -> dict[str, str]:
    """The headers that a seed gives."""
    access = agent.json("seed_session")["mcp"]
    assert (access["url_path"], access["transport"], access["server_name"]) == ("/mcp", "http", "tools")
    headers: dict[str, str] = access["headers"]
    assert list(headers) == [HEADER]
    return headers


class Client:
    """The official client over one HTTP client; each use is a connection of its own."""

    def __init__(self, url: str, headers: dict[str, str] | None = None) -> None:
        self._url, self._http = f"{url}/mcp", httpx.AsyncClient(headers=headers, timeout=60)

    @asynccontextmanager
    async def session(self) -> AsyncIterator[ClientSession]:
        async with (
            streamable_http_client(self._url, http_client=self._http) as streams,
            ClientSession(*streams[:2]) as session,
        ):
            await session.initialize()
            yield session

    async def result(self, name: str, **arguments: object) -> CallToolResult:
        async with self.session() as session:
            result = await session.call_tool(name, dict(arguments))
        assert isinstance(result, CallToolResult)
        return result

    async def call(self, name: str, **arguments: object) -> str:
        result = await self.result(name, **arguments)
        assert not result.is_error, result
        return text(result)

    async def __aenter__(self) -> Client:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()


def text(result: CallToolResult) -> str:
    (content,) = result.content
    assert isinstance(content, TextContent)
    return content.text


async def test_an_agent_works_over_mcp_in_its_seeded_session(server: ServerProcess, agent: Agent) -> None:
    async with Client(server.url, seeded(agent)) as client:
        agent.repository()
        assert (await client.call("view", path="calc.py")).startswith("     1\tdef half(n):\n")
        await client.call("bash", command="cd repo; export X=1")
        assert json.loads(await client.call("bash", command="echo $X; pwd"))["output"] == "1\n/workspace/repo\n"
        await client.call("str_replace", path="calc.py", old_str="n // 2", new_str="n / 2")
        assert json.loads(await client.call("run_tests"))["exit_code"] == 0
        assert json.loads(await client.call("submit"))["files"] == ["calc.py"]
    assert agent.file("/workspace/repo/calc.py").decode() == SOURCE.replace("//", "/")


async def test_tools_are_listed_with_their_schemas(server: ServerProcess) -> None:
    async with Client(server.url) as client, client.session() as session:
        tools = {tool.name: tool for tool in (await session.list_tools()).tools}
    assert list(tools) == ["bash", "view", "str_replace", "create", "insert", "find", "run_tests", "submit"]
    assert tools["insert"].input_schema["required"] == ["path", "insert_line", "insert_text"]
    assert "exactly one" in (tools["str_replace"].description or "")


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("view", {"path": "missing"}, "ENOENT"),
        ("view", {}, "path: is missing"),
        ("insert", {"path": "x", "insert_line": "1", "insert_text": "x"}, "insert_line"),
        ("no_such_tool", {}, "no such tool"),
        ("read_file", {"path": "/etc/passwd"}, "no such tool"),
        ("submit", {}, "can't be made"),
    ],
)
async def test_errors_are_told_as_results(
    server: ServerProcess, agent: Agent, name: str, arguments: dict[str, object], said: str
) -> None:
    async with Client(server.url, seeded(agent)) as client:
        result = await client.result(name, **arguments)
    assert (result.is_error, said in text(result)) == (True, True), result


async def test_without_a_token_or_with_a_wrong_one_no_session_is_touched(server: ServerProcess) -> None:
    for token in ("nonsense", ""):
        async with Client(server.url, {HEADER: token}) as client:
            result = await client.result("bash", command="touch /workspace/x")
            assert (result.is_error, HEADER in text(result)) == (True, True)
    params = {"name": "bash", "arguments": {"command": "ls"}}
    async with httpx.AsyncClient(base_url=server.url) as plain:
        call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
        accept = {"Accept": "application/json, text/event-stream"}
        answer = (await plain.post("/mcp", json=call, headers=accept)).json()
    assert (answer["result"]["isError"], HEADER in answer["result"]["content"][0]["text"]) == (True, True)


async def test_a_cookie_is_a_session_too_and_sessions_are_apart(server: ServerProcess) -> None:
    async with Client(server.url) as first, Client(server.url) as second:
        await first.call("bash", command="echo 1 > /workspace/mine")
        assert json.loads(await first.call("bash", command="cat /workspace/mine"))["output"] == "1\n"
        assert json.loads(await second.call("bash", command="ls /workspace"))["output"] == ""


async def test_many_calls_at_once_go_to_their_sessions(server: ServerProcess) -> None:
    said: dict[int, str] = {}

    async def work(index: int) -> None:
        async with Client(server.url) as client:
            for _ in range(5):
                said[index] = await client.call("bash", command=f"echo {index} >> f; sort -u f")

    async with anyio.create_task_group() as group:
        for index in range(4):
            group.start_soon(work, index)
    assert {index: json.loads(text)["output"] for index, text in said.items()} == {n: f"{n}\n" for n in range(4)}
