"""Settings, read once at the entry points from `sandbox_gym.toml` and `SANDBOX_GYM_*`; all below gets values.

What every server has stands at the top level; what belongs to one feature or one provider stands in that one's table.
A setting's flat name is its path joined by `_`: `runtime` in table `docker` is `docker_runtime`, and its variable
SANDBOX_GYM_DOCKER_RUNTIME. Each group's fields, with what they mean, are in `sandbox_gym.settings`.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from pydantic import Field, ValidationError
from pydantic_core import ErrorDetails
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from sandbox_gym.errors import ConfigurationError
from sandbox_gym.limits import MIB, Limits, Policy
from sandbox_gym.private import own_user
from sandbox_gym.settings.environment import PREFIX, Environment, nearest
from sandbox_gym.settings.group import changed, named, nested, paths
from sandbox_gym.settings.http import AccessSettings, DashboardSettings, HttpSettings, PoolSettings
from sandbox_gym.settings.providers import DockerSettings, E2bSettings, LocalSettings, PodmanSettings, UidSettings
from sandbox_gym.settings.run import BoxSettings, ClusterSettings, JournalSettings, RunSettings, SessionSettings
from sandbox_gym.settings.verifiers import OPTIONS, CodingSettings, JudgeSettings, MathSettings, SweSettings

_FILE: Final = "sandbox_gym.toml"
_SHOWN: Final = ("int_", "float_", "finite_", "bool_", "greater_", "less_", "literal_")
"""Kinds of pydantic's errors of numbers, switches and choices."""


def default_state_dir() -> Path:
    """The folder for what outlives a process: /var/lib for root, the XDG state folder for other users."""
    if sys.platform != "win32" and os.geteuid() == 0:
        return Path("/var/lib/sandbox-gym")
    given = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    except RuntimeError:  # a user without a home, as in some containers
        return Path(f"/tmp/sandbox-gym-{own_user()}")
    return base / "sandbox-gym"


class Settings(CodingSettings, HttpSettings, AccessSettings, RunSettings, BaseSettings):
    """One server's or one command's settings. Environment beats the file."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX, env_nested_delimiter="_", env_nested_max_split=1, toml_file=_FILE
    )

    provider: str = Field("local", description="Where sandboxes are made.")
    state_dir: Path = Field(
        default_factory=default_state_dir,
        description="Folder for what outlives the process: owner locks, scratch folders, snapshots, the journal."
        " /var/lib/sandbox-gym for root, the XDG state folder for other users.",
    )
    box: BoxSettings = BoxSettings()
    uid: UidSettings = UidSettings()
    local: LocalSettings = LocalSettings()
    docker: DockerSettings = DockerSettings()
    podman: PodmanSettings = PodmanSettings()
    e2b: E2bSettings = E2bSettings()
    math: MathSettings = MathSettings()
    judge: JudgeSettings = JudgeSettings()
    swe: SweSettings = SweSettings()
    session: SessionSettings = SessionSettings()
    journal: JournalSettings = JournalSettings()
    dashboard: DashboardSettings = DashboardSettings()
    cluster: ClusterSettings = ClusterSettings()
    pool: PoolSettings = PoolSettings()

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, Environment(settings_cls), TomlConfigSettingsSource(settings_cls)

    @classmethod
    def from_flat(cls, values: Mapping[str, object]) -> Settings:
        """Settings with these on top, by flat name or by table. Raises ConfigurationError that names what is wrong."""
        if os.path.lexists(_FILE) and not os.path.isfile(_FILE):  # a mount of a file that is not there makes a folder
            raise ConfigurationError(f"settings: {_FILE} is no file, or a link to none; remove it, or make it one")
        try:
            return cls.model_validate(nested(cls, values))
        except ValidationError as error:
            wrong = [(each["loc"], _wrong(cls, each)) for each in error.errors()]
            lines = [f"{named(cls, place) or _FILE}: {what}{_from(place, values)}" for place, what in wrong]
            raise ConfigurationError("settings: " + "; ".join(lines)) from None
        except OSError as error:
            raise ConfigurationError(f"settings: {_FILE}: {error.strerror}") from None

    def replaced(self, values: Mapping[str, object]) -> Settings:
        """A copy with these values, by flat name; they are not checked again."""
        return changed(self, values)

    def session_limits(self) -> Limits:
        """The caps of a session's sandbox as a whole; each call has its own wall time."""
        return Limits(
            cpu_time_s=24 * 3600, wall_time_s=30 * 24 * 3600, memory_bytes=self.memory_limit_mb * MIB, processes=128
        )

    def session_policy(self) -> Policy:
        """When sessions hibernate, are snapshotted and closed."""
        session = self.session
        return Policy(
            ttl_s=session.ttl_s,
            idle_s=session.idle_s,
            checkpoint_s=session.checkpoint_s,
            live=session.max_live,
            held=session.max_count,
            disk_bytes=session.snapshot_disk_mb * MIB,
            keep_globals=session.keep_globals,
            root=session.root,
        )

    def journal_url(self) -> str | None:
        """The journal's path or URL; None when it is off."""
        url = self.journal.url
        if url in ("", "off"):
            return None
        return str(self.state_dir / "journal.sqlite") if url == "default" else url

    def judging(self) -> dict[str, float | bool | str | list[str] | None]:
        """The settings that a verdict depends on, by flat name. The journal keeps them; `from_flat` reads them."""
        return {
            "time_limit_s": self.time_limit_s,
            "memory_limit_mb": self.memory_limit_mb,
            "early_stop": self.early_stop,
            "comparison": self.comparison,
            "in_process": self.in_process,
            "fail_on_tamper": self.fail_on_tamper,
            "reasoning_format_penalty": self.reasoning_format_penalty,
            **{f"math_{name}": getattr(self.math, name) for name in ("wire", "cpu_time_s", *OPTIONS, "mask_undecided")},
        }

    def limits(self) -> Limits:
        """The caps of one test; wall time is three times CPU time plus two seconds, a backstop against sleepers."""
        return Limits(
            cpu_time_s=self.time_limit_s,
            wall_time_s=3 * self.time_limit_s + 2,
            cpus=self.cpus_per_box,
            memory_bytes=self.memory_limit_mb * MIB,
        )


def _from(place: Sequence[str | int], given: Mapping[str, object]) -> str:
    """Which variable, or the file, has a wrong value; empty where the caller gave it."""
    names = ["_".join(map(str, place[:parts])) for parts in (1, 2)]
    if not place or given.keys() & set(names):
        return ""
    return f" ({next((each for name in names if (each := PREFIX + name.upper()) in os.environ), _FILE)})"


def _wrong(settings: type[Settings], detail: ErrorDetails) -> str:
    """With the value only where a number or a choice is wanted: a text may be a secret."""
    if detail["type"].startswith(_SHOWN):
        return f"{detail['msg']}, and it is {str(detail['input'])[:80]!r}"
    if detail["type"] != "extra_forbidden":
        return detail["msg"].removeprefix("Value error, ")
    known = paths(settings)
    near = nearest("_".join(map(str, detail["loc"])), known)
    return "no such setting" + (f"; did you mean {'.'.join(known[near])}?" if near else "")
