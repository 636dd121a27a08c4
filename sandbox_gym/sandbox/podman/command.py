"""The `podman` command: how it is called, and its failures as ours. Knows no sandbox."""

from __future__ import annotations

import os
import shutil
import subprocess
from typing import Final

import anyio
from anyio.abc import Process

from sandbox_gym.errors import ConfigurationError, ProviderDown
from sandbox_gym.sandbox.processes import start_process

CALL_TIMEOUT_S: Final = 60.0
_GONE: Final = ("no such container", "no container with", "image not known", "no such image")


class NotFound(ProviderDown):
    """Podman has no such container or image."""


class Podman:
    """Calls Podman as this process's user. Raises ConfigurationError where Podman can't be used."""

    def __init__(self, runtime: str = "") -> None:
        """`runtime`: an OCI runtime by name or path; empty for Podman's own choice."""
        found = shutil.which("podman")
        if found is None:
            raise ConfigurationError("podman is not installed; apt-get install podman, or use another provider")
        if os.geteuid():
            raise ConfigurationError("provider podman needs root: containers have user ids of their own")
        # CONTAINER_HOST would send the call to another machine
        self._command = (found, "--remote=false", *(("--runtime", runtime) if runtime else ()))

    async def open(self, *words: str) -> Process:
        """A command whose standard input and output are pipes. Raises ProviderDown."""
        try:
            return await start_process([*self._command, *words])
        except OSError as error:
            raise ProviderDown(f"podman can't be started: {error}") from error

    async def call(self, *words: str) -> str:
        """What a command prints. Raises ProviderDown, NotFound."""
        try:
            with anyio.fail_after(CALL_TIMEOUT_S):
                done = await anyio.run_process(
                    [*self._command, *words], stdin=subprocess.DEVNULL, check=False, start_new_session=True
                )
        except TimeoutError:
            raise ProviderDown(f"podman {words[0]} took longer than {CALL_TIMEOUT_S:.0f} s") from None
        except OSError as error:
            raise ProviderDown(f"podman can't be started: {error}") from error
        if done.returncode == 0:
            return done.stdout.decode("utf-8", "replace")
        why = done.stderr.decode("utf-8", "replace").strip()[-500:]
        kind = NotFound if any(words in why for words in _GONE) else ProviderDown
        raise kind(f"podman {words[0]} failed: {why}")
