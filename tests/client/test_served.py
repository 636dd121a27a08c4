"""A real server: sessions by the client, and a batch whose answers come while its lines are sent."""

from __future__ import annotations

import json
from collections.abc import Iterator

import anyio
import httpx2 as httpx
import pytest

from sandbox_gym.client import Client, NoSandbox, RequestRefused
from tests.load.servers import ServerProcess

ROW = {"verifier_metadata": {"unit_tests": {"inputs": ["2"], "outputs": ["4"]}}}
RIGHT = "print(2 * int(input()))"
LINE = json.dumps({**ROW, "answer": RIGHT}).encode() + b"\n"


@pytest.fixture(scope="module", params=[1, pytest.param(2, marks=pytest.mark.extended)])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    settings = {"SANDBOX_GYM_BOXES": "4", "SANDBOX_GYM_WORKERS": str(request.param)}
    with ServerProcess("local", tmp_path_factory.mktemp("served"), settings=settings) as running:
        yield running


def test_a_session(server: ServerProcess) -> None:
    with Client(server.url) as client:
        with client.session() as box:
            box.write("/workspace/a", b"hello")
            box.write("/workspace/a", b" there", append=True)
            assert (box.read("/workspace/a"), box.read_part("/workspace/a", 6, 5)) == (b"hello there", b"there")
            done = box.run(["cat", "a"], cwd="/workspace", timeout_s=10, output_bytes=100)
            assert (done.exit_code, done.stdout, done.cut) == (0, b"hello there", False)
            told = box.tool("python", {"code": "6 * 7"})
            assert isinstance(told, dict)
            assert told["output"].strip() == "42"
            with pytest.raises(RequestRefused) as caught:
                box.read("/workspace/none")
            assert caught.value.code == "ENOENT"
            assert box.verify({**ROW, "answer": RIGHT}).reward == 1.0
        with pytest.raises(RuntimeError, match="closed"):
            box.tool("python", {"code": "1"})
        with pytest.raises(NoSandbox, match="404"), client.session() as other:
            other.tool("no_such_tool", {})
        assert client.health()[server.url]["status"] == "ok"


@pytest.mark.anyio
async def test_a_batchs_answers_come_while_it_is_sent_and_single_verifies_have_their_turns(
    server: ServerProcess,
) -> None:
    host, _, port = server.url.removeprefix("http://").partition(":")
    async with await anyio.connect_tcp(host, int(port)) as stream, httpx.AsyncClient(base_url=server.url) as client:
        head = f"POST /verify/batch HTTP/1.1\r\nHost: {host}\r\nContent-Type: application/x-ndjson\r\n"
        await stream.send(f"{head}Transfer-Encoding: chunked\r\n\r\n".encode())
        told = b""
        with anyio.fail_after(120):
            for number in range(3):
                await stream.send(_chunk(LINE))
                while told.count(b'"replayed":') <= number:
                    told += await stream.receive()
            await stream.send(_chunk(LINE * 40))
            single = await client.post(
                "/verify", content=LINE, headers={"Content-Type": "application/json"}, timeout=60
            )
            assert single.json()["reward"] == 1.0
            with anyio.move_on_after(0.001):
                told += await stream.receive()
            before = told.count(b'"replayed":')
            while told.count(b'"replayed":') < 43:
                told += await stream.receive()
    assert before < 43
    assert told.count(b'"status":200') == 43


def _chunk(data: bytes) -> bytes:
    return b"%x\r\n%s\r\n" % (len(data), data)
