"""Settings out of the environment. A variable that is nearly a setting's is refused, one of another program ignored."""

from __future__ import annotations

import difflib
import json
import os
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.settings.names import groups, paths

PREFIX: Final = "SANDBOX_GYM_"
_NEAR: Final = 0.8
"""How much alike two names must be (1 is the same) for one to be taken for a misspelling of the other. Their first
letters are always the same: SANDBOX_GYM_ISOLATION, which sandboxes have, is no misspelling of `e2b_isolation`."""


class Environment(EnvSettingsSource):
    """The source of the environment's settings. Raises ConfigurationError."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls)
        self._groups = groups(settings_cls)
        self._names = sorted(paths(settings_cls))

    def __call__(self) -> dict[str, Any]:
        check_names(os.environ, self._groups, self._names)
        try:
            return super().__call__()
        except SettingsError as error:
            raise ConfigurationError(self._no_json() or f"settings: {error}") from None

    def explode_env_vars(self, field_name: str, field: FieldInfo, env_vars: Mapping[str, str | None]) -> dict[str, Any]:
        found: dict[str, Any] = super().explode_env_vars(field_name, field, env_vars)
        group = self._groups.get(field_name)
        return found if group is None else {name: value for name, value in found.items() if name in group.model_fields}

    def _no_json(self) -> str:
        """Which variable is no JSON although its setting is a list or a table."""
        for name, (*table, field) in paths(self.settings_cls).items():
            model = self._groups[table[0]] if table else self.settings_cls
            given = os.environ.get(PREFIX + name.upper(), "")
            if given and get_origin(model.model_fields[field].annotation) in (list, dict):
                try:
                    json.loads(given)
                except ValueError:
                    return f"{PREFIX}{name.upper()} is no JSON, which lists and tables are written in"
        return ""


def check_names(variables: Iterable[str], tables: Iterable[str], names: list[str]) -> None:
    """Raises ConfigurationError for a variable that is a table's name, or nearly a setting's."""
    for variable in variables:
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or name in names:
            continue
        if name in tables:
            fields = ", ".join(PREFIX + each.upper() for each in names if each.startswith(f"{name}_"))
            raise ConfigurationError(f"{variable} is a table of settings, not one of them: set {fields}")
        near = difflib.get_close_matches(name, [each for each in names if each[0] == name[:1]], 1, _NEAR)
        if near:
            raise ConfigurationError(f"{variable} is no setting; did you mean {PREFIX}{near[0].upper()}?")
