"""What the SDK says, as errors of ours: what is retried elsewhere, and what no retry mends."""

from __future__ import annotations

from pathlib import Path

import anyio
import e2b.exceptions as sdk
import pytest

from sandbox_gym.errors import BoxLost, ConfigurationError, ProviderDown
from sandbox_gym.sandbox.e2b.errors import translated, watched
from sandbox_gym.server.access.accounts import load_accounts

pytestmark = pytest.mark.anyio
TABLE = [
    (sdk.SandboxNotRunningException("gone"), BoxLost),
    (sdk.SandboxUnreachableException("gone"), BoxLost),
    (sdk.SandboxNotFoundException("gone"), BoxLost),
    (sdk.TimeoutException("slow"), BoxLost),
    (sdk.RateLimitException("429"), ProviderDown),
    (sdk.ServiceBusyException("503"), ProviderDown),
    (sdk.AuthenticationException("401"), ConfigurationError),
    (sdk.InvalidArgumentException("bad"), ConfigurationError),
    (sdk.TemplateException("old"), ConfigurationError),
    (sdk.SandboxException("no", status_code=403), ConfigurationError),
    (sdk.SandboxException("not now", status_code=409), BoxLost),
    (sdk.SandboxException("broken", status_code=500), BoxLost),
    (ConnectionResetError("reset"), BoxLost),
    (ValueError("no JSON"), BoxLost),
]


@pytest.mark.parametrize(("error", "ours"), TABLE, ids=lambda one: getattr(one, "__name__", type(one).__name__))
async def test_each_error_is_ours_or_fatal(error: Exception, ours: type[Exception]) -> None:
    with pytest.raises(ours, match=str(error)) as caught:
        async with watched("a call", 5):
            raise error
    assert type(caught.value) is ours
    assert type(translated(error, "a call")) is ours


async def test_a_call_that_never_ends_is_ended() -> None:
    with pytest.raises(BoxLost, match=r"within 0\.05 s"):
        async with watched("a call", 0.05):
            await anyio.sleep_forever()


async def test_a_cancellation_that_the_sdk_makes_an_error_of_stays_one() -> None:
    with anyio.move_on_after(0.05) as scope:
        async with watched("a call", 5):
            try:
                await anyio.sleep_forever()
            except BaseException as error:
                raise sdk.SandboxException("cancelled") from error
    assert scope.cancelled_caught


async def test_our_own_errors_pass() -> None:
    with pytest.raises(ConfigurationError, match="ours"):
        async with watched("a call", 5):
            raise ConfigurationError("ours")


def test_who_may_have_root_is_said_in_the_keys(tmp_path: Path) -> None:
    keys = tmp_path / "keys.toml"
    keys.write_text('[tenants.a]\nkeys = ["0123456789abcdef"]\nroot = true\n[tenants.b]\nkeys = ["fedcba9876543210"]\n')
    accounts = load_accounts(keys, "")
    found = [accounts.tenant(key) for key in ("0123456789abcdef", "fedcba9876543210")]
    assert [one is not None and one.root for one in found] == [True, False]
    keys.write_text('[tenants.a]\nkeys = ["0123456789abcdef"]\nroot = 1\n')
    with pytest.raises(ConfigurationError, match="root"):
        load_accounts(keys, "")
