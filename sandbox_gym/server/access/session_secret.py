"""The secret that session cookies and MCP session tokens are signed with: random, one for each state folder.

Whoever can sign can go on in another caller's session, so the file is the server's user's alone. It is kept, so that
sessions outlive a restart, and all workers of a server read the same one.
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
    """The folder's secret, made where there is none. Raises ConfigurationError for a file that others may know."""
    path = state_dir / FILE
    try:
        state_folder(state_dir)
        if not path.exists():
            _make(path)
        return _read(path)
    except OSError as error:
        raise ConfigurationError(f"state_dir {state_dir}: no {FILE} can be kept there: {error}") from error


def _make(path: Path) -> None:
    """Written whole before it has its name; of two processes that make one, the first one's stays."""
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
            raise ConfigurationError(f"{path} is readable by others, or another user's: remove it, a new one is made")
        text = file.read(4 * _BYTES)
    if len(text) != 2 * _BYTES or not text.isalnum():
        raise ConfigurationError(f"{path} holds no key: remove it, a new one is made")
    return text.decode("ascii")


class SessionTokens:
    """The tokens by which calls over MCP name their session, where no cookie comes."""

    def __init__(self, secret: str) -> None:
        self._serializer = URLSafeTimedSerializer(secret, salt=_SALT)

    def grant(self, session_id: str, tenant: str) -> str:
        """`tenant`: whose key has to come with the token; empty for the operator's."""
        return str(self._serializer.dumps([session_id, tenant]))

    def session_of(self, token: str) -> tuple[str, str] | None:
        """(session id, tenant), or None for a token that is none of ours, or too old."""
        try:
            session_id, tenant = self._serializer.loads(token, max_age=TOKEN_LIFETIME_S)
        except (BadSignature, ValueError, TypeError):
            return None
        return str(session_id), str(tenant)
