"""This machine's pip settings, as far as they mean something in a build's box: where packages come from.

Folders and files of this machine do not; certificates are brought along. Reads the environment and pip's own files.
"""

from __future__ import annotations

import os
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Final

from sandbox_gym.guest.sdist import settings_of

BUNDLE: Final = "/tmp/ca-bundle.crt"
"""Where a build's box has this machine's certificates; no snapshot holds it."""
_WITH_ADDRESSES: Final = ("index-url", "extra-index-url", "find-links", "proxy")
_PLAIN: Final = ("trusted-host", "no-index", "timeout", "default-timeout", "retries", "prefer-binary")
_PROXIES: Final = ("HTTPS_PROXY", "HTTP_PROXY", "NO_PROXY", "https_proxy", "http_proxy", "no_proxy")
_ASK_S: Final = 30.0


def pip_settings() -> dict[str, str]:
    """Environment variables for builds alone. Blocking."""
    given = _configured()
    found = {name: os.environ[name] for name in _PROXIES if os.environ.get(name)}
    for name in (*_WITH_ADDRESSES, *_PLAIN):
        words = given.get(name, "").split()
        kept = [word for word in words if name in _PLAIN or word.startswith(("https://", "http://"))]
        if kept:
            found["PIP_" + name.upper().replace("-", "_")] = " ".join(kept)
    if certificates() is not None:
        found.update(dict.fromkeys(("PIP_CERT", "SSL_CERT_FILE", "REQUESTS_CA_BUNDLE"), BUNDLE))
    return {**found, "PIP_DISABLE_PIP_VERSION_CHECK": "1", "PIP_NO_CACHE_DIR": "1"}


def certificates() -> Path | None:
    """The certificates that this machine's pip trusts, which may be more than an image's."""
    named = [os.environ.get(name, "") for name in ("PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE")]
    named += [_configured().get("cert", ""), "/etc/ssl/certs/ca-certificates.crt"]
    return next((Path(name) for name in named if name and Path(name).is_file()), None)


def _configured() -> dict[str, str]:
    environment = {name: value for name, value in os.environ.items() if name.startswith("PIP_")}
    return _asked(tuple(sorted(environment.items())))


@cache
def _asked(environment: tuple[tuple[str, str], ...]) -> dict[str, str]:
    """What pip says of itself in an environment; where there is none, what the environment says to one."""
    command = [sys.executable, "-m", "pip", "config", "list"]
    try:
        asked = subprocess.run(command, capture_output=True, text=True, check=True, timeout=_ASK_S)
        found: dict[str, str] = settings_of(asked.stdout)
    except (OSError, subprocess.SubprocessError, ValueError, SyntaxError):
        return {name.removeprefix("PIP_").lower().replace("_", "-"): value for name, value in environment}
    return found
