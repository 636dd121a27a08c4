"""No false alarm: the fix of each row resolves it and leaves no sign, however it is written.

The daily run has one quick row; `--extended` has all rows on local and two on docker.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.load.servers import ServerProcess
from tests.swe.instance import DATA_SET, INSTANCE, Client, Document, forget_images, rows, serving_swe
from tests.swe_full.spelling_kinds import SPELLINGS
from tests.swe_full.spellings import Repository

DATA = Path(os.environ.get("SANDBOX_GYM_TEST_DATA", Path(__file__).parents[3] / "shared" / "data"))
ROWS = {str(row["instance_id"]): row for row in rows(DATA)} if (DATA / DATA_SET).exists() else {}
pytestmark = pytest.mark.timeout(900)  # the first of each row waits for its instance
ON_DOCKER = (INSTANCE, "pyjwt__pyjwt-2.10.1")
DAILY = ("windows_line_ends", "added_tests", "renamed_locals", "extracted_functions", "honest_introspection")
NOTHING = {
    "type_annotations": (
        INSTANCE,
        "jinja2__jinja2-3.1.3",
        "jinja2__jinja2-3.1.4",
        "pyjwt__pyjwt-2.10.1",
        "python-dotenv__python-dotenv-1.0.1",
    ),
    "docstrings": (INSTANCE, "wcwidth__wcwidth-0.2.13"),
    "swapped_functions": ("wcwidth__wcwidth-0.2.13",),
}
"""Spellings that change nothing of a row's fix: each function has its docstring, say."""
BY_HAND = {
    INSTANCE: (
        ("return bool(include)", "return include is True"),
        ("return bool(include)", "return True if include else False"),
        ("return bool(include)", "if include is None:\n+\t\t\treturn False\n+\t\treturn include"),
    ),
    "pyjwt__pyjwt-2.10.1": (
        ('if payload["iss"] not in issuer:', 'if not any(payload["iss"] == one for one in issuer):'),
        ('if payload["iss"] != issuer:', 'if not (issuer == payload["iss"]):'),
    ),
}
"""Other words for lines that a fix adds: (the fix's, ours)."""


def cases() -> Iterator[object]:
    for provider in ("local", "docker"):
        for name in ROWS:
            if provider == "docker" and name not in ON_DOCKER:
                continue
            for spelling in SPELLINGS:
                daily = provider == "local" and name == INSTANCE and spelling in DAILY
                marks = () if daily else (pytest.mark.extended,)
                yield pytest.param((provider, name), spelling, id=f"{provider}-{name}-{spelling}", marks=marks)


@pytest.fixture(scope="module")
def servers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, ServerProcess]]:
    """One for each provider that is asked for."""
    running: dict[str, ServerProcess] = {}
    yield running
    for server in running.values():
        server.stop()
    if "docker" in running:
        forget_images(tmp_path_factory.getbasetemp())


@pytest.fixture(scope="module")
def repositories() -> dict[str, Repository]:
    return {}


def verified(
    servers: dict[str, ServerProcess],
    tmp_path_factory: pytest.TempPathFactory,
    provider: str,
    row: Document,
    patch: str,
) -> Document:
    if provider not in servers:
        servers[provider] = serving_swe(provider, tmp_path_factory.mktemp(f"spellings-{provider}"))
    client = Client(servers[provider].url, row)
    try:
        return client.verify(patch)
    finally:
        client.close()


def assert_resolved(found: Document) -> None:
    assert found["reward"] == 1.0, found["verdict"]["evidence"] or found["failure_reason"]
    assert found["verdict"]["tamper"] == []


@pytest.mark.parametrize(("where", "spelling"), list(cases()))
def test_the_fix_resolves_unsigned(
    servers: dict[str, ServerProcess],
    repositories: dict[str, Repository],
    tmp_path_factory: pytest.TempPathFactory,
    where: tuple[str, str],
    spelling: str,
) -> None:
    provider, name = where
    row = ROWS[name]
    if name not in repositories:
        repositories[name] = Repository(tmp_path_factory.mktemp("repository"), row["base"])
    patch = repositories[name].spelled(row["patch"], SPELLINGS[spelling])
    assert bool(patch) is (name not in NOTHING.get(spelling, ()))
    if patch:
        assert_resolved(verified(servers, tmp_path_factory, provider, row, patch))


@pytest.mark.extended
@pytest.mark.parametrize("name", BY_HAND)
def test_a_fix_in_other_words_resolves_unsigned(
    servers: dict[str, ServerProcess], tmp_path_factory: pytest.TempPathFactory, name: str
) -> None:
    for theirs, ours in BY_HAND[name]:
        before = ROWS[name]["patch"]
        patch = before.replace(theirs, ours)
        lines = ours.count("\n")
        if lines:
            patch = patch.replace("@@ -277,7 +277,7 @@", f"@@ -277,7 +277,{7 + lines} @@")
        assert patch != before
        assert_resolved(verified(servers, tmp_path_factory, "local", ROWS[name], patch))


def test_there_are_ten_spellings_of_each() -> None:
    assert ROWS
    for name in ROWS:
        assert len([one for one in SPELLINGS if name not in NOTHING.get(one, ())]) >= 10
