"""What a log says of an error: where it was, and no value of any variable."""

from __future__ import annotations

import io
import sys

import pytest
import structlog

from sandbox_gym.cli.terminal.screen import log_to_stderr
from sandbox_gym.observe.tracebacks import without_locals
from sandbox_gym.server.serving import bound_logs

SECRET = "hunt" + "er2"


def fails(token: str) -> None:
    expected = token * 2
    raise ValueError(f"of {len(expected)} letters")


def logged() -> str:
    out = io.StringIO()
    log = structlog.wrap_logger(structlog.PrintLogger(out))
    try:
        fails(SECRET)
    except ValueError as error:
        log.error("failed", exc_info=error)
    return out.getvalue()


def test_logs_show_no_values_whoever_configured_them() -> None:
    before = structlog.get_config()["processors"]
    try:
        for configure in (log_to_stderr, bound_logs, log_to_stderr):
            structlog.configure(processors=without_locals(before))
            configure()
            text = logged()
            assert "of 14 letters" in text
            assert "in fails" in text
            assert SECRET not in text
            structlog.reset_defaults()
            configure()
            assert SECRET not in logged()
    finally:
        structlog.configure(processors=before)


@pytest.mark.parametrize("terminal", [True, False])
@pytest.mark.parametrize(("name", "colours"), [("", None), ("NO_COLOR", False), ("FORCE_COLOR", True)])
def test_logs_are_in_colour_on_terminals_alone(
    monkeypatch: pytest.MonkeyPatch, name: str, colours: bool | None, terminal: bool
) -> None:
    for one in ("NO_COLOR", "FORCE_COLOR"):
        monkeypatch.delenv(one, raising=False)
    if name:
        monkeypatch.setenv(name, "1")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: terminal, raising=False)
    (shown,) = without_locals([structlog.dev.ConsoleRenderer()])
    line = shown(None, "warning", {"event": "box_lost", "level": "warning"})
    assert ("\x1b" in str(line)) == (terminal if colours is None else colours)
