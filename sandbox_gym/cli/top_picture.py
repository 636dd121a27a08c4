"""The live picture as rich renderables. Every text is printed without markup and control characters.

The server has sanitized its texts already; this module does it again, because the server need not be trusted.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from rich.console import Group, RenderableType
from rich.panel import Panel
from rich.table import Table
from rich.text import Text

from sandbox_gym.observe.sanitize import sanitized

Picture = Mapping[str, object]
_STYLES: Final = {"passed": "green", "failed": "red", "no_verdict": "yellow"}
_SIGNS: Final = {"passed": "✓", "failed": "✗", "no_verdict": "∅"}
_FEED: Final = {"crash": "red", "provider_down": "red", "retry": "yellow", "quarantine": "yellow"}
_BLOCKS: Final = " ▁▂▃▄▅▆▇█"
_WIDE: Final = 100
_MEDIUM: Final = 74
_ROWS: Final = 8
_LATEST: Final = 10
_RISES: Final = 4


def picture(document: Picture, width: int) -> RenderableType:
    """The whole picture, in two columns where the terminal is wide enough."""
    parts = [part for part in _panels(document) if part is not None]
    body: list[RenderableType] = [_head(document)]
    if width < _WIDE:
        return Group(*body, *parts, *_below(document, width))
    for left, right in zip(parts[::2], [*parts[1::2], Text("")], strict=False):
        row = Table.grid(expand=True, padding=(0, 1, 0, 0))
        row.add_column(ratio=1)
        row.add_column(ratio=1)
        row.add_row(left, right)
        body.append(row)
    return Group(*body, *_below(document, width))


def no_answer(why: str) -> RenderableType:
    """Shown while the server does not answer."""
    return Text(f"No answer, trying again: {sanitized(why, 300)}", style="red")


def _head(document: Picture) -> RenderableType:
    server, verdicts = _map(document, "server"), _map(document, "verdicts")
    facts = [
        _word(server.get("name")),
        _word(server.get("provider")),
        f"isolation {_word(server.get('isolation'))}" if server.get("isolation") else "",
        f"up {_seconds(time.time() - _number(server, 'started_at'))}",
        f"{_count(verdicts, 'total')} verifies" if verdicts else "",
    ]
    line = Text(" sandbox-gym top  ", style="bold")
    line.append("  ".join(fact for fact in facts if fact), style="default")
    if verdicts:
        line.append(f"\n {_rate(verdicts):.1f} verdicts/s ", style="dim")
        line.append(_sparks(verdicts), style="cyan")
    return line


def _panels(document: Picture) -> Iterator[RenderableType | None]:
    yield _pool(_map(document, "pool"), _map(document, "queue"))
    yield _mix(_map(document, "verdicts"))
    yield _phases(_rows(document, "phases"))
    yield _sessions(_map(document, "sessions"), _map(document, "feed"))
    yield _tenants(_map(document, "sandboxes"))


def _below(document: Picture, width: int) -> Iterator[RenderableType]:
    verdicts, sandboxes = _map(document, "verdicts"), _map(document, "sandboxes")
    rises = _rows(_map(document, "radar"), "rises")
    if rises:
        lines = [Text(_word(rise.get("text"), 600), style="red") for rise in rises[:_RISES]]
        yield Panel(Group(*lines), title="radar", title_align="left", border_style="red")
    if verdicts:
        yield Panel(
            _latest(_rows(verdicts, "latest"), width), title="latest verdicts", title_align="left", border_style="dim"
        )
    if sandboxes:
        yield Panel(_boxes(_rows(sandboxes, "latest")), title="sandboxes", title_align="left", border_style="dim")


def _panel(title: str, content: RenderableType) -> Panel:
    return Panel(content, title=title, title_align="left", border_style="dim")


def _pool(pool: Picture, queue: Picture) -> RenderableType | None:
    if not pool:
        return None
    busy, warm, slots = (int(_number(pool, name)) for name in ("leased", "warm", "slots"))
    shown = min(slots, 40)
    bar = Text()
    for index in range(shown):
        spot = index * slots // shown if shown else 0
        style = "blue" if spot < busy else "cyan" if spot < busy + warm else "bright_black"
        bar.append("■ " if slots <= 20 else "■", style=style)
    lines = [bar, Text(f"busy {busy}  warm {warm}  slots {slots}  given out at most {_count(pool, 'limit')}")]
    names = ("alive", "started", "reused", "discarded", "start_failures", "crashes")
    words = (f"{name.replace('start_failures', 'failed')} {_count(pool, name)}" for name in names)
    lines.append(Text("  ".join(words), style="dim"))
    waiting = "  ".join(
        f"{_word(one.get('tenant')) or '(none)'} {_count(one, 'waiting')}" for one in _rows(queue, "tenants")
    )
    style = "yellow" if _number(queue, "waiting") else "dim"
    lines.append(Text(f"waiting {_count(queue, 'waiting')}" + (f": {waiting}" if waiting else ""), style=style))
    return _panel("pool", Group(*lines))


def _mix(verdicts: Picture) -> RenderableType | None:
    if not verdicts:
        return None
    table = _table("verdict", "5 min", "all", "")
    shares = _rows(verdicts, "mix")
    most = max([1.0, *(_number(share, "recent") for share in shares)])
    for share in shares[:_ROWS]:
        kind = _word(share.get("kind"))
        style = _STYLES.get(kind, "default")
        name = Text(f"{_SIGNS.get(kind, '?')} {_word(share.get('reason')).replace('_', ' ')}", style=style)
        bar = Text(
            "█" * max(int(_number(share, "recent") > 0), round(16 * _number(share, "recent") / most)), style=style
        )
        table.add_row(name, Text(_count(share, "recent")), Text(_count(share, "total")), bar)
    return _panel("verdict mix", table if shares else Text("no verify has ended yet", style="dim"))


def _phases(phases: Sequence[Picture]) -> RenderableType | None:
    if not phases:
        return None
    table = _table("phase", "p50", "p95", "of")
    for phase in phases[:_ROWS]:
        cells = (_seconds(_number(phase, "p50_s")), _seconds(_number(phase, "p95_s")), _count(phase, "count"))
        table.add_row(Text(_word(phase.get("name"))), *map(Text, cells))
    return _panel("latencies", table)


def _sessions(sessions: Picture, feed: Picture) -> RenderableType | None:
    if not sessions and not feed:
        return None
    lines: list[Text] = []
    if sessions:
        live, asleep = _count(sessions, "live"), _count(sessions, "hibernated")
        lines.append(Text(f"sessions: {live} live, {asleep} hibernated"))
    counts = _map(feed, "counts")
    lines.append(
        Text("  ".join(f"{_word(kind)} {_count(counts, kind)}" for kind in counts) or "no crashes", style="dim")
    )
    for event in _rows(feed, "events")[: _ROWS - 2]:
        kind = _word(event.get("kind"))
        line = Text(f"{_clock(_number(event, 'at'))} ", style="dim", no_wrap=True, overflow="ellipsis")
        line.append(f"{kind} ", style=_FEED.get(kind, "default"))
        line.append(f"{_word(event.get('cause'))} {_word(event.get('why'), 200)}")
        lines.append(line)
    return _panel("sessions, crashes and retries", Group(*lines))


def _tenants(sandboxes: Picture) -> RenderableType | None:
    if not sandboxes:
        return None
    running, paused, most = (_count(sandboxes, name) for name in ("running", "paused", "most"))
    table = _table("tenant", "running", "paused")
    for one in _rows(sandboxes, "tenants")[:_ROWS]:
        table.add_row(Text(_word(one.get("tenant"))), Text(_count(one, "running")), Text(_count(one, "paused")))
    return _panel("tenants", Group(Text(f"{running} of {most} running, {paused} paused"), table))


def _latest(rows: Sequence[Picture], width: int) -> RenderableType:
    """Every column where there is room; the task and what it is worth where there is not."""
    wide = width >= _MEDIUM
    names = (
        ("verdict", "task", "reward", "tests", "tries", "seconds", "ended") if wide else ("verdict", "task", "reward")
    )
    table = _table(*names, texts=2)
    for one in rows[:_LATEST]:
        kind, reward = _word(one.get("kind")), one.get("reward")
        marks = f"  ⚠ {_count(one, 'tamper')} tamper" if _number(one, "tamper") else ""
        reason = f"{_SIGNS.get(kind, '?')} {_word(one.get('reason')).replace('_', ' ')}"
        cells = [
            Text(reason, style=_STYLES.get(kind, "default")),
            Text(_word(one.get("label"), 60) + marks),
            Text("–" if reward is None else f"{_number(one, 'reward'):g}"),
            Text(f"{_count(one, 'passed')}/{_count(one, 'tests')}"),
            Text(_count(one, "attempts")),
            Text(_seconds(_number(one, "seconds"))),
            Text(_clock(_number(one, "at"))),
        ]
        table.add_row(*cells[: len(names)])
    return table if rows else Text("none yet", style="dim")


def _boxes(rows: Sequence[Picture]) -> RenderableType:
    table = _table("sandbox", "tenant", "state", "age", texts=3)
    for one in rows[:_LATEST]:
        age = _seconds(max(0.0, time.time() - _number(one, "started_at")))
        state = Text("running", style="green") if one.get("running") is True else Text("paused", style="dim")
        table.add_row(Text(_word(one.get("id"))), Text(_word(one.get("tenant"))), state, Text(age))
    return table if rows else Text("no tenant has a sandbox", style="dim")


def _table(*names: str, texts: int = 1) -> Table:
    """Columns of text first, then columns of numbers."""
    table = Table(box=None, pad_edge=False, expand=True, header_style="dim")
    for index, name in enumerate(names):
        wide = texts > 1 and index == 1
        table.add_column(
            name, justify="left" if index < texts or not name else "right", no_wrap=True, ratio=1 if wide else None
        )
    return table


def _sparks(verdicts: Picture) -> str:
    sums = _sums(verdicts)[-60:]
    most = max([1, *sums])
    return "".join(_BLOCKS[-(-8 * one // most)] for one in sums)


def _rate(verdicts: Picture) -> float:
    """Verifies per second in the last six bins."""
    return sum(_sums(verdicts)[-6:]) / (6 * max(1.0, _number(verdicts, "bin_s")))


def _sums(verdicts: Picture) -> Sequence[int]:
    rates = verdicts.get("rates")
    return [sum(bin_) for bin_ in rates if _are_numbers(bin_)] if isinstance(rates, list) else []


def _are_numbers(value: object) -> bool:
    return isinstance(value, list) and all(type(one) is int and one >= 0 for one in value)


# -- reading an untrusted document


def _map(document: Picture, name: str) -> Picture:
    value = document.get(name)
    return value if isinstance(value, dict) else {}


def _rows(document: Picture, name: str) -> Sequence[Picture]:
    value = document.get(name)
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _number(document: Picture, name: str) -> float:
    value = document.get(name)
    return float(value) if isinstance(value, int | float) else 0.0


def _count(document: Picture, name: str) -> str:
    return f"{_number(document, name):,.0f}"


def _word(value: object, limit: int = 80) -> str:
    return sanitized(value, limit) if isinstance(value, str) else ""


def _seconds(value: float) -> str:
    if value < 0.001:
        return f"{1e6 * value:.0f} µs" if value else "0"
    if value < 1:
        return f"{1000 * value:.3g} ms"
    return f"{value:.3g} s" if value < 100 else f"{value / 60:.0f} min" if value < 7200 else f"{value / 3600:.0f} h"


def _clock(at: float) -> str:
    return time.strftime("%H:%M:%S", time.localtime(max(0.0, min(at, 4e9))))
