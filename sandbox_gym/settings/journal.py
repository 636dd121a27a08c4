"""Settings of the journal of verdicts."""

from __future__ import annotations

from pydantic import Field

from sandbox_gym.settings.group import Group


class JournalSettings(Group):
    """Where verdicts are recorded and how much of them is kept."""

    url: str = Field(
        "default",
        description="Where verdicts are recorded: `default` is journal.sqlite in the state directory, `off` is nowhere;"
        " else a path or a SQLAlchemy URL of SQLite or PostgreSQL.",
    )
    max_mb: float = Field(2048, gt=0, description="MiB that the journal is pruned to, oldest verdicts first.")
    days: float = Field(30, gt=0, description="Days after which verdicts are pruned.")
    state_mb: float = Field(
        32,
        ge=0,
        description="MiB of outputs that are kept of one verify at most; a verdict with more stays on record but can't"
        " be judged again.",
    )

    @property
    def age_s(self) -> float:
        """`days` in seconds."""
        return 86_400 * self.days
