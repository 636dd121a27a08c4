"""Settings out of the environment. A variable of our prefix that is no setting is refused, with the name nearest to it;
those of other programs, and those that Kubernetes makes of Services, are ignored."""

from __future__ import annotations

import difflib
import json
import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final, get_origin

from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, EnvSettingsSource, SettingsError

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.settings.group import groups, paths

PREFIX: Final = "SANDBOX_GYM_"
_NEAR: Final = 0.75
"""How much alike two names must be (1 is the same) for one to be taken for a misspelling of the other."""
_OTHERS: Final = frozenset(("url", "pool_token", "math_url", "swe_url", "isolation", "owner", "procs", "repository"))
"""What clients, docker-compose.yml and sandboxes call theirs."""
_TESTS: Final = "test_"
_LINK: Final = re.compile(r"(?:.*_)?(?:service_host|service_port(?:_.*)?|port_\d+_(?:tcp|udp|sctp)(?:_.*)?)")
"""Kubernetes gives pods the address of each Service: one called sandbox-gym is in SANDBOX_GYM_PORT=tcp://10.0.0.1:80,
SANDBOX_GYM_SERVICE_HOST and others."""


class Environment(EnvSettingsSource):
    """The source of the environment's settings. Raises ConfigurationError."""

    def __init__(self, settings_cls: type[BaseSettings]) -> None:
        super().__init__(settings_cls)
        self._groups = groups(settings_cls)
        self._names = sorted(paths(settings_cls))

    def __call__(self) -> dict[str, Any]:
        linked = _links(os.environ)
        self.env_vars = {name: value for name, value in self.env_vars.items() if name.upper() not in linked}
        check_names(set(os.environ) - linked, self._groups, self._names)
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


def _links(variables: Mapping[str, str]) -> set[str]:
    """The variables that Kubernetes makes of Services."""
    found = set()
    for variable, value in variables.items():
        name = variable.removeprefix(PREFIX).lower()
        address = name.endswith("port") and value.startswith(("tcp://", "udp://", "sctp://"))
        if variable.startswith(PREFIX) and (address or _LINK.fullmatch(name)):
            found.add(variable)
    return found


def check_names(variables: Iterable[str], tables: Iterable[str], names: list[str]) -> None:
    """Raises ConfigurationError for a variable that is a table's name, or no setting's."""
    for variable in variables:
        name = variable.removeprefix(PREFIX).lower()
        if not variable.startswith(PREFIX) or name in names or name in _OTHERS or name.startswith(_TESTS):
            continue
        if name in tables:
            fields = ", ".join(PREFIX + each.upper() for each in names if each.startswith(f"{name}_"))
            raise ConfigurationError(f"{variable} is a table of settings, not one of them: set {fields}")
        near = nearest(name, names)
        remedy = f"did you mean {PREFIX}{near.upper()}?" if near else "docs/reference/settings.md has them all"
        raise ConfigurationError(f"{variable} is no setting; {remedy}")


def nearest(name: str, names: Iterable[str]) -> str:
    """The setting that a name is probably meant for, by flat names; empty where none is like it."""
    return next(iter(difflib.get_close_matches(name, list(names), 1, _NEAR)), "")
