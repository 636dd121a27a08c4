"""Which state folder a snapshot's image belongs to, and when that folder is certainly gone. Blocking, and quick."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from sandbox_gym.private import make_private, write_whole
from sandbox_gym.sandbox.cleanup.owner import Owners, is_near, parse_owner, this_owner

KEEPER_LABEL: Final = "sandbox-gym.keeper"
FOLDER_LABEL: Final = "sandbox-gym.folder"
_SALT: Final = "keeper"


def keeper_of(folder: Path) -> str:
    """The folder's name at an engine, made once. Two servers in containers may have one path, and each its own disk; a
    folder that has been moved is another."""
    if not (folder / _SALT).exists():
        make_private(folder)
        write_whole(folder / _SALT, secrets.token_bytes(16))
    return _keeper(folder.resolve())


def _keeper(folder: Path) -> str:
    return hashlib.sha256(os.fsencode(folder) + (folder / _SALT).read_bytes()).hexdigest()[:16]


def marks(folder: Path, keeper: str) -> dict[str, str]:
    """The labels of an image that this process makes."""
    where = [str(this_owner()), _mounts(), folder.stat().st_dev, str(folder.resolve())]
    return {KEEPER_LABEL: keeper, FOLDER_LABEL: base64.b64encode(json.dumps(where).encode()).decode()}


def kept_in(labels: Mapping[str, str]) -> Path | None:
    """An image's folder, where it is seen from here and has the keeper's name still. Raises OSError."""
    try:
        folder = folder_of(labels)
        return folder if _keeper(folder) == labels[KEEPER_LABEL] else None
    except (KeyError, ValueError, TypeError, FileNotFoundError, NotADirectoryError):
        return None


def folder_of(labels: Mapping[str, str]) -> Path:
    """As its maker called it. Raises KeyError, ValueError, TypeError for a label that is none."""
    return Path(_where(labels)[3])


def _where(labels: Mapping[str, str]) -> tuple[str, int, int, str]:
    made_by, mounts, device, path = json.loads(base64.b64decode(labels[FOLDER_LABEL]))
    return str(made_by), int(mounts), int(device), str(path)


def why_gone(owners: Owners, labels: Mapping[str, str]) -> str:
    """Why no server can have an image's snapshot any more; empty where one may. Known only to who sees the disk as the
    image's maker saw it: a folder that is not there may be on a disk that is mounted elsewhere, or not now."""
    try:
        made_by, mounts, device, path = _where(labels)
        owner, folder = parse_owner(made_by), Path(path)
        if owner is None or not is_near(owner) or mounts != _mounts() or not owners.why_dead(owner):
            return ""
        above = next(one for one in (folder, *folder.parents) if one.exists())
        if kept_in(labels) is not None or above.stat().st_dev != device:
            return ""
    except (KeyError, ValueError, TypeError, OSError):  # nothing that can be read
        return ""
    return f"its folder {folder} is gone"


def _mounts() -> int:
    return os.stat("/proc/self/ns/mnt").st_ino
