"""A tenant's large messages to its sandboxes: few at a time, and nobody else waits for them."""

from __future__ import annotations

import struct
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, aclosing

import pytest
from starlette.requests import Request
from starlette.types import Message

from sandbox_gym.e2b_server.envd.connect_rpc import (
    LARGE,
    LARGE_IN_ALL,
    LARGE_OF_TENANT,
    MAX_MESSAGE,
    Document,
    read_messages,
)
from sandbox_gym.e2b_server.faults import Fault

pytestmark = pytest.mark.anyio


def messages(tenant: str, size: int, *, whole: bool = True) -> AsyncIterator[Document]:
    """A stream with one message of that size; not `whole`: all but its last byte has come, and the rest never does."""
    body = b"{" + b" " * (size - 2) + b"}"
    data = struct.pack("!BI", 0, size) + (body if whole else body[:-1])
    parts: list[Message] = [{"type": "http.request", "body": data, "more_body": False}]

    async def receive() -> Message:
        return parts.pop()

    scope = {"type": "http", "method": "POST", "headers": [], "tenant": tenant}
    return read_messages(Request(scope, receive))


async def held(stack: AsyncExitStack, tenant: str) -> None:
    """A large message that its reader does not give back: the program does not read it."""
    stream = await stack.enter_async_context(aclosing(messages(tenant, LARGE + 1)))  # type: ignore[type-var]
    assert await anext(stream) == {}


async def test_what_one_tenant_holds_is_refused_to_it_alone() -> None:
    async with AsyncExitStack() as stack:
        for _ in range(LARGE_OF_TENANT):
            await held(stack, "greedy")
        with pytest.raises(Fault) as caught:
            await held(stack, "greedy")
        assert (caught.value.status, caught.value.retry_after_s) == (429, 1)
        assert [one async for one in messages("greedy", LARGE)] == [{}]
        await held(stack, "other")
    async with AsyncExitStack() as stack:
        for number in range(LARGE_IN_ALL):
            await held(stack, str(number))
        with pytest.raises(Fault) as caught:
            await held(stack, "late")
        assert caught.value.status == 503
    async with AsyncExitStack() as stack:
        await held(stack, "greedy")


async def test_a_message_that_is_cut_off_or_too_large() -> None:
    with pytest.raises(Fault, match="ends inside"):
        [one async for one in messages("a", LARGE + 1, whole=False)]
    with pytest.raises(Fault) as caught:
        [one async for one in messages("a", MAX_MESSAGE + 1)]
    assert caught.value.status == 413
    async with AsyncExitStack() as stack:
        for _ in range(LARGE_OF_TENANT):
            await held(stack, "a")
