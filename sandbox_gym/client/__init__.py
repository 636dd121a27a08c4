"""The client of sandbox_gym's servers: verifies, many of them, sessions; on one server or several.

Needs httpx2 and anyio, and nothing of the servers: it must not import them.
"""

from sandbox_gym.client.asynchronous import AsyncClient
from sandbox_gym.client.blocking import BlockingSession, Client
from sandbox_gym.client.errors import ClientError, NoSandbox, NoVerdict, RequestRefused, SandboxLost
from sandbox_gym.client.many import Progress, Verified
from sandbox_gym.client.session import CompletedCommand, Session, SessionTarget
from sandbox_gym.client.verdict import Verdict, VerdictGroup, VerdictInverted, VerdictTest

__all__ = [
    "AsyncClient", "Client",
    "Verdict", "VerdictTest", "VerdictGroup", "VerdictInverted", "Verified", "Progress",
    "Session", "BlockingSession", "SessionTarget", "CompletedCommand",
    "ClientError", "RequestRefused", "NoVerdict", "NoSandbox", "SandboxLost",
]  # fmt: skip
