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
from sandbox_gym.cli.audit import audit as _audit
from sandbox_gym.cli.cluster import cluster as _cluster
from sandbox_gym.cli.doctor import doctor as _doctor
from sandbox_gym.cli.images import images as _images
from sandbox_gym.cli.packages import check_package as _check_package
from sandbox_gym.cli.packages import import_package as _import_package
from sandbox_gym.cli.pool import pool as _pool
from sandbox_gym.cli.records.export import export as _export
from sandbox_gym.cli.records.rejudge import rejudge as _rejudge
from sandbox_gym.cli.records.verdicts import verdicts as _verdicts
from sandbox_gym.cli.serve import serve as _serve
from sandbox_gym.cli.swe import swe as _swe
from sandbox_gym.cli.terminal.completion import completion as _completion
from sandbox_gym.cli.terminal.screen import log_to_stderr, say, visible
from sandbox_gym.cli.terminal.signals import interrupted_code, take_signals
from sandbox_gym.cli.top import top as _top
from sandbox_gym.cli.verify import verify as _verify
from sandbox_gym.errors import SandboxGymError, Unavailable

INTERRUPTED = 130
_EXIT_CODES = (
    "Exit codes: 0 success; 1 a finding or a failure: a row without a verdict, a weak row, a verdict that differs;"
    " 2 wrong usage or settings; 130 interrupted by SIGINT, 143 by SIGTERM. docs/reference/cli.md has each command's."
)
_app = typer.Typer(name="sandbox-gym", no_args_is_help=True, pretty_exceptions_enable=False, epilog=_EXIT_CODES)
_app.command()(_verify)
_app.command()(_doctor)
_app.command()(_serve)
_app.command()(_top)
_app.add_typer(_pool)
_app.add_typer(_cluster)
_app.add_typer(_swe)
_app.add_typer(_images)
_app.command()(_verdicts)
_app.command()(_rejudge)
_app.command()(_export)
_app.command()(_audit)
_app.command()(_check_package)
_app.command()(_import_package)
_app.command()(_completion)


def _version(wanted: bool) -> None:
    if wanted:
        Console().print(f"sandbox-gym {__version__}", highlight=False)
        raise typer.Exit


@_app.callback()
def _root(
    version: Annotated[bool, typer.Option("--version", callback=_version, is_eager=True, help="Show it.")] = False,
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
