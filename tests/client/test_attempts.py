"""What one verify of the client does with each answer, and with none."""

from __future__ import annotations

import threading
import time

import anyio
import pytest

from sandbox_gym.client import AsyncClient, Client, NoVerdict, RequestRefused
from tests.client.scripted import RIGHT, Told, scripted

ROW = {"verifier_metadata": {"unit_tests": {"inputs": ["2"], "outputs": ["4"]}}}
NOW = {"Retry-After": "0"}
MASKED = {"reward": 0.0, "mask_sample": True, "failure_kind": "coding:checker_failed", "failure_reason": "it crashed"}


def test_a_row_and_its_answer_become_a_short_row() -> None:
    with scripted(lambda number, body: Told()) as server, Client(server.url, token="a-token", tenant="t") as client:
        verdict = client.verify({**ROW, "response": {"output": []}, "model_patch": "x"}, "print(4)", key="k")
        assert (verdict.reward, verdict.status, verdict.requests, verdict.server) == (1.0, "passed", 1, server.url)
        client.verify({**ROW, "response": {"output": []}})
    headers, body = server.asked[0]
    assert body == {**ROW, "answer": "print(4)"}
    assert server.asked[1][1] == {**ROW, "response": {"output": []}}
    assert (headers["Authorization"], headers["X-Sandbox-Gym-Tenant"]) == ("Bearer a-token", "t")
    assert 0 < float(headers["X-Sandbox-Gym-Deadline-S"]) <= 600
    assert server.keys[0] == "k" != server.keys[1]


@pytest.mark.parametrize("first", [Told(429, {}, NOW), Told(503, {}, NOW), Told(502, b"<html>", NOW), Told(0)])
def test_one_key_for_all_tries(first: Told) -> None:
    with scripted(lambda number, body: Told() if number else first) as server, Client(server.url) as client:
        assert client.verify(ROW, "x").requests == 2
    assert len(server.asked) == 2
    assert len(set(server.keys)) == 1


def test_it_waits_as_long_as_it_is_told() -> None:
    full = Told(429, {"failure_kind": "pool_full"}, {"Retry-After": "1"})
    with scripted(lambda number, body: Told() if number else full) as server, Client(server.url) as client:
        started = time.monotonic()
        client.verify(ROW, "x")
        assert time.monotonic() - started >= 1


def test_a_full_server_is_left_in_peace_and_another_is_asked() -> None:
    full = Told(429, {"failure_kind": "pool_full", "detail": "full"}, {"Retry-After": "3600"})
    with (
        scripted(lambda number, body: full) as one,
        scripted(lambda number, body: Told()) as other,
        Client([one.url, other.url]) as client,
    ):
        found = list(client.verify_many([(ROW, str(number)) for number in range(20)], at_once=1))
        assert [each.reward for each in found] == [1.0] * 20
    assert (len(one.asked), len(other.asked)) == (1, 20)


def test_a_failure_of_one_row_is_no_other_rows() -> None:
    """503 of a kind that only this row meets: the server goes on being asked."""
    broken = Told(503, {"failure_kind": "coding:toolchain_missing"}, {"Retry-After": "60"})
    with scripted(lambda number, body: broken if body["answer"] == "1" else Told()) as one, scripted(
        lambda number, body: Told()
    ) as other, Client([one.url, other.url]) as client:  # fmt: skip
        rows = [(ROW, str(number)) for number in range(20)]
        assert [each.reward for each in client.verify_many(rows, at_once=1)] == [1.0] * 20
    assert min(len(one.asked), len(other.asked)) >= 9


def test_the_deadline_is_of_all_tries() -> None:
    with scripted(lambda number, body: Told(503, MASKED, NOW)) as server, Client(server.url) as client:
        started = time.monotonic()
        with pytest.raises(NoVerdict) as caught:
            client.verify(ROW, "x", deadline_s=0.8)
        assert time.monotonic() - started < 10
        assert (caught.value.kind, caught.value.reason) == ("checker_failed", "it crashed")
        assert caught.value.requests == len(server.asked)
        assert client.verify(ROW, "x", deadline_s=0.1, on_no_verdict="none") is None


def test_nobody_there() -> None:
    with Client("http://127.0.0.1:9") as client, pytest.raises(NoVerdict) as caught:
        client.verify(ROW, "x", deadline_s=2)
    assert caught.value.kind == "no_answer"
    with pytest.raises(ValueError, match="no URL"):
        Client("localhost:8080")


@pytest.mark.parametrize("status", [200, 422])
def test_a_masked_row_has_no_verdict_and_is_not_tried_again(status: int) -> None:
    with scripted(lambda number, body: Told(status, MASKED)) as server, Client(server.url) as client:
        with pytest.raises(NoVerdict) as caught:
            client.verify(ROW, "x")
        assert caught.value.kind == "checker_failed"
        (found,) = client.verify_many([(ROW, "x")])
        assert (found.verdict, found.reward, str(found.error)) == (None, None, "checker_failed: it crashed")
    assert len(server.asked) == 2
    in_process = {"reward": 0.0, "mask_sample": True, "failure_kind": None, "failure_reason": "in_process"}
    with scripted(lambda number, body: Told(200, in_process)) as server, Client(server.url) as client:
        assert str(next(client.verify_many([(ROW, "x")])).error) == "masked: in_process"


def test_a_wrong_request_says_what_to_change() -> None:
    error = {"field": "answer", "problem": "is a list", "remedy": "send a string"}
    refused = Told(422, {"error": error, "detail": "answer: is a list; send a string"})
    with scripted(lambda number, body: refused) as server, Client(server.url) as client:
        found = list(client.verify_many([(ROW, "x")]))
        with pytest.raises(RequestRefused, match="answer: is a list") as caught:
            client.verify(ROW, "x", on_no_verdict="none")
    told = caught.value
    assert str(found[0].error) == str(told)
    assert (told.status, told.field, told.problem, told.remedy) == (422, "answer", "is a list", "send a string")
    with scripted(lambda number, body: Told(401, {"detail": "send a token"})) as server, Client(server.url) as client:
        assert client.health() == {server.url: {"status": "ok"}}
        with pytest.raises(RequestRefused, match="send a token"):
            client.verify(ROW, "x")


@pytest.mark.parametrize("body", [b"<html>", [], {"reward": "much"}])
def test_a_reply_without_a_verdict_is_asked_for_again(body: object) -> None:
    with scripted(lambda number, _: Told() if number else Told(200, body)) as server, Client(server.url) as client:
        assert client.verify(ROW, "x").requests == 2


@pytest.mark.anyio
async def test_who_stops_waiting_leaves_nothing_behind() -> None:
    came, go = threading.Event(), threading.Event()

    def late(number: int, body: object) -> Told:
        came.set()
        go.wait(30)
        return Told()

    with scripted(late) as server:
        async with AsyncClient(server.url) as client:
            with anyio.move_on_after(0.5) as scope:
                await client.verify(ROW, "x")
            assert scope.cancelled_caught
            assert came.is_set()
            go.set()
            assert (await client.verify(ROW, "y")).reward == RIGHT["reward"]


@pytest.mark.anyio
async def test_an_error_of_the_body_is_itself() -> None:
    with pytest.raises(KeyError, match="mine"):
        async with AsyncClient("http://127.0.0.1:9"):
            raise KeyError("mine")
    with pytest.raises(RuntimeError, match="async with"):
        await AsyncClient().verify(ROW, "x")
