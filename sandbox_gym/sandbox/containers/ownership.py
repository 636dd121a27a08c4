"""Whose containers are whose: labels and names of what this process makes, and when an owner is dead.

A container counts as ours where its label *and* its name say so: labels are inherited from images (a commit copies a
container's into the image), names are not.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterable, Mapping
from typing import Final

from sandbox_gym.sandbox.cleanup.owner import EXPIRY_GRACE_S, Owner, Owners, parse_owner, this_owner

OWNER: Final = "sandbox-gym.owner"
EXPIRES: Final = "sandbox-gym.expires"
_NAME: Final = "sandbox-gym"
_numbers = itertools.count()


def labels(lifetime_s: float) -> dict[str, str]:
    """For everything that this process makes. `lifetime_s`: how long it is used at most."""
    return {OWNER: str(this_owner()), EXPIRES: str(int(time.time() + lifetime_s + EXPIRY_GRACE_S))}


def container_name() -> str:
    """A name of its own, that says whose the container is."""
    return f"{_NAME}-{this_owner()}-{next(_numbers)}"


def owner_of(marks: Mapping[str, str]) -> Owner | None:
    """Whom the labels name."""
    return parse_owner(str(marks.get(OWNER) or ""))


def is_named_for(owner: Owner, names: Iterable[str]) -> bool:
    """Whether one of a container's names is its owner's."""
    return any(name.removeprefix("/").startswith(f"{_NAME}-{owner}-") for name in names)


def why_dead(owners: Owners, owner: Owner, marks: Mapping[str, str]) -> str:
    """Why what is labelled so has no living owner; empty where it may have one."""
    text = str(marks.get(EXPIRES) or "")
    expires_at = float(text) if text.isascii() and text.isdigit() and len(text) <= 12 else None
    return owners.why_dead(owner, expires_at)
