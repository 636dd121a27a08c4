"""`sandbox-gym top`: shows a server's live state in a terminal, as /dashboard does in a browser."""

from __future__ import annotations

import http.client
import io
import json
import sys
import time
import urllib.error
import urllib.request
from pathlib import Path
from typing import Annotated, Final

import typer
from rich.console import Console
from rich.live import Live
from rich.markup import escape

from sandbox_gym.cli.terminal.options import settings_with
from sandbox_gym.cli.top_picture import Picture, no_answer, picture

TIMEOUT_S: Final = 5.0
MAX_BYTES: Final = 4 << 20
SVG_COLUMNS: Final = 118
_START: Final = "start one (`sandbox-gym serve coding`), or name its address (`sandbox-gym top http://HOST:PORT`)"


class Unreadable(Exception):
    """The server sent no picture. `final`: asking again won't help."""

    def __init__(self, why: str, *, final: bool = False) -> None:
        super().__init__(why)
        self.final = final


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so that a token goes only to the address that it was given for."""

    def redirect_request(self, *_: object) -> None:
        return None


def top(
    url: Annotated[str, typer.Argument(help="The server's address; the settings' host and port unless given.")] = "",
    token: Annotated[
        str | None, typer.Option(help="Operator's token. Prefer SANDBOX_GYM_DASHBOARD_TOKEN or SANDBOX_GYM_TOKEN.")
    ] = None,
    every_s: Annotated[float, typer.Option("--every", min=0.5, max=3600, help="Seconds between pictures.")] = 1.0,
    once: Annotated[bool, typer.Option("--once", help="Draw once, then stop.")] = False,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON lines; with --once one.")] = False,
    svg: Annotated[
        Path | None, typer.Option(dir_okay=False, help="Write one picture to an SVG file, then stop.")
    ] = None,
) -> None:
    """Show a running server's pool, queue, sessions, verdicts, latencies and crashes until Ctrl-C.

    Exit: 0 drawn (--once, --svg), 1 the server gave no picture, 2 wrong usage, settings or token, 130 Ctrl-C.
    """
    settings = settings_with({})
    address = (url or f"http://{settings.host}:{settings.port}").rstrip("/")
    given = token if token is not None else settings.dashboard.token or settings.token
    try:
        if svg is not None:
            _draw(svg, fetch(address, given))
        elif once:
            _say(fetch(address, given), as_json=as_json)
        else:
            _follow(address, given, every_s, as_json=as_json)
    except Unreadable as error:
        Console(stderr=True).print(f"[red]error:[/] {escape(str(error))}", highlight=False, soft_wrap=True)
        raise typer.Exit(2 if error.final else 1) from None


def fetch(address: str, token: str) -> Picture:
    """The current picture. Raises Unreadable."""
    headers = {"Authorization": f"Bearer {token}"} if token else {}
    if not address.startswith(("http://", "https://")):
        raise Unreadable(f"{address!r} is not an http:// or https:// address", final=True)
    request = urllib.request.Request(f"{address}/dashboard/api/live", headers=headers)
    try:
        with urllib.request.build_opener(_NoRedirects).open(request, timeout=TIMEOUT_S) as answer:
            document: object = json.loads(answer.read(MAX_BYTES))
    except urllib.error.HTTPError as error:
        with error:
            raise Unreadable(_refused(address, error.code), final=error.code in (401, 403, 404, 421)) from None
    except OSError as error:
        raise Unreadable(f"no server answers at {address} ({_why(error)}); {_START}") from None
    except (ValueError, http.client.HTTPException):
        raise Unreadable(f"{address} answered with something else than a picture") from None
    if not isinstance(document, dict):
        raise Unreadable(f"{address} answered with something else than a picture")
    return document


def _why(error: OSError) -> str:
    """What the operating system says, without Python's names for it."""
    reason = error.reason if isinstance(error, urllib.error.URLError) else error
    if isinstance(reason, TimeoutError):
        return f"nothing within {TIMEOUT_S:g} s"
    return (reason.strerror if isinstance(reason, OSError) else None) or str(reason)


def _refused(address: str, status: int) -> str:
    words = {
        401: "needs the operator's token: --token, SANDBOX_GYM_DASHBOARD_TOKEN or SANDBOX_GYM_TOKEN",
        403: "has its dashboard closed: set SANDBOX_GYM_DASHBOARD_TOKEN where it runs",
        404: "has no dashboard: another program, an older version, or one with SANDBOX_GYM_DASHBOARD_ENABLED=false",
        421: "has no token, and does not answer at that name: set SANDBOX_GYM_ALLOWED_HOSTS or a token where it runs",
    }
    return f"{address} {words.get(status, f'answered {status}')}"


def _draw(path: Path, document: Picture) -> None:
    console = Console(record=True, width=SVG_COLUMNS, file=io.StringIO(), force_terminal=True)
    console.print(picture(document, SVG_COLUMNS))
    path.write_text(console.export_svg(title="sandbox-gym top"), "utf-8")


def _say(document: Picture, *, as_json: bool) -> None:
    if as_json:
        sys.stdout.write(json.dumps(document) + "\n")
        sys.stdout.flush()
        return
    console = Console()
    console.print(picture(document, console.width))


def _follow(address: str, token: str, every_s: float, *, as_json: bool) -> None:
    """Redraw until Ctrl-C; while the server does not answer, try again."""
    if as_json:
        while True:
            _say(fetch(address, token), as_json=True)
            time.sleep(every_s)
    console = Console()
    document = fetch(address, token)
    with Live(picture(document, console.width), console=console, screen=True, auto_refresh=False) as live:
        while True:
            time.sleep(every_s)
            try:
                live.update(picture(fetch(address, token), console.width), refresh=True)
            except Unreadable as error:
                if error.final:
                    raise
                live.update(no_answer(str(error)), refresh=True)
