"""`sandbox-gym doctor`: which providers and caps work on this machine, with a remedy for each that does not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace

import anyio
import typer
from rich.console import Console
from rich.table import Table

from sandbox_gym.cli.languages import LanguageRow, languages, with_newer
from sandbox_gym.cli.terminal.options import JsonOption, ProviderOption
from sandbox_gym.cli.terminal.screen import print_json, visible
from sandbox_gym.cli.terminal.settings import settings_with
from sandbox_gym.config import Settings
from sandbox_gym.errors import ProviderDown, SandboxGymError
from sandbox_gym.sandbox.api import Capability, Provider, SandboxSpec
from sandbox_gym.sandbox.caps import CapRow
from sandbox_gym.sandbox.registry import PROVIDERS, capabilities_of, make_provider

START_DEADLINE_S = 60.0
STARTS = "starts a sandbox"


def doctor(
    provider: ProviderOption = None,
    as_json: JsonOption = False,
) -> None:
    """Probe every provider, or --provider only.

    Exit: 0 the default one (or --provider) works, 1 it doesn't, 2 wrong usage.
    """
    settings = settings_with({"provider": provider})
    names = [provider] if provider else list(PROVIDERS)
    findings = {name: anyio.run(probe, settings.model_copy(update={"provider": name})) for name in names}
    findings = with_newer_elsewhere(findings, settings)
    works = any(row.name == STARTS and row.works for row in findings[settings.provider].capabilities)
    if as_json:
        print_json(as_document(findings, settings.provider))
        raise typer.Exit(0 if works else 1)
    console = Console()
    for name, found in findings.items():
        console.print(table(name, found.capabilities, is_default=name == settings.provider))
        if found.caps:
            console.print(caps_table(name, found.caps))
        if found.languages:
            console.print(languages_table(name, found.languages))
    verdict = "[green]works[/]" if works else "[red]doesn't work[/] (see the remedies above)"
    console.print(f"The default provider, [bold]{settings.provider}[/], {verdict}.")
    raise typer.Exit(0 if works else 1)


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
    caps: Sequence[CapRow] = ()
    languages: Sequence[LanguageRow] = ()


async def probe(settings: Settings) -> Findings:
    """The provider's own findings, and whether a sandbox starts."""
    try:
        provider = make_provider(settings)
    except (SandboxGymError, ImportError) as error:
        return Findings((Capability(STARTS, False, str(error), "install the package that the message names"),))
    try:
        starts = await _start(provider)
        capabilities = (starts, *await provider.doctor.probe())
        if not starts.works:
            return Findings(capabilities)
        caps = await provider.doctor.caps()
        return Findings(capabilities, caps, await languages(provider))
    except ProviderDown as error:  # it worked a moment ago
        return Findings((Capability(STARTS, False, str(error), "try again"),))
    finally:
        with anyio.CancelScope(shield=True):
            await provider.aclose()


async def _start(provider: Provider) -> Capability:
    try:
        with anyio.fail_after(START_DEADLINE_S):
            box = await provider.create(SandboxSpec())
            isolation = box.isolation
            await box.aclose()
    except TimeoutError:
        return Capability(STARTS, False, f"not within {START_DEADLINE_S:.0f} s", "see the rows below")
    except (SandboxGymError, OSError) as error:
        return Capability(STARTS, False, str(error), "see the rows below")
    return Capability(STARTS, True, f"isolation: {isolation}")


def as_document(findings: Mapping[str, Findings], default: str) -> dict[str, object]:
    """The `--json` result, by provider."""
    return {
        "default_provider": default,
        "providers": {
            name: {
                "capabilities": [asdict(row) for row in found.capabilities],
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
    shown = Table(title=f"{name}: languages", title_justify="left")
    for column in ("language", "works", "version", "remedy"):
        shown.add_column(column, overflow="fold")
    for row in rows:
        remedy = row.remedy or row.newer
        shown.add_row(row.name, "[green]yes[/]" if row.works else "no", visible(row.version), visible(remedy))
    return shown


def caps_table(name: str, caps: Sequence[CapRow]) -> Table:
    """This machine's row of docs/guides/operator/caps.md, as a column."""
    shown = Table(title=f"{name}: caps on this machine", title_justify="left")
    for column in ("cap", "holds for each", "enforced by"):
        shown.add_column(column, overflow="fold")
    for row in caps:
        scope = row.scope if row.enforced else "[red]not enforced[/]"
        shown.add_row(row.cap.value, scope, visible(row.enforced_by))
    return shown


def table(name: str, rows: Sequence[Capability], *, is_default: bool) -> Table:
    """One provider's findings."""
    shown = Table(title=f"{name} (default)" if is_default else name, title_justify="left")
    shown.add_column("capability", no_wrap=True)
    shown.add_column("works")
    shown.add_column("detail", overflow="fold")
    shown.add_column("remedy", overflow="fold")
    for row in rows:
        mark = "[green]yes[/]" if row.works else "[red]no[/]"
        shown.add_row(visible(row.name), mark, visible(row.detail), visible(row.remedy))
    return shown
