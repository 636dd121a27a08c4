"""The command line. The one place that prints: through rich, and JSON lines as they are.

Exit codes of every command: 0 success, 1 a finding or a failure, 2 wrong usage or settings, 130 or 143 interrupted.
An error is one line, `error: ...`, on stderr.
"""

from __future__ import annotations

import sys
from typing import Annotated

import typer
from rich.console import Console

from sandbox_gym import __version__
from sandbox_gym.cli.commands import RootGroup
from sandbox_gym.cli.terminal.screen import log_to_stderr, say, visible
from sandbox_gym.cli.terminal.signals import interrupted_code, take_signals
from sandbox_gym.errors import SandboxGymError, Unavailable

INTERRUPTED = 130
_EXIT_CODES = (
    "Exit codes: 0 success; 1 a finding or a failure: a row without a verdict, a weak row, a verdict that differs;"
    " 2 wrong usage or settings; 130 interrupted by SIGINT, 143 by SIGTERM. docs/reference/cli.md has each command's."
)
_app = typer.Typer(
    name="sandbox-gym", cls=RootGroup, no_args_is_help=True, pretty_exceptions_enable=False, epilog=_EXIT_CODES
)


def _version(wanted: bool) -> None:
    if wanted:
        Console().print(f"sandbox-gym {__version__}", highlight=False)
        raise typer.Exit


@_app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Run models' answers in sandboxes and judge them."""
    log_to_stderr()


def main() -> None:
    """The entry point."""
    take_signals()
    try:
        _run()
    except SystemExit as end:  # typer's own of a KeyboardInterrupt knows one signal only
        if end.code != INTERRUPTED:
            raise
        raise SystemExit(interrupted_code()) from None


def _run() -> None:
    code, wrong = 0, ""
    try:
        _app()
    except* SandboxGymError as group:  # raised alone or from a task group
        error: BaseException = group
        while isinstance(error, BaseExceptionGroup):
            error = error.exceptions[0]
        code, wrong = 1 if isinstance(error, Unavailable) else 2, str(error) or type(error).__name__
    except* KeyboardInterrupt:  # from a task group, where typer does not handle it
        code, wrong = INTERRUPTED, "interrupted"
    if code:
        say(f"[red]error:[/] {visible(wrong, breaks=True)}")
        sys.exit(code)
