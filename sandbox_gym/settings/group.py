"""What all groups of settings have in common. Knows no group."""

from __future__ import annotations

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationInfo, field_validator


class Group(BaseModel):
    """A group of settings: frozen, a name that it does not know is refused, and so is a number without an end."""

    model_config = ConfigDict(frozen=True, extra="forbid", allow_inf_nan=False)

    @field_validator("*", mode="before")
    @classmethod
    def _names_a_path(cls, value: object, info: ValidationInfo) -> object:
        """An empty path would be the working folder."""
        if value == "" and cls.model_fields[str(info.field_name)].annotation in (Path, Path | None):
            raise ValueError("is empty: name a path, or leave the setting out")
        return value
