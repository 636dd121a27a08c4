"""The command line as Markdown, from the program's own declarations. Owns the layout; knows no command by name."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Protocol, cast

from typer.main import get_command

from docs.generate.tables import code, table
from sandbox_gym.cli import _app

PROGRAM = "sandbox-gym"


class Parameter(Protocol):
    """What is read of one argument or option; typer declares it."""

    name: str
    opts: list[str]
    secondary_opts: list[str]
    required: bool
    default: object
    help: str | None
    min: float | None
    max: float | None
    multiple: bool
    nargs: int


class Command(Protocol):
    """What is read of one command, or of a group of them."""

    params: list[Parameter]
    help: str | None


def commands() -> dict[str, Command]:
    """Every command by the words that call it."""
    return dict(_below(get_command(_app), ""))


def command_page(name: str) -> str:
    """One command: how it is called, what it does, its arguments and options."""
    command = commands()[name]
    options = [each for each in command.params if each.opts[0].startswith("-") and each.name != "help"]
    arguments = [each for each in command.params if not each.opts[0].startswith("-")]
    usage = " ".join([PROGRAM, name, *map(_argument, arguments), *(["[OPTIONS]"] if options else [])])
    parts = [f"```text\n{usage}\n```", *_paragraphs(command.help or "")]
    rows = [*((code(_argument(each)), *_about(each)) for each in arguments)]
    rows += [(", ".join(map(code, [*each.opts, *each.secondary_opts])), *_about(each)) for each in options]
    if rows:
        parts.append(table(("argument or option", "default", "meaning"), rows))
    return "\n\n".join(parts)


def _below(command: object, above: str) -> Iterator[tuple[str, Command]]:
    for name, below in sorted(getattr(command, "commands", {}).items()):
        if hasattr(below, "commands"):
            yield from _below(below, f"{above}{name} ")
        else:
            yield above + name, cast(Command, below)


def _argument(each: Parameter) -> str:
    name = each.name.upper() + ("..." if each.nargs == -1 else "")
    return name if each.required else f"[{name}]"


def _about(each: Parameter) -> tuple[str, str]:
    """Its default, and its meaning with its bounds."""
    shown = each.default not in (None, False, True, (), []) and not callable(each.default)
    low, high = getattr(each, "min", None), getattr(each, "max", None)
    bounds = [f"{word} {bound:g}" for word, bound in (("at least", low), ("at most", high)) if bound is not None]
    more = ["more than once"] * bool(each.multiple) + bounds
    default = "required" if each.required else code(str(each.default)) if shown else ""
    return default, (each.help or "").strip() + (f" ({', '.join(more)})" if more else "")


def _paragraphs(text: str) -> list[str]:
    """Its paragraphs, each on one line; the exit codes in bold."""
    found = [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
    return [each.replace("Exit:", "**Exit:**", 1) if each.startswith("Exit:") else each for each in found]
