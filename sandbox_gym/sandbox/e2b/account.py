"""Sandboxes of one account: created within what it allows, killed in the end, counted for what they cost."""

from __future__ import annotations

import atexit
import time
from collections.abc import Callable, Mapping
from functools import cache
from typing import TYPE_CHECKING, Final, TypedDict

from sandbox_gym.errors import BoxLost, ConfigurationError, ProviderDown, SandboxGymError
from sandbox_gym.faults import log_failure
from sandbox_gym.network import NO_NETWORK, Network
from sandbox_gym.sandbox.e2b.channel import CALL_S
from sandbox_gym.sandbox.e2b.errors import EXTRA, watched
from sandbox_gym.sandbox.e2b.limits import E2bOptions, Gate, Meter
from sandbox_gym.sandbox.e2b.orphans import marks
from sandbox_gym.sandbox.e2b.remote import RemoteSandbox

if TYPE_CHECKING:
    from e2b import AsyncSandbox, SandboxNetworkOpts
    from e2b.connection_config import ApiParams

    class _Access(TypedDict, total=False):
        allow_internet_access: bool
        network: SandboxNetworkOpts


CREATE_S: Final = 120.0
PLACE_S: Final = 60.0
KILL_S: Final = 5.0
"""A verify waits for the end of its sandbox; one that takes longer is tried again later."""
LAST_REPORTS_S: Final = 0.1


@cache
def _outlive_last_reports() -> None:
    """The SDK's HTTP client (pyqwest) reports each read from a thread of its own runtime, also those of streams that
    were let go. A thread in such a report while CPython finalizes ends the process by SIGABRT (up to 3.13, the
    interpreter ends it by pthread_exit, and Rust's frames do not unwind), in some 8 of 100 short programs. So the
    process gives them a moment at its end."""
    atexit.register(time.sleep, LAST_REPORTS_S)


class Account:
    """Raises ConfigurationError where the SDK is missing."""

    def __init__(self, options: E2bOptions) -> None:
        try:
            from e2b import AsyncSandbox
        except ImportError as error:
            raise ConfigurationError(EXTRA) from error
        _outlive_last_reports()
        self.sdk: type[AsyncSandbox] = AsyncSandbox
        self.options, self.api = options, _api(options)
        self._gate = Gate(options.creates_per_s, options.max_sandboxes)
        self._meter = Meter()
        self._unkilled: set[str] = set()

    def costs(self) -> Mapping[str, int]:
        """What the account is charged for since the start, by name."""
        return self._meter.counts()

    async def create(
        self, template: str, missing: Callable[[Exception], SandboxGymError], *, network: Network = NO_NETWORK
    ) -> RemoteSandbox:
        """A sandbox of a template, within what the account allows. Raises what `missing` makes where there is no such
        template, ProviderDown, ConfigurationError."""
        await self.retry_kills()
        async with self._gate.entered(PLACE_S):
            sandbox = await self._create(template, missing, network=network)
            self._meter.started(sandbox.sandbox_id)
        options = self.options
        return RemoteSandbox(sandbox, timeout_s=options.timeout_s, lifetime_s=options.lifetime_s, destroy=self.destroy)

    async def _create(
        self, template: str, missing: Callable[[Exception], SandboxGymError], *, network: Network
    ) -> AsyncSandbox:
        """Its own end is its timeout, should its id never reach us."""
        from e2b.exceptions import NotFoundException, SandboxException

        access: _Access = {"allow_internet_access": network.machine or bool(network.allow)}
        if network.allow:  # without a list older SDKs do, which know of none
            from e2b import ALL_TRAFFIC

            access["network"] = {"allow_out": list(network.allow), "deny_out": [ALL_TRAFFIC]}
        try:
            async with watched(f"creating a sandbox of template {template!r}", CREATE_S):
                try:
                    return await self.sdk.create(
                        template,
                        timeout=self.options.timeout_s,
                        metadata=marks(self.options.lifetime_s),
                        **access,
                        **self.api,
                    )
                except SandboxException as error:
                    if error.status_code == 404 or isinstance(error, NotFoundException):
                        raise missing(error) from error
                    raise
        except BoxLost as error:
            raise ProviderDown(str(error)) from error

    async def destroy(self, sandbox_id: str) -> None:
        """Kill; one that is gone already is fine. Where the service can't be asked, it is tried later."""
        try:
            async with watched("killing a sandbox", KILL_S):
                await self.sdk.kill(sandbox_id, **self.api)
        except Exception as error:
            log_failure("e2b_not_killed", error, box=sandbox_id)
            self._unkilled.add(sandbox_id)
        if self._meter.ended(sandbox_id):
            self._gate.leave()

    async def retry_kills(self) -> None:
        """Kill what could not be killed when it was to be."""
        unkilled, self._unkilled = self._unkilled, set()
        for sandbox_id in unkilled:
            await self.destroy(sandbox_id)


def _api(options: E2bOptions) -> ApiParams:
    """The SDK's own settings; what is empty is left to it."""
    given: ApiParams = {"request_timeout": CALL_S}
    if options.api_key:
        given["api_key"] = options.api_key
    if options.domain:
        given["domain"] = options.domain
    if options.api_url:
        given["api_url"] = given["sandbox_url"] = options.api_url
    return given
