"""Keys, tenants and quotas of the pool's server."""

from __future__ import annotations

from pathlib import Path

import pytest

from sandbox_gym.e2b_server.access import signature
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.server.access.accounts import Accounts, Tenant, load_accounts, new_id, same

FILE = """
[tenants.one]
keys = ["one-key-0123456789", "one-key-in-rotation"]
sandboxes = 3
[tenants.two]
keys = ["two-key-0123456789"]
"""


def test_each_key_opens_its_tenant_and_no_other_does(tmp_path: Path) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(FILE)
    accounts = load_accounts(file, "a-token")
    assert not accounts.open
    for key, name in {
        "one-key-0123456789": "one",
        "one-key-in-rotation": "one",
        "two-key-0123456789": "two",
        "a-token": "default",
    }.items():
        tenant = accounts.tenant(key)
        assert tenant is not None
        assert tenant.name == name
    for key in ("", "one-key-012345678", "one-key-01234567890", "ONE-KEY-0123456789", "\ud800", "one"):
        assert accounts.tenant(key) is None
    one = accounts.named("one")
    assert one is not None
    assert (one.sandboxes, one.held) == (3, 1000)
    assert accounts.named("three") is None


def test_without_keys_any_key_will_do_but_none_will_not() -> None:
    accounts = load_accounts(None, "")
    assert accounts.open
    assert accounts.tenant("anything") is accounts.named("anyone")
    assert accounts.tenant("") is None


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "no [tenants.NAME]"),
        ("not toml", "keys.toml"),
        ("[tenants]\na = 1", "not a table"),
        ("[tenants.a]\n", "keys must be a list"),
        ("[tenants.a]\nkeys = ['short']", "at least 16"),
        ("[tenants.a]\nkeys = ['0123456789abcdef']\nmoney = 1", "no field 'money'"),
        ("[tenants.a]\nkeys = ['0123456789abcdef']\nname = 'b'", "no field 'name'"),
        ("[tenants.a]\nkeys = ['0123456789abcdef']\nsandboxes = 0", "over 0"),
        ("[tenants.a]\nkeys = ['0123456789abcdef']\nsandboxes = true", "over 0"),
        ("[tenants.a]\nkeys=['0123456789abcdef']\n[tenants.b]\nkeys=['0123456789abcdef']", "share a key"),
    ],
)
def test_what_is_wrong_with_a_file_is_named(tmp_path: Path, text: str, words: str) -> None:
    file = tmp_path / "keys.toml"
    file.write_text(text)
    with pytest.raises(ConfigurationError) as caught:
        load_accounts(file, "")
    assert words in str(caught.value)
    with pytest.raises(ConfigurationError):
        load_accounts(tmp_path / "missing", "")


def test_creates_come_at_their_rate_and_twice_as_many_at_once() -> None:
    tenant = Tenant("slow", creates_per_s=0.5)
    accounts = Accounts({"k" * 16: tenant})
    assert accounts.may_create(tenant) == 0
    wait_s = accounts.may_create(tenant)
    assert 1 < wait_s <= 2
    fast = Tenant("fast", creates_per_s=5)
    assert [accounts.may_create(fast) for _ in range(10)] == [0.0] * 10
    assert accounts.may_create(fast) > 0


def test_tokens_and_names() -> None:
    token = new_id("", 40)
    assert len(token) == 40
    assert same(token, token)
    assert not same("", token)
    assert not same("é" + token[1:], token)
    assert new_id("i").startswith("i")
    assert new_id("i").isalnum()


def test_a_signature_is_the_sdks() -> None:
    from e2b.sandbox.signature import get_signature

    made = get_signature("a/ü b", "read", None, "token", 60)
    assert made["signature"] == signature("a/ü b", "read", "", "token", str(made["expiration"]))
    made = get_signature("x", "write", "user", "token")
    assert made["signature"] == signature("x", "write", "user", "token", "")
