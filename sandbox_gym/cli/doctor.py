"""`sandbox-gym doctor`: which providers and caps work on this machine, with a remedy for each that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Annotated

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.languages import LanguageRow, languages, with_newer
from sandbox_gym.cli.terminal.options import JsonOption, ProviderOption, settings_with
from sandbox_gym.cli.terminal.screen import print_json, visible
from sandbox_gym.config import Settings
from sandbox_gym.errors import ProviderDown, SandboxGymError
from sandbox_gym.sandbox.api import Capability
from sandbox_gym.sandbox.caps import CapRow
from sandbox_gym.sandbox.registry import PROVIDERS, capabilities_of, make_provider
from sandbox_gym.server.readiness import KINDS, readiness

STARTS = "starts a sandbox"
AllOption = Annotated[bool, typer.Option("--all", help="Every provider, cap and language, not only what matters here.")]


def doctor(provider: ProviderOption = None, everything: AllOption = False, as_json: JsonOption = False) -> None:
    """Show what the default provider (or --provider) judges on this machine, what is missing, and whether others work.

    --json prints what --all does.

    Exit: 0 the default one (or --provider) works, 1 it doesn't, 2 wrong usage.
    """
    settings = settings_with({"provider": provider})
    whole = everything or as_json
    names = [provider] if provider else [name for name in PROVIDERS if whole or _runs_programs(settings, name)]
    findings = {
        name: anyio.run(probe, settings.replaced({"provider": name}), whole or name == settings.provider)
        for name in names
    }
    findings = with_newer_elsewhere(findings, settings)
    works = any(row.name == STARTS and row.works for row in findings[settings.provider].capabilities)
    if as_json:
        print_json(as_document(findings, settings.provider))
        raise typer.Exit(0 if works else 1)
    console = Console()
    if everything:
        _print_all(console, findings, settings.provider)
    else:
        _print_short(console, findings, settings.provider)
    verdict = "[green]works[/]" if works else "[red]doesn't work[/]"
    console.print(f"The default provider, [bold]{settings.provider}[/], {verdict}.")
    raise typer.Exit(0 if works else 1)


def _runs_programs(settings: Settings, name: str) -> bool:
    return name == settings.provider or capabilities_of(settings.replaced({"provider": name})).runs_programs


def _print_all(console: Console, findings: Mapping[str, Findings], default: str) -> None:
    for name, found in findings.items():
        console.print(table(name, (*found.capabilities, *found.kinds), is_default=name == default))
        if found.caps:
            console.print(caps_table(name, found.caps))
        if found.languages:
            console.print(languages_table(name, found.languages))


def _print_short(console: Console, findings: Mapping[str, Findings], default: str) -> None:
    console.print(table(default, in_short(findings[default]), is_default=True))
    others = [
        f"{name} {'[green]works[/]' if all(row.works for row in found.capabilities) else 'does not'}"
        for name, found in findings.items()
        if name != default
    ]
    if others:
        console.print(f"Others: {', '.join(others)}. --all shows why, and every cap and language.")


def in_short(found: Findings) -> list[Capability]:
    """Each kind of row, what else does not work or has a remedy, and one line each of the caps and of the languages."""
    remedies = [row for row in found.capabilities if row.remedy]
    if not found.kinds:
        return remedies or list(found.capabilities)
    rows = [*found.kinds, *remedies]
    if found.caps:
        loose = [f"{row.cap.value} ({row.enforced_by})" for row in found.caps if not row.enforced]
        rows.append(Capability("caps", not loose, f"not enforced: {', '.join(loose)}" if loose else "all enforced"))
    if found.languages:
        missing = [row for row in found.languages if not (row.works or row.optional)]
        names = ", ".join(row.name for row in found.languages if row.works)
        rows.append(
            Capability("languages", not missing, names, "; ".join(f"{row.name}: {row.remedy}" for row in missing))
        )
    return rows


def with_newer_elsewhere(findings: Mapping[str, Findings], settings: Settings) -> dict[str, Findings]:
    """The findings, saying of a provider that uses this machine's toolchains which other one brings newer ones."""
    told = dict(findings)
    bringing = [name for name in told if capabilities_of(settings.model_copy(update={"provider": name})).own_toolchains]
    for name in told:
        for other in bringing if name not in bringing else ():
            newer = with_newer(told[name].languages, told[other].languages, other)
            told[name] = replace(told[name], languages=newer)
    return told


@dataclass(frozen=True, slots=True)
class Findings:
    """What one provider can do here, and what enforces its caps; no caps where no sandbox starts."""

    capabilities: Sequence[Capability]
    kinds: Sequence[Capability] = ()
    """The kinds of rows that it judges."""
    caps: Sequence[CapRow] = ()
    languages: Sequence[LanguageRow] = ()


async def probe(settings: Settings, whole: bool = True) -> Findings:
    """Whether a sandbox starts; if `whole`, the provider's own findings too."""
    try:
        provider = make_provider(settings)
    except SandboxGymError as error:
        return Findings((Capability(STARTS, False, str(error)),))
    except ImportError as error:
        return Findings((Capability(STARTS, False, str(error), "install the package that the message names"),))
    try:
        coding = await readiness(provider, "coding")
        starts = replace(coding, name=STARTS)
        if not whole:
            return Findings((starts,))
        capabilities = (starts, *await provider.doctor.probe())
        if not starts.works:
            return Findings(capabilities)
        kinds = (coding, *[await readiness(provider, kind) for kind in KINDS if kind != "coding"])
        caps = await provider.doctor.caps()
        return Findings(capabilities, kinds, caps, await languages(provider))
    except ProviderDown as error:  # it worked a moment ago
        return Findings((Capability(STARTS, False, str(error), "try again"),))
    finally:
        with anyio.CancelScope(shield=True):
            await provider.aclose()


def as_document(findings: Mapping[str, Findings], default: str) -> dict[str, object]:
    """The `--json` result, by provider."""
    return {
        "default_provider": default,
        "providers": {
            name: {
                "capabilities": [asdict(row) for row in found.capabilities],
                "kinds": [asdict(row) for row in found.kinds],
                "caps": [
                    {"cap": row.cap.value, "enforced": row.enforced, "scope": row.scope, "enforced_by": row.enforced_by}
                    for row in found.caps
                ],
                "languages": [asdict(row) for row in found.languages],
            }
            for name, found in findings.items()
        },
    }


def languages_table(name: str, rows: Sequence[LanguageRow]) -> Table:
    """Which languages this provider's sandboxes judge."""
    shown = _folding(f"{name}: languages", "language", "works", "version", "remedy")
    for row in rows:
        remedy = row.remedy or row.newer
        shown.add_row(row.name, "[green]yes[/]" if row.works else "no", visible(row.version), visible(remedy))
    return shown


def caps_table(name: str, caps: Sequence[CapRow]) -> Table:
    """This machine's row of docs/guides/operator/caps.md, as a column."""
    shown = _folding(f"{name}: caps on this machine", "cap", "holds for each", "enforced by")
    for row in caps:
        scope = row.scope if row.enforced else "[red]not enforced[/]"
        shown.add_row(row.cap.value, scope, visible(row.enforced_by))
    return shown


def _folding(title: str, *columns: str) -> Table:
    shown = Table(title=title, title_justify="left")
    for column in columns:
        shown.add_column(column, overflow="fold")
    return shown


def table(name: str, rows: Sequence[Capability], *, is_default: bool) -> Table:
    """One provider's findings."""
    shown = Table(title=f"{name} (default)" if is_default else name, title_justify="left")
    shown.add_column("capability", no_wrap=True)
    shown.add_column("works")
    shown.add_column("detail", overflow="fold")
    remedies = any(row.remedy for row in rows)
    if remedies:
        shown.add_column("remedy", overflow="fold", ratio=1)
    for row in rows:
        mark = "[green]yes[/]" if row.works else "[red]no[/]"
        cells = (visible(row.name), mark, visible(row.detail))
        shown.add_row(*cells, visible(row.remedy)) if remedies else shown.add_row(*cells)
    return shown
