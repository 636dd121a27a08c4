"""Settings as the commands get them: file and environment, with the command's own options on top."""

from __future__ import annotations

from pydantic import ValidationError

from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError


def settings_with(options: dict[str, object]) -> Settings:
    """Settings with every option that is not None on top. Raises ConfigurationError naming what is wrong."""
    given = {name: value for name, value in options.items() if value is not None}
    try:
        return Settings.model_validate(given)
    except ValidationError as error:
        lines = [f"{'.'.join(map(str, e['loc']))}: {e['msg']}" for e in error.errors(include_input=False)]
        raise ConfigurationError("settings: " + "; ".join(lines)) from None
