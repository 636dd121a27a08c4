"""Settings of the verifiers: coding (its `fail_on_tamper` is SWE's too), math with the model that it may ask, SWE."""

from __future__ import annotations

from pathlib import Path
from typing import Final, Literal

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


OPTIONS: Final = ("last_box", "boxed_only", "plain_answer", "drop_thinking", "multiple_choice", "strict_units")
"""Those that say how answers are read and compared, by the verifier's names for them."""


class MathSettings(Group):
    """How math answers are read and judged, and what the Python tool may use."""

    wire: Literal["auto", "math_with_judge", "math_with_code", "ns_tools"] = Field(
        "auto", description="Whose fields the math server speaks; `auto` decides by each row's fields."
    )
    cpu_time_s: float = Field(2.0, gt=0, description="CPU seconds that math-verify may take for one answer.")
    wall_time_s: float = Field(
        5.0,
        gt=0,
        description="Wall seconds that math-verify may take for one answer; if they run out before the CPU seconds do,"
        " there is no verdict.",
    )
    worker_memory_mb: int = Field(1024, ge=128, description="Memory that math-verify may take for one answer, in MiB.")
    last_box: Literal["last", "all"] = Field(
        "last", description="The last \\boxed{} is the answer (`last`), or all of them are, as a list (`all`)."
    )
    boxed_only: bool = Field(
        False,
        description="An answer outside \\boxed{} is none, as in later versions of math_with_judge; else math-verify"
        " searches the text.",
    )
    plain_answer: bool = Field(
        False, description='Without \\boxed{}, "The answer is X", "#### X" and the like count as the answer.'
    )
    drop_thinking: bool = Field(False, description="What stands before the last </think> is no answer.")
    multiple_choice: bool = Field(False, description="Answers are letters.")
    strict_units: bool = Field(False, description="A unit that only one side has makes the answers differ.")
    mask_undecided: bool = Field(
        False,
        description="Mask a sample whose answer math-verify could not decide within its caps, instead of giving it 0.",
    )
    tool_timeout_s: float = Field(
        10.0, gt=0, le=3600, description="Wall seconds of one execute_python or stateful_python_code_exec."
    )
    tool_output_chars: int = Field(
        20_000,
        ge=200,
        description="Characters of one stream that go back to the model at most: its first half and its last.",
    )


class JudgeSettings(Group):
    """The model that is asked about answers which the rules call different."""

    enabled: bool = Field(
        False,
        description="Ask a model about answers that the rules call different, as math_with_judge. In a NeMo Gym"
        " instance's YAML `should_use_judge` is another name of it.",
    )
    base_url: str = Field(
        "",
        pattern="^(https?://.+)?$",
        description="Base URL of an OpenAI-compatible server, such as http://127.0.0.1:8000/v1; /responses is called.",
    )
    model: str = Field("", description="Name of the model to ask for.")
    api_key: str = Field("", repr=False, description="Bearer token for that server.")
    responses_create_params: dict[str, object] = Field(
        default_factory=dict, description='Sent with each question, such as {"temperature": 0}.'
    )
    timeout_s: float = Field(120.0, gt=0, description="Seconds that one question may take.")
    max_concurrency: int = Field(64, ge=1, description="Questions that are asked at once.")


class SweSettings(Group):
    """What the tests of a repository may use, and the disk for built instances."""

    test_timeout_s: float = Field(
        60.0, gt=0, description="Wall seconds of one test of a repository; a row may ask for less."
    )
    run_timeout_s: float = Field(
        1800.0, gt=0, description="Wall seconds of all tests of one verdict; a row may ask for less."
    )
    memory_limit_mb: int = Field(4096, ge=64, description="Memory of the tests, in MiB; a row may ask for less.")
    restore_test_config: bool = Field(
        True,
        description="Put back test configuration that a patch touches, such as conftest.py; it is flagged either way.",
    )
    disk_mb: int = Field(
        20_000, ge=100, description="Disk for built instances, in MiB; those unused for longest are removed first."
    )
