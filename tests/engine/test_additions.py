"""Images that a builder's packages are added to: what no snapshot took along is not kept for ever."""

from __future__ import annotations

import uuid
from collections.abc import Iterator

import pytest

from sandbox_gym.sandbox.docker import additions
from sandbox_gym.sandbox.docker.engine import Engine
from tests.engine.test_reaper import docker

pytestmark = pytest.mark.anyio
BASE = "sandbox-gym/base:latest"


@pytest.fixture
def label(monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Of this test's images alone: the Engine is the machine's."""
    own = f"sandbox-gym.test-{uuid.uuid4().hex}"
    monkeypatch.setattr(additions, "_LABEL", own)
    yield own
    left = docker("images", "--quiet", f"--filter=label={own}").split()
    if left:
        docker("rmi", "--force", *left)


def built(engine: Engine, what: str) -> str:
    return additions._build(engine, f"{additions._dockerfile(BASE, (), None)}LABEL what={what}\n", None)


def there(label: str) -> set[str]:
    return set(docker("images", "--quiet", "--no-trunc", f"--filter=label={label}").split())


async def test_what_was_never_used_goes_with_a_later_build(label: str, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = Engine()
    try:
        unused, used = built(engine, "unused"), built(engine, "used")
        container = docker("create", used, "true").strip()
        try:
            young = built(engine, "young")
            assert there(label) == {unused, used, young}
            monkeypatch.setattr(additions, "FORGOTTEN_S", -60)
            last = built(engine, "last")
            assert there(label) == {used, last}
        finally:
            docker("rm", container)
    finally:
        await engine.aclose()
