"""POST /verify with a journal: on record, once per key, replayed after a restart, never without a verdict."""

from __future__ import annotations

import gc
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field

import anyio
import httpx2 as httpx
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from sandbox_gym.config import Settings
from sandbox_gym.engine import Engine
from sandbox_gym.errors import PoolFull, ProviderDown
from sandbox_gym.journal import Filter, Stored, Summary
from sandbox_gym.journal.schema import open_database
from sandbox_gym.journal.store import Store
from sandbox_gym.plans.runner import ANYONE, Caller
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.app import build_app
from sandbox_gym.server.protocol.resources import VerifyResult
from sandbox_gym.server.protocol.wire import Document, VerifyRequest
from sandbox_gym.single_flight import _Flight
from tests.server.fakes import EchoResources, exits_as_told, fake_engine, verify_body

KEY = {"Idempotency-Key": "rollout-7"}
REPLAYED, REQUEST_ID = "X-Sandbox-Gym-Replayed", "X-Sandbox-Gym-Verdict-Id"


@dataclass
class Counting(EchoResources):
    """Counts its verifies; waits in each until `gate` is open, where there is one."""

    verified: int = 0
    gate: anyio.Event | None = None
    entered: list[str] = field(default_factory=list)

    async def verify(self, engine: Engine, request: VerifyRequest, caller: Caller = ANYONE) -> VerifyResult:
        self.verified += 1
        self.entered.append(request.output_text)
        if self.gate is not None:
            await self.gate.wait()
        return await super().verify(engine, request, caller)


def make_app(resources: EchoResources, url: str | None, **fields: object) -> FastAPI:
    provider = FakeProvider(exits_as_told)
    return build_app(resources, lambda: fake_engine(provider), Settings.from_flat(fields), journal_url=url)


@contextmanager
def serving(resources: EchoResources, url: str | None, **fields: object) -> Iterator[TestClient]:
    with TestClient(make_app(resources, url, **fields), base_url="http://localhost") as client:
        yield client


@asynccontextmanager
async def calling(app: FastAPI) -> AsyncIterator[httpx.AsyncClient]:
    """A running application's client, on the test's own loop."""
    transport = httpx.ASGITransport(app)
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=transport, base_url="http://localhost") as client,
    ):
        yield client


def on_record(url: str) -> list[Summary]:
    store = Store(open_database(url, create=False))
    try:
        return store.summaries(Filter(), limit=None)
    finally:
        store.close()


def only(url: str) -> Stored:
    store = Store(open_database(url, create=False))
    try:
        (number,) = store.ids(Filter())
        stored = store.get(number)
    finally:
        store.close()
    assert stored is not None
    return stored


def test_a_verify_is_on_record_with_what_it_takes_to_judge_again(url: str) -> None:
    body = verify_body("exit 3", verifier_metadata={"difficulty": "easy"})
    with serving(EchoResources(), url, time_limit_s=3) as client:
        answer = client.post("/verify", json=body)
        assert REPLAYED not in answer.headers
        with_journal = client.get("/health").json()["journal"]
    assert (with_journal["written"] + with_journal["backlog"], with_journal["failed"]) == (1, 0)
    stored = only(url)
    assert stored.summary.request_id == answer.headers[REQUEST_ID]
    assert (stored.summary.server, stored.summary.reward, stored.summary.failure_reason) == ("echo", 0.0, "wrong")
    assert stored.source.answer == "exit 3"
    assert stored.source.row == {"difficulty": "easy"}
    assert stored.source.settings["time_limit_s"] == 3.0
    assert stored.judgements is not None
    assert stored.judgements[0].state is not None
    assert stored.judgements[0].state.outcomes[0].exit_code == 3  # type: ignore[union-attr]
    assert stored.reply == {key: value for key, value in answer.json().items() if key not in body}
    assert stored.summary.timings_s.keys() == {"queue", "acquire", "run", "judge"}


def test_a_key_that_comes_again_gets_the_same_verdict_unrun(url: str) -> None:
    resources = Counting()
    with serving(resources, url) as client:
        first = client.post("/verify", json=verify_body(), headers=KEY)
        second = client.post("/verify", json=verify_body(), headers=KEY)
    assert resources.verified == 1
    assert REPLAYED not in first.headers
    assert second.headers[REPLAYED] == "true"
    assert second.headers[REQUEST_ID] == first.headers[REQUEST_ID]
    assert second.json() == first.json()
    assert len(on_record(url)) == 1


def test_and_after_a_restart_too(url: str) -> None:
    with serving(Counting(), url) as client:
        first = client.post("/verify", json=verify_body("exit 1"), headers=KEY)
    resources = Counting()
    with serving(resources, url) as client:
        second = client.post("/verify", json=verify_body("exit 1"), headers=KEY)
    assert (resources.verified, second.headers[REPLAYED]) == (0, "true")
    assert second.content == first.content


def test_the_order_of_keys_and_the_quotes_of_the_header_do_not_matter(url: str) -> None:
    resources = Counting()
    body = verify_body()
    with serving(resources, url) as client:
        client.post("/verify", json=body, headers={"Idempotency-Key": '"a b"'})
        again = client.post("/verify", json=dict(reversed(list(body.items()))), headers={"Idempotency-Key": "a b"})
    assert (resources.verified, again.headers[REPLAYED]) == (1, "true")


def test_a_key_with_another_body_is_refused(url: str) -> None:
    with serving(Counting(), url) as client:
        client.post("/verify", json=verify_body(), headers=KEY)
        other = client.post("/verify", json=verify_body("exit 1"), headers=KEY)
        mine = client.post("/verify", json=verify_body(), headers=KEY)
    assert (other.status_code, other.json()["error"]["field"]) == (422, "Idempotency-Key")
    assert "another body" in other.json()["detail"]
    assert mine.json()["reward"] == 1.0


@pytest.mark.parametrize("key", ["", '""', "x" * 256, "t\tb"])
def test_what_is_no_key_is_refused(key: str) -> None:
    with serving(Counting(), None) as client:
        answer = client.post("/verify", json=verify_body(), headers={"Idempotency-Key": key})
        assert (answer.status_code, answer.json()["error"]["field"]) == (422, "Idempotency-Key")
        twice = [("Idempotency-Key", "a"), ("Idempotency-Key", "b")]
        assert client.post("/verify", json=verify_body(), headers=twice).status_code == 422


def test_servers_with_one_journal_do_not_share_keys(url: str) -> None:
    with serving(Counting(), url) as client:
        client.post("/verify", json=verify_body(), headers=KEY)
    resources = Counting(name="other")
    with serving(resources, url) as client:
        client.post("/verify", json=verify_body("exit 1"), headers=KEY)
    assert resources.verified == 1


def test_no_verdict_is_on_record_and_never_replayed(url: str) -> None:
    def fail(request: VerifyRequest) -> None:
        raise ProviderDown("no boxes today")

    resources = Counting(before=fail)
    with serving(resources, url) as client:
        assert client.post("/verify", json=verify_body(), headers=KEY).status_code == 503
        masked = client.post("/verify?no_verdict=body", json=verify_body(), headers=KEY)
        assert (masked.status_code, masked.json()["mask_sample"]) == (200, True)
        resources.before = None
        right = client.post("/verify", json=verify_body(), headers=KEY)
    assert (right.status_code, right.json()["reward"], resources.verified) == (200, 1.0, 3)
    assert REPLAYED not in right.headers
    kinds = [(each.reward, each.failure_kind, each.failure_reason) for each in on_record(url)]
    assert kinds == [(1.0, "", ""), *[(None, "echo:provider_down", "no boxes today")] * 2]


def test_what_was_refused_at_the_door_is_not_on_record(url: str) -> None:
    def refuse(request: VerifyRequest) -> None:
        raise PoolFull("full")

    with serving(EchoResources(before=refuse), url) as client:
        assert client.post("/verify", json=verify_body()).status_code == 429
        assert client.post("/verify", json=verify_body(verifier_metadata={"bad": 1})).status_code == 429
    assert on_record(url) == []


def test_without_a_key_each_request_is_a_request(url: str) -> None:
    resources = Counting()
    with serving(resources, url) as client:
        answers = [client.post("/verify", json=verify_body()) for _ in range(3)]
    assert resources.verified == 3
    assert all(REPLAYED not in answer.headers for answer in answers)
    assert len({answer.headers[REQUEST_ID] for answer in answers} | {each.request_id for each in on_record(url)}) == 3


def test_body_mode_takes_the_same_body_for_the_same_request(url: str) -> None:
    resources = Counting()
    with serving(resources, url, idempotency="body") as client:
        client.post("/verify", json=verify_body())
        assert client.post("/verify", json=verify_body()).headers[REPLAYED] == "true"
        assert REPLAYED not in client.post("/verify", json=verify_body(sample=2)).headers
        assert REPLAYED not in client.post("/verify", json=verify_body(), headers=KEY).headers
    with serving(resources, url, idempotency="body", time_limit_s=1) as client:
        other_limits = client.post("/verify", json=verify_body())
    assert REPLAYED not in other_limits.headers
    assert resources.verified == 4


def test_off_takes_no_notice_of_keys(url: str) -> None:
    resources = Counting()
    with serving(resources, url, idempotency="off") as client:
        for _ in range(2):
            assert REPLAYED not in client.post("/verify", json=verify_body(), headers=KEY).headers
    assert resources.verified == 2


async def joined(count: int) -> None:
    """Until so many wait for one run."""
    with anyio.fail_after(30):
        while not any(type(one) is _Flight and one.waiting >= count for one in gc.get_objects()):
            await anyio.sleep(0.02)


async def _at_once(resources: Counting, url: str | None, bodies: list[Document]) -> list[httpx.Response]:
    """All bodies under one key, sent before the first is let go."""
    resources.gate = anyio.Event()
    app, answers = make_app(resources, url), []
    async with calling(app) as client:

        async def ask(body: Document) -> None:
            answers.append(await client.post("/verify", json=body, headers=KEY, timeout=30))

        async with anyio.create_task_group() as group:
            for body in bodies:
                group.start_soon(ask, body)
            await joined(sum(body == bodies[0] for body in bodies))
            resources.gate.set()
    return answers


@pytest.mark.parametrize("kept", [True, False])
def test_the_same_key_at_once_runs_once(url: str, kept: bool) -> None:
    resources = Counting()
    answers = anyio.run(_at_once, resources, url if kept else None, [verify_body()] * 20)
    assert resources.verified == 1
    assert len({answer.content for answer in answers}) == 1
    assert sorted(answer.headers.get(REPLAYED, "") for answer in answers) == [""] + ["true"] * 19


async def _leaving_leader(resources: Counting, url: str) -> tuple[int, httpx.Response]:
    """The first client leaves while its verify runs; another with the same key came meanwhile."""
    resources.gate = anyio.Event()
    app = make_app(resources, url)
    raw = json.dumps(verify_body()).encode()
    incoming: list[dict[str, object]] = [{"type": "http.request", "body": raw, "more_body": False}]
    leave = anyio.Event()
    statuses: list[int] = []

    async def receive() -> dict[str, object]:
        if incoming:
            return incoming.pop()
        await leave.wait()
        return {"type": "http.disconnect"}

    async def send(message: dict[str, object]) -> None:
        if message["type"] == "http.response.start":
            statuses.append(int(str(message["status"])))

    scope = {
        "type": "http", "method": "POST", "path": "/verify", "raw_path": b"/verify", "query_string": b"",
        "headers": [(b"host", b"localhost"), (b"idempotency-key", b"rollout-7")], "http_version": "1.1",
        "scheme": "http",
        "server": ("t", 80), "client": ("t", 1), "root_path": "",
    }  # fmt: skip
    answers: list[httpx.Response] = []
    async with calling(app) as client:

        async def follow() -> None:
            answers.append(await client.post("/verify", json=verify_body(), headers=KEY, timeout=30))

        async with anyio.create_task_group() as group:
            group.start_soon(app, scope, receive, send)  # type: ignore[arg-type]  # a narrower ASGI than the types'
            while not resources.entered:
                await anyio.sleep(0.01)
            group.start_soon(follow)
            await joined(2)
            leave.set()
            while not statuses:
                await anyio.sleep(0.01)
            resources.gate.set()
    return statuses[0], answers[0]


def test_a_leader_that_leaves_does_not_cancel_its_followers(url: str) -> None:
    resources = Counting()
    status, answer = anyio.run(_leaving_leader, resources, url)
    assert status == 499
    assert (answer.status_code, answer.json()["reward"], resources.verified) == (200, 1.0, 1)
    assert len(on_record(url)) == 1


def test_verdicts_are_on_record_after_many_at_once(url: str) -> None:
    async def many() -> list[httpx.Response]:
        answers = []
        app = make_app(EchoResources(), url)
        async with calling(app) as client:

            async def ask(number: int) -> None:
                headers = {"Idempotency-Key": str(number)} if number % 2 else {}
                answers.append(await client.post("/verify", json=verify_body(), headers=headers, timeout=30))

            async with anyio.create_task_group() as group:
                for number in range(90):
                    group.start_soon(ask, number)
        return answers

    answers = anyio.run(many)
    assert {answer.headers[REQUEST_ID] for answer in answers} == {each.request_id for each in on_record(url)}
    assert len(answers) == len(on_record(url)) == 90
