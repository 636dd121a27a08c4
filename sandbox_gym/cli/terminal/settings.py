"""Settings as the commands get them: file and environment, with the command's own options on top."""

from __future__ import annotations

from sandbox_gym.config import Settings


def settings_with(options: dict[str, object]) -> Settings:
    """Settings with every option that is not None on top, by flat name. Raises ConfigurationError."""
    return Settings.from_flat({name: value for name, value in options.items() if value is not None})
