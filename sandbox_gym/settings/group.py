"""What all groups of settings have in common. Knows no group."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict


class Group(BaseModel):
    """A group of settings: frozen, and a name that it does not know is refused."""

    model_config = ConfigDict(frozen=True, extra="forbid")
