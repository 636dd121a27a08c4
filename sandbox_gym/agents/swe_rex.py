"""SWE-ReX's deployment on our sandboxes, for SWE-agent: `SWEEnv(deployment=SandboxGymDeployment(row=row), ...)`.

Its runtime is SWE-ReX's own, at a server's /swerex; without a row its `remote` deployment needs none of this.
"""

from __future__ import annotations

import json
import logging
import uuid
from collections.abc import Mapping
from typing import Final

import anyio
import httpx2 as httpx
from swerex.deployment.remote import RemoteDeployment

from sandbox_gym.client import NoSandbox, SessionTarget
from sandbox_gym.client.attempts import retry_after_s
from sandbox_gym.client.session import PATIENCE_S

_NO_TOKEN: Final = "none"
"""SWE-ReX's client wants one."""


class SandboxGymDeployment(RemoteDeployment):
    """One sandbox, made by `start` and gone with `stop`; the server's token comes from SANDBOX_GYM_TOKEN."""

    def __init__(
        self,
        *,
        url: str = "",
        row: Mapping[str, object] | None = None,
        timeout: float = 60.0,
        logger: logging.Logger | None = None,
    ) -> None:
        """`url`: a running server, SANDBOX_GYM_URL unless given; `row`: what the sandbox begins with, where the server
        wants one; `timeout`: seconds of asking whether it is there."""
        target = SessionTarget(url=url) if url else SessionTarget()
        self._row, self._token = row, target.token or _NO_TOKEN
        self._at = f"{target.url.rstrip('/')}/swerex/{uuid.uuid4().hex}"
        super().__init__(logger=logger, host=self._at, auth_token=self._token, timeout=timeout)

    async def start(self) -> None:
        """Raises NoSandbox."""
        try:
            with anyio.fail_after(PATIENCE_S):
                await self._post("seed_session", dict(self._row or {}))
                await self._post("execute", {"command": "true"})
        except (httpx.HTTPError, TimeoutError) as error:
            raise NoSandbox(f"{self._at} gives no answer: {error or type(error).__name__}") from error
        await super().start()

    async def stop(self) -> None:
        """Idempotent: its base's finalizer asks for it, too."""
        if self._runtime is not None:
            await super().stop()

    async def _post(self, operation: str, body: Mapping[str, object]) -> None:
        """Asked again while the server is full."""
        headers = {"X-API-Key": self._token, "Content-Type": "application/json"}
        async with httpx.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            while True:
                reply = await http.post(f"{self._at}/{operation}", content=json.dumps(body))
                if reply.status_code == 200:
                    return
                if reply.status_code not in (429, 503):
                    raise NoSandbox(f"{self._at}/{operation} answers {reply.status_code}: {reply.text[:1000]}")
                await anyio.sleep(min(30.0, retry_after_s(reply)))
