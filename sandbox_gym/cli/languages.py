"""Which languages a provider's sandboxes support: asks each toolchain for its version in a sandbox."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace

from sandbox_gym.contract import Outcome, Program, Run, Status
from sandbox_gym.errors import BoxLost, ProviderDown, ToolchainMissing
from sandbox_gym.limits import MIB, Limits
from sandbox_gym.sandbox.api import Provider, SandboxSpec
from sandbox_gym.verifiers.coding import LANGUAGES, Language

_LIMITS = Limits(cpu_time_s=20, wall_time_s=60, memory_bytes=1024 * MIB)
IMAGES = ("polyglot", "polyglot-more")
"""The images that are asked; the last is optional: rows in the first languages never need it."""


@dataclass(frozen=True, slots=True)
class LanguageRow:
    """One language: whether a sandbox has its toolchain, which version, and a remedy where it has not."""

    name: str
    works: bool
    version: str
    remedy: str = ""
    newer: str = ""
    """A newer version at another provider."""
    optional: bool = False
    """Whether it is one of an image that a server need not have."""


def with_newer(rows: Sequence[LanguageRow], others: Sequence[LanguageRow], provider: str) -> list[LanguageRow]:
    """`rows`, each with a note where `provider`, whose rows are `others`, has a newer version."""
    theirs = {row.name: row for row in others if row.works}
    return [
        replace(row, newer=f"{provider} has {theirs[row.name].version}")
        if row.name in theirs and version_of(theirs[row.name].version) > version_of(row.version)
        else row
        for row in rows
    ]


def version_of(said: str) -> tuple[int, ...]:
    """The version in a toolchain's output: the first number with a point, else the first number; () without one."""
    found = re.search(r"\d+(?:\.\d+)+", said) or re.search(r"\d+", said)
    return tuple(map(int, found[0].split("."))) if found else ()


async def languages(provider: Provider) -> list[LanguageRow]:
    """One row per language; those of an image of which no sandbox starts are failures."""
    if not provider.capabilities.runs_programs:
        return []
    more = [language for language in LANGUAGES if language.image == IMAGES[-1]]
    first = [language for language in LANGUAGES if language not in more]
    return [*await _asked(provider, IMAGES[0], first), *await _asked(provider, IMAGES[-1], more)]


async def _asked(provider: Provider, image: str, asked: Sequence[Language]) -> list[LanguageRow]:
    optional = image == IMAGES[-1]
    try:
        box = await provider.create(SandboxSpec(image))
    except (ProviderDown, ToolchainMissing) as error:
        return [
            LanguageRow(language.name, False, "", str(error), optional=optional)
            for language in asked
            if not language.forks
        ]
    try:
        async with box.run_all([_version_of(language) for language in asked]) as outcomes:
            found = [outcome async for outcome in outcomes]
        rows = [_row(language, outcome) for language, outcome in zip(asked, found, strict=True)]
    except BoxLost as error:
        rows = [LanguageRow(language.name, False, "", str(error)) for language in asked]
    finally:
        await box.aclose()
    return [replace(row, optional=optional) for row in rows]


def _version_of(language: Language) -> Run:
    return Run(language.name, Program("exec", {}, argv=language.version, env=language.env), limits=_LIMITS)


def _row(language: Language, outcome: Outcome) -> LanguageRow:
    said = (outcome.stdout or outcome.stderr).decode("utf-8", "replace").split("\n")[0].strip()[:60]
    if outcome.status is Status.OK:
        return LanguageRow(language.name, True, said)
    return LanguageRow(language.name, False, "", language.installation)
