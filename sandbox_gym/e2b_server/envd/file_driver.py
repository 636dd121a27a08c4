"""What reads and writes files for a user, who may have more of them than a process of that user."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping

from sandbox_gym.e2b_server.sandboxes.sandbox import Sandbox
from sandbox_gym.sandbox.channel.envd import ROOT_USER, USER, Envd, Header, Refused

Drivers = Callable[[Sandbox, str], Awaitable[Envd]]


class FileDriver:
    """A user's driver; root's from the first file on that this user may not have, where the sandbox has a root. At E2B
    root handles all files; what is made is the user's."""

    def __init__(self, drivers: Drivers, sandbox: Sandbox, user: str, envd: Envd) -> None:
        self.envd = envd
        self._drivers, self._sandbox = drivers, sandbox
        self._may_more = user == USER and sandbox.may_root

    async def call(self, request: Header, body: bytes = b"") -> tuple[Header, bytes]:
        """See Envd.call. Raises what a start of root's driver does, too."""
        try:
            return await self.envd.call(request, body)
        except Refused as error:
            if error.code != "permission_denied" or not self._may_more:
                raise
        self.envd, self._may_more = await self._drivers(self._sandbox, ROOT_USER), False
        return await self.envd.call({**request, "owner": USER}, body)

    async def tidy(self, request: Mapping[str, object]) -> None:
        """See Envd.tidy."""
        await self.envd.tidy(request)
