"""One process at a time has a store of instances: a server while it runs, or a command that builds for it meanwhile."""

from __future__ import annotations

import os
from pathlib import Path
from typing import IO, Final

from sandbox_gym.errors import ProviderDown
from sandbox_gym.private import make_private

_NAME: Final = "owner"


def take(store: Path) -> IO[str]:
    """What holds the store for this process until it is closed; the same process may take it again.

    Raises ProviderDown where another has it.
    """
    import fcntl  # not on Windows

    make_private(store)
    file = open(store / _NAME, "a+", encoding="ascii")  # noqa: SIM115  (held open: that is the lock)
    try:
        fcntl.lockf(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (BlockingIOError, PermissionError):
        file.seek(0)
        owner = file.read(20).strip() or "?"
        file.close()
        raise ProviderDown(f"the instances in {store} are in use by process {owner}") from None
    except OSError:
        return file  # a file system without locks
    file.truncate(0)
    file.write(str(os.getpid()))
    file.flush()
    return file
