"""The commands by name, each imported when it is asked for: the engine and the verifiers take most of a second, which a
completion, a usage error or a command that needs neither saves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from importlib import import_module
from typing import Any, Final

import typer
from typer.core import TyperGroup
from typer.main import get_command, get_group

_SOURCES: Final = {
    "verify": "verify:verify",
    "doctor": "doctor:doctor",
    "load": "load:load",
    "serve": "serve:serve",
    "top": "top:top",
    "verdicts": "records.verdicts:verdicts",
    "rejudge": "records.rejudge:rejudge",
    "export": "records.export:export",
    "audit": "audit:audit",
    "check-package": "packages:check_package",
    "import-package": "packages:import_package",
    "completion": "terminal.completion:completion",
    "pool": "pool:pool",
    "cluster": "cluster:cluster",
    "swe": "images:swe",
    "images": "images:images",
}
"""The module of this package and the function in it, or the group, in the order of `--help`."""


class Commands(MutableMapping[str, Any]):
    """All commands by name; a value is imported by the first look at it."""

    def __init__(self) -> None:
        self._known: dict[str, Any] = dict.fromkeys(_SOURCES)

    def __getitem__(self, name: str) -> Any:
        if self._known[name] is None:
            module, _, attribute = _SOURCES[name].partition(":")
            self._known[name] = _made(name, getattr(import_module(f"sandbox_gym.cli.{module}"), attribute))
        return self._known[name]

    def __setitem__(self, name: str, command: Any) -> None:
        self._known[name] = command

    def __delitem__(self, name: str) -> None:
        del self._known[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._known)

    def __len__(self) -> int:
        return len(self._known)


class RootGroup(TyperGroup):
    """The group of all commands."""

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self.commands = Commands()

    def list_commands(self, ctx: object) -> list[str]:
        return list(self.commands)


def _made(name: str, found: Callable[..., object] | typer.Typer) -> Any:
    """A command of a function, or a group."""
    if isinstance(found, typer.Typer):
        return get_group(found)
    app = typer.Typer(add_completion=False)
    app.command(name)(found)
    return get_command(app)
