"""A real server process under real load: what is big, long or many neither hangs nor gets lost."""

from __future__ import annotations

from collections.abc import Iterator

import anyio
import httpx2 as httpx
import pytest

from tests.load.servers import ServerProcess

pytestmark = [pytest.mark.anyio, pytest.mark.timeout(600)]
DOUBLE = "print(2 * int(input()))"


@pytest.fixture(scope="module", params=["local", "docker"])
def server(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server process."""
    with ServerProcess(request.param, tmp_path_factory.mktemp("server")) as running:
        yield running.url


def body(source: str, inputs: list[str], outputs: list[str]) -> dict[str, object]:
    message = {
        "id": "m", "type": "message", "role": "assistant", "status": "completed",
        "content": [{"type": "output_text", "annotations": [], "text": f"```python\n{source}\n```"}],
    }  # fmt: skip
    response = {
        "id": "r", "created_at": 0, "model": "m", "object": "response", "parallel_tool_calls": False,
        "tool_choice": "auto", "tools": [], "output": [message],
    }  # fmt: skip
    return {
        "responses_create_params": {"input": "Double the number."},
        "response": response,
        "verifier_metadata": {"unit_tests": {"inputs": inputs, "outputs": outputs}},
    }


async def verify(client: httpx.AsyncClient, wanted: dict[str, object]) -> dict[str, object]:
    reply = await client.post("/verify", json=wanted)
    assert reply.status_code == 200, reply.text[:500]
    answer: dict[str, object] = reply.json()
    return answer


async def test_two_hundred_at_once_are_all_judged_right(server: str) -> None:
    rewards: dict[int, object] = {}

    async def one(number: int) -> None:
        source = DOUBLE if number % 2 else "print(0)"
        tests = [str(number + test) for test in range(1, 6)]
        answer = await verify(client, body(source, tests, [str(2 * int(text)) for text in tests]))
        rewards[number] = answer["reward"]

    limits = httpx.Limits(max_connections=200)
    async with (
        httpx.AsyncClient(base_url=server, timeout=300, limits=limits) as client,
        anyio.create_task_group() as tasks,
    ):
        for number in range(200):
            tasks.start_soon(one, number)
    assert rewards == {number: float(number % 2) for number in range(200)}


@pytest.mark.parametrize("count", [2_000, pytest.param(10_000, marks=pytest.mark.extended)])
async def test_a_row_of_many_tests(server: str, count: int) -> None:
    tests = [str(number) for number in range(count)]
    wanted = body(DOUBLE, tests, [str(2 * int(text)) for text in tests[:-1]] + ["wrong"])
    async with httpx.AsyncClient(base_url=server, timeout=500) as client:
        answer = await verify(client, wanted)
    verdict = answer["verdict"]
    assert isinstance(verdict, dict)
    statuses = [test["status"] for test in verdict["tests"]]
    assert (answer["reward"], len(statuses)) == (0.0, count)
    assert statuses.count("passed") == count - 1
    assert statuses[-1] == "wrong_answer"


async def test_fifty_megabytes_of_input(server: str) -> None:
    text = "x" * 999 + "\n"
    wanted = body("import sys\nprint(len(sys.stdin.buffer.read()))", [text * 50_000], ["50000000"])
    async with httpx.AsyncClient(base_url=server, timeout=300) as client:
        answer = await verify(client, wanted)
    assert answer["reward"] == 1.0


async def test_a_program_of_a_megabyte(server: str) -> None:
    source = "table = [\n" + "    1234567,\n" * 85_000 + "]\nprint(sum(table) + int(input()))"
    assert len(source) > 1_000_000
    async with httpx.AsyncClient(base_url=server, timeout=300) as client:
        answer = await verify(client, body(source, ["5"], [str(1234567 * 85_000 + 5)]))
    assert answer["reward"] == 1.0
