"""What a client raises. A wrong request is the caller's to mend; without a verdict the sample is to be left out."""

from __future__ import annotations

import re
from typing import Final

_CODE: Final = re.compile(r" gives (E[A-Z0-9]+) \(")


class ClientError(Exception):
    """The root of what `sandbox_gym.client` raises.

    ClientError
    ├── RequestRefused   the request is wrong, or its token is: another try would end the same way
    ├── NoVerdict        what the answer is worth is unknown, and not to be trained on
    └── NoSandbox        a session's call got no answer from a sandbox
        └── SandboxLost  its sandbox was lost during the call
    """


class RequestRefused(ClientError):
    """A 4xx. `field`, `problem` and `remedy` as the server says them, empty where it names no field."""

    def __init__(self, status: int, detail: str, field: str = "", problem: str = "", remedy: str = "") -> None:
        super().__init__(detail)
        self.status, self.field, self.problem, self.remedy = status, field, problem, remedy

    @property
    def code(self) -> str:
        """The kernel's name for why a session's file can't be had (ENOENT), or empty."""
        found = _CODE.search(str(self))
        return found[1] if found else ""


class NoVerdict(ClientError):
    """The row is broken, or no server gave a verdict before the deadline."""

    def __init__(self, kind: str, reason: str, requests: int = 1) -> None:
        super().__init__(f"{kind}: {reason}")
        self.kind = kind
        """As the server's `failure_kind`; of this client's own `no_answer`, `bad_reply` and `deadline_exceeded`."""
        self.reason = reason
        self.requests = requests
        """How many were sent."""


class NoSandbox(ClientError):
    """No answer from a sandbox: the server is down, full or closing, or the sandbox was lost during the call."""


class SandboxLost(NoSandbox):
    """The sandbox was lost during this call, which may not have run; the next one goes on from its last snapshot."""
