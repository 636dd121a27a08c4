"""Keys of tenants at a resources server: whose key it is decides whose share, record and session a request means."""

from __future__ import annotations

import stat
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from fastapi.testclient import TestClient
from itsdangerous import TimestampSigner

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.fake import FakeProvider
from sandbox_gym.server.access.accounts import load_accounts
from sandbox_gym.server.access.session_secret import FILE, SessionTokens, session_secret
from sandbox_gym.server.app import build_app, check_bind
from sandbox_gym.server.dashboard.wiring import operator_auth_of
from tests.server.fakes import EchoResources, exits_as_told, fake_engine, verify_body

ALICE, OTHER, BOB, OPERATOR = (
    "alice-key-0123456789",
    "alice-other-01234567",
    "bob-key-0123456789ab",
    "the-operators-token",
)
KEYS = f"""
[tenants.alice]
keys = ["{ALICE}", "{OTHER}"]
[tenants.bob]
keys = ["{BOB}"]
sandboxes = 3
"""
TESTS = {"inputs": ["1"], "outputs": ["2"]}
Serving = Callable[..., TestClient]


def by(key: str, **more: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {key}", **more}


@pytest.fixture
def keys(tmp_path: Path) -> Path:
    file = tmp_path / "keys.toml"
    file.write_text(KEYS)
    return file


@pytest.fixture
def serving(keys: Path) -> Iterator[Serving]:
    """Makes clients of servers that have the keys."""
    opened: list[TestClient] = []

    def make(resources: Any = None, journal: Path | None = None, **fields: object) -> TestClient:
        settings = Settings.from_flat({"keys": keys, **fields})
        provider = FakeProvider(exits_as_told)
        url = None if journal is None else str(journal)
        app = build_app(resources or EchoResources(), lambda: fake_engine(provider), settings, journal_url=url)
        client = TestClient(app, base_url="http://any.name.example", follow_redirects=False)
        client.__enter__()
        opened.append(client)
        return client

    yield make
    for client in opened:
        client.__exit__(None, None, None)


def test_each_key_opens_and_nothing_else_does(serving: Serving) -> None:
    client = serving(token=OPERATOR)
    for key in (ALICE, OTHER, BOB, OPERATOR):
        assert client.post("/verify", json=verify_body(), headers=by(key)).status_code == 200
    for key in ("", ALICE[:-1], ALICE + "x", ALICE.upper(), "alice", "é"):
        answer = client.post("/verify", json=verify_body(), headers={b"Authorization": f"Bearer {key}".encode()})
        assert (answer.status_code, answer.headers["WWW-Authenticate"]) == (401, "Bearer")
    for headers in ({}, {"Authorization": f"Basic {ALICE}"}, {"X-API-KEY": ALICE}):
        assert client.post("/verify", json=verify_body(), headers=headers).status_code == 401
    assert client.get("/").status_code == client.get("/health").status_code == 200


def test_a_tenant_is_its_keys_whatever_a_header_says(serving: Serving) -> None:
    client = serving(token=OPERATOR)
    named = {"X-Sandbox-Gym-Tenant": "bob"}
    answer = client.post("/verify", json=verify_body(), headers=by(ALICE, **named))
    assert answer.status_code == 403
    assert "X-Sandbox-Gym-Tenant" in answer.json()["detail"]
    for headers in (by(ALICE), by(OTHER, **{"X-Sandbox-Gym-Tenant": "alice"}), by(BOB), by(OPERATOR, **named)):
        assert client.post("/verify", json=verify_body(), headers=headers).status_code == 200
    metrics = client.get("/metrics", headers=by(OPERATOR)).text
    assert 'tenant="alice"' in metrics
    assert 'tenant="bob"' in metrics


def test_what_tells_of_all_tenants_is_the_operators(serving: Serving) -> None:
    client = serving(token=OPERATOR)
    for key, status in ((ALICE, 403), (BOB, 403), ("no", 401), (OPERATOR, 200)):
        assert client.get("/metrics", headers=by(key)).status_code == status
    for path in ("/dashboard/api/live", "/dashboard/api/verdicts", "/dashboard/api/events"):
        assert client.get(path, headers=by(ALICE)).status_code == 401
    assert client.get("/dashboard/api/live", headers=by(OPERATOR)).status_code == 200
    without = serving()
    assert without.get("/metrics", headers=by(ALICE)).status_code == 403
    assert without.get("/dashboard", headers=by(ALICE)).status_code == 403
    assert "SANDBOX_GYM_TOKEN" in without.get("/dashboard").json()["detail"]


def test_sessions_are_their_tenants(serving: Serving) -> None:
    resources = EchoResources()
    client = serving(resources, token=OPERATOR)
    seed = {"resources_session_id": "s1", "task_data": {"public_tests": TESTS}}
    seeded = client.post("/seed_session", json=seed, headers=by(ALICE))
    assert seeded.status_code == 200
    cookie = {"Cookie": f"EchoResources___echo={seeded.cookies['EchoResources___echo']}"}
    client.cookies.clear()

    def seen(key: str) -> object:
        answer = client.post("/note", json={}, headers=by(key, **cookie)).json()["seen"]
        client.cookies.clear()
        return answer

    assert seen(OTHER) == TESTS
    assert seen(BOB) is None
    assert seen(OPERATOR) is None
    ids = [call.session_id for call in resources.tool_calls]
    assert len(set(ids)) == 3
    for path in ("/", "/health"):  # what is open to all tells no tenant, and leaves a cookie as it was
        kept = client.get(path, headers=cookie).cookies["EchoResources___echo"]
        client.cookies.clear()
        call = client.post("/note", json={}, headers=by(ALICE, Cookie=f"EchoResources___echo={kept}"))
        client.cookies.clear()
        assert call.json()["seen"] == TESTS
    # nor does an id that another tenant chose close it, or keep it from being seeded
    for key in (BOB, OPERATOR):
        assert client.post("/close_session", json={"resources_session_id": "s1"}, headers=by(key)).status_code == 200
    client.cookies.clear()
    assert seen(ALICE) == TESTS
    assert client.post("/close_session", json={"resources_session_id": "s1"}, headers=by(ALICE)).status_code == 200
    client.cookies.clear()
    assert seen(ALICE) is None


def test_a_session_token_over_mcp_is_its_tenants(serving: Serving) -> None:
    resources = EchoResources()
    client = serving(resources, token=OPERATOR, expose_tools_over_mcp=True)
    seeded = client.post(
        "/seed_session", json={"public_tests": TESTS, "responses_create_params": {}}, headers=by(ALICE)
    )
    client.cookies.clear()
    granted = {**seeded.json()["mcp"]["headers"], "Accept": "application/json, text/event-stream"}
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "note", "arguments": {}}}

    def called(key: str, **more: str) -> tuple[int, str]:
        answer = client.post("/mcp", json=call, headers={**by(key), **granted, **more})
        client.cookies.clear()
        return answer.status_code, answer.text

    status, text = called(ALICE)
    assert (status, "outputs" in text) == (200, True), text
    for key in (BOB, OPERATOR):
        status, text = called(key)
        assert (status, "none of ours" in text, "outputs" in text) == (200, True, False), text
    assert called("no")[0] == 401
    assert called(ALICE, Origin="https://evil.example")[0] == 403
    assert called(ALICE, Origin="http://any.name.example")[0] == 200
    assert {call.session_id for call in resources.tool_calls} == {resources.tool_calls[0].session_id}


def test_verdicts_are_their_tenants(serving: Serving, tmp_path: Path) -> None:
    """The same Idempotency-Key, and the same body, of two tenants are two verifies; of one tenant one."""
    for idempotency, more in (("header", {"Idempotency-Key": "k1"}), ("body", {})):
        client = serving(journal=tmp_path / f"{idempotency}.sqlite", idempotency=idempotency, token=OPERATOR)
        answers = [
            client.post("/verify", json=verify_body(), headers=by(key, **more)) for key in (ALICE, BOB, OPERATOR, OTHER)
        ]
        assert [answer.status_code for answer in answers] == [200] * 4
        ids = [answer.headers["X-Sandbox-Gym-Verdict-Id"] for answer in answers]
        assert len(set(ids[:3])) == 3
        assert ids[3] == ids[0]
        replayed = [answer.headers.get("X-Sandbox-Gym-Replayed") for answer in answers]
        assert replayed == [None, None, None, "true"]
        other = client.post("/verify", json=verify_body("exit 1"), headers=by(BOB, **{"Idempotency-Key": "k2"}))
        assert other.status_code == 200
        again = client.post("/verify", json=verify_body(), headers=by(ALICE, **{"Idempotency-Key": "k2"}))
        assert again.status_code == 200


def test_the_record_names_the_keys_tenant(serving: Serving, tmp_path: Path) -> None:
    journal = tmp_path / "journal.sqlite"
    client = serving(journal=journal, token=OPERATOR)
    client.post("/verify", json=verify_body(), headers=by(ALICE))
    client.post("/verify", json=verify_body(), headers=by(OPERATOR, **{"X-Sandbox-Gym-Tenant": "eval"}))
    client.__exit__(None, None, None)
    client.__enter__()
    command = [sys.executable, "-m", "sandbox_gym", "verdicts", "--journal", str(journal), "--tenant"]
    for tenant in ("alice", "eval"):
        listed = subprocess.run([*command, tenant, "--json"], capture_output=True, text=True, timeout=60, check=True)
        assert len(listed.stdout.splitlines()) == 1, listed.stdout


def test_the_token_is_no_tenants_key(keys: Path) -> None:
    with pytest.raises(ConfigurationError, match="alice"):
        build_app(
            EchoResources(),
            lambda: fake_engine(FakeProvider()),
            Settings.from_flat({"keys": keys, "token": ALICE}),
        )


def test_a_key_that_no_client_could_send_is_refused(tmp_path: Path) -> None:
    (tmp_path / "keys.toml").write_text('[tenants.alice]\nkeys = ["at-least-16-characters\\n"]\n')
    with pytest.raises(ConfigurationError, match="tenant 'alice': a key has a blank or a line end around it"):
        load_accounts(tmp_path / "keys.toml", "")


def test_keys_permit_a_bind_beyond_loopback_and_shut_the_dashboard(keys: Path) -> None:
    settings = Settings.from_flat({"host": "0.0.0.0", "keys": keys})
    check_bind(settings)
    assert operator_auth_of(settings).closed
    assert not operator_auth_of(settings.replaced({"dashboard_token": "d"})).closed


# -- the secret of the cookies


def test_the_cookies_secret_is_random_and_its_files_users_alone(tmp_path: Path) -> None:
    state = tmp_path / "state" / "below"
    secret = session_secret(state)
    assert len(secret) == 64
    assert session_secret(state) == secret
    assert session_secret(tmp_path / "another") != secret
    assert stat.S_IMODE((state / FILE).stat().st_mode) == 0o600
    assert [path.name for path in state.iterdir()] == [FILE]


@pytest.mark.parametrize("spoil", ["mode", "short", "link", "folder"])
def test_a_secret_that_others_may_know_is_refused(tmp_path: Path, spoil: str) -> None:
    secret = session_secret(tmp_path / "a")
    file = tmp_path / "a" / FILE
    if spoil == "mode":
        file.chmod(0o640)
    elif spoil == "short":
        file.write_text(secret[:10])
    else:
        file.rename(tmp_path / "moved")
        file.mkdir() if spoil == "folder" else file.symlink_to(tmp_path / "moved")
    with pytest.raises(ConfigurationError, match=FILE):
        session_secret(tmp_path / "a")


def test_a_cookie_that_is_signed_with_what_is_public_names_no_session() -> None:
    resources = EchoResources()
    app = build_app(resources, lambda: fake_engine(FakeProvider()), Settings.from_flat({}))
    name = "EchoResources___echo"
    with TestClient(app, base_url="http://localhost") as client:
        client.post("/note", json={})
        whole = str(client.cookies[name])
        client.cookies.clear()
        forged = TimestampSigner(name).sign(whole.partition(".")[0]).decode()
        client.post("/note", json={}, headers={"Cookie": f"{name}={forged}"})
        client.cookies.clear()
        client.post("/note", json={}, headers={"Cookie": f"{name}={whole}"})
    ids = [call.session_id for call in resources.tool_calls]
    assert ids[0] != ids[1]
    assert ids[2] == ids[0]


def test_a_session_token_counts_for_its_tenant_and_its_secret() -> None:
    tokens = SessionTokens("one secret")
    granted = tokens.grant("s1", "alice")
    assert tokens.session_of(granted) == ("s1", "alice")
    for bad in ("", "x", granted[:-1], granted + "A", SessionTokens("another").grant("s1", "alice")):
        assert tokens.session_of(bad) is None
