"""A pool without keys, as README starts it: the unmodified SDK's calls pass its guard, a page's do not."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import suppress

import httpx
import pytest
from e2b import Sandbox

from tests.e2b.servers import PoolServer

pytestmark = pytest.mark.timeout(120)


@pytest.fixture(scope="module")
def open_pool(tmp_path_factory: pytest.TempPathFactory) -> Iterator[PoolServer]:
    server = PoolServer("local", tmp_path_factory.mktemp("open"), keys="")
    try:
        yield server
    finally:
        server.stop()


def test_the_sdk_s_calls(open_pool: PoolServer) -> None:
    where = open_pool.where()  # any key is taken
    sandbox = Sandbox.create(timeout=60, **where)
    try:
        sandbox.files.write("one.txt", "text")
        sandbox.files.write("two", b"\0" * 100_000)
        sandbox.files.write_files([{"path": "a/three", "data": "3"}, {"path": "a/four", "data": "4"}])
        assert sandbox.files.read("one.txt") == "text"
        assert sandbox.commands.run("cat a/three a/four; wc -c < two").stdout == "34100000\n"
        assert httpx.post(sandbox.upload_url("five"), files={"file": b"5"}).status_code == 200
        assert httpx.get(sandbox.download_url("five")).content == b"5"
    finally:
        sandbox.kill()


def test_a_form_of_a_page_is_refused(open_pool: PoolServer) -> None:
    reply = httpx.post(f"{open_pool.url}/files?path=x", files={"file": b"x"})
    assert (reply.status_code, "application/json" in reply.text) == (415, True)
    preflight = {"Origin": "http://evil.example", "Access-Control-Request-Headers": "e2b-sandbox-id"}
    asked = httpx.options(f"{open_pool.url}/files", headers={**preflight, "Access-Control-Request-Method": "POST"})
    assert asked.status_code == 403
    assert "access-control-allow-origin" not in asked.headers


def test_a_head_without_end_is_refused(open_pool: PoolServer) -> None:
    head = {"host": "localhost", "x-long": "a" * 400_000}
    with suppress(httpx.TransportError):  # the connection is closed before all of it was sent
        assert httpx.get(f"{open_pool.url}/health", headers=head).status_code == 400
    assert httpx.get(f"{open_pool.url}/health", headers={"x-long": "a" * 30_000}).status_code == 200
