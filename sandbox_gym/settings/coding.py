"""Settings of the coding verifier. `fail_on_tamper` holds for SWE too."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import Field

from sandbox_gym.settings.group import Group


class CodingSettings(Group):
    """How programs and functions are judged."""

    early_stop: bool = Field(
        True, description="Stop at a row's first failing test, as NeMo Gym's code_gen does; a row may say otherwise."
    )
    comparison: Literal["exact", "code_gen"] = Field(
        "exact",
        description="How the values of function tests are compared: integers and text exactly, or as loosely as"
        " code_gen; a row may say otherwise.",
    )
    fail_on_tamper: list[str] = Field(
        default_factory=list,
        description='Signs of tampering that cost the reward, by name, or "any" for all that are more than a hint in'
        " the source; docs/rows/coding.md lists them.",
    )
    processes: Literal["auto", "own"] = Field(
        "auto",
        description="Whether a Python answer's tests may be run in one process in turn (auto), which is faster, or each"
        " in one of its own (own). A row may say so itself (processes)",
    )
    in_process: Literal["allow", "mask", "deny"] = Field(
        "allow",
        description="Function tests that must share the answer's process: judged there (`allow`), given no verdict"
        " (`mask`), or refused (`deny`).",
    )
    reasoning_format_penalty: float | None = Field(
        None,
        description="The reward of an answer that leaves think tags in its final text, as code_gen's setting of that"
        " name (0 there, and in configs/coding.yaml). Unless it is set, such an answer is worth what its tests say.",
    )
    sandbox_fusion_datasets: Path | None = Field(
        None,
        description="A folder of JSON lines, one file for each dataset of SandboxFusion's routes; none of our own are"
        " served without it.",
    )
