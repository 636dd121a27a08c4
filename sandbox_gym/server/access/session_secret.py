"""The secret that signs session cookies and MCP session tokens: random, one for each state directory.

With it one could continue another caller's session, so the file is readable by the server's user alone. It is stored
so that sessions outlive a restart and all workers of a server share it.
"""

from __future__ import annotations

import os
import secrets
import stat
from pathlib import Path
from typing import Final

from itsdangerous import BadSignature, URLSafeTimedSerializer

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.private import state_folder

FILE: Final = "session.key"
TOKEN_HEADER: Final = "X-NeMo-Gym-Session-Token"
TOKEN_LIFETIME_S: Final = 24 * 3600
_SALT: Final = "nemo-gym-mcp-session-token"
_BYTES: Final = 32


def session_secret(state_dir: Path) -> str:
    """The directory's secret, created where missing. Raises ConfigurationError for a file that others can read."""
    path = state_dir / FILE
    try:
        state_folder(state_dir)
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise ConfigurationError(f"state_dir {state_dir}: {FILE} can't be written there: {error}") from error


def _make(path: Path) -> None:
    """Write it whole before it gets its name; of two processes that create one, the first one's stays."""
    new = path.with_name(f"{FILE}.{secrets.token_hex(8)}")
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        with open(fd, "w", encoding="ascii") as file:
            file.write(secrets.token_hex(_BYTES))
            file.flush()
            os.fsync(fd)
        os.link(new, path)
    except FileExistsError:
        pass
    finally:
        new.unlink()


def _read(path: Path) -> str:
    fd = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC)
    with open(fd, "rb") as file:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode) or found.st_uid != os.geteuid() or stat.S_IMODE(found.st_mode) & 0o077:
            raise ConfigurationError(
                f"{path} is readable by others or belongs to another user: remove it, and a new one is created"
            )
        text = file.read(4 * _BYTES)
    if len(text) != 2 * _BYTES or not text.isalnum():
        raise ConfigurationError(f"{path} contains no key: remove it, and a new one is created")
    return text.decode("ascii")


class SessionTokens:
    """Tokens that name the session in calls over MCP, which carry no cookie."""

    def __init__(self, secret: str) -> None:
        self._serializer = URLSafeTimedSerializer(secret, salt=_SALT)

    def grant(self, session_id: str, tenant: str) -> str:
        """`tenant`: the tenant whose key must come with the token; empty for the operator."""
        return str(self._serializer.dumps([session_id, tenant]))

    def session_of(self, token: str) -> tuple[str, str] | None:
        """(session id, tenant), or None for a token that is forged or too old."""
        try:
            session_id, tenant = self._serializer.loads(token, max_age=TOKEN_LIFETIME_S)
        except (BadSignature, ValueError, TypeError):
            return None
        return str(session_id), str(tenant)
