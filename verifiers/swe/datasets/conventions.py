"""Each dataset's conventions, written down once: what tells a row of it, which image it has, how the image is laid out.

Sources: the harnesses of SWE-bench 5.0.2, SWE-bench Pro, Multi-SWE-bench, SWE-smith and R2E-Gym, NeMo Gym's servers,
and the datasets' cards. What none of them says is not guessed: `lacks` names it, and a row must give it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from sandbox_gym.verifiers.swe.task import Family, ImageLayout, PathPair

CONDA: Final = "/opt/miniconda3"
_TESTBED: Final = f"{CONDA}/envs/testbed"


@dataclass(frozen=True, slots=True)
class Conventions:
    """One dataset's."""

    title: str
    marks: tuple[tuple[str, ...], ...] = ()
    """Fields of which a row that has all of one tuple is the dataset's."""
    names: tuple[str, ...] = ()
    """Parts, in lower case, of what a row may give as `dataset_name`, `dataset` or image."""
    image: str = ""
    """The image of a row that names none; empty: it must. `{id_1776}` and `{id_s}` are the instance's id in lower case
    with `__` as registries have it; `{smith}` is SWE-smith's repository and commit."""
    workdir: str = "/testbed"
    """`{name}` is the repository's name."""
    layout: ImageLayout = ImageLayout()
    test_command: str = ""
    """Of a row that gives none."""
    lacks: str = ""
    """What rows of a language other than Python lack, and must be given."""


_CONDA_LAYOUT: Final = ImageLayout(activate_if=f"{CONDA}/bin/activate", conda_env="testbed", environments=(_TESTBED,))
"""An image of another language has no conda, and its environment is the image's own."""

CONVENTIONS: Final[Mapping[Family, Conventions]] = {
    "swebench": Conventions(
        "SWE-bench, Verified, Lite, Multilingual",
        marks=(("environment_setup_commit",),),
        names=("swe-bench", "swebench"),
        image="swebench/sweb.eval.x86_64.{id_1776}:latest",
        layout=_CONDA_LAYOUT,
    ),
    "swe_bench_pro": Conventions(
        "SWE-bench Pro",
        marks=(("dockerhub_tag",), ("before_repo_set_cmd", "selected_test_files_to_run")),
        names=("swe-bench_pro", "swe-bench-pro", "swebench_pro", "sweap-images"),
        image="jefzda/sweap-images:{dockerhub_tag}",
        workdir="/app",
        lacks="run_script.sh and parser.py, which are files beside the dataset; give test_command and log_parser",
    ),
    "multi_swe_bench": Conventions(
        "Multi-SWE-bench",
        marks=(("fix_patch", "f2p_tests"), ("fix_patch", "fixed_tests")),
        names=("multi-swe", "multi_swe", "mswebench"),
        image="mswebench/{org}_m_{repo}:pr-{number}",
        workdir="/home/{name}",
        layout=ImageLayout(removed=("/home/fix.patch", "/home/test.patch", "/home/fix-run.sh", "/home/test-run.sh")),
        test_command="bash /home/run.sh",
        lacks="the parser of its repository's log; give log_parser",
    ),
    "swe_gym": Conventions(
        "SWE-Gym",
        names=("swe-gym", "swe_gym", "xingyaoww/sweb.eval"),
        image="xingyaoww/sweb.eval.x86_64.{id_s}:latest",
        layout=_CONDA_LAYOUT,
    ),
    "swe_smith": Conventions(
        "SWE-smith",
        names=("swe-smith", "swesmith"),
        image="swebench/swesmith.x86_64.{smith}:latest",
        layout=_CONDA_LAYOUT,
        lacks="the test command of its profile; give test_cmd and log_parser",
    ),
    "swe_rebench": Conventions(
        "SWE-rebench",
        names=("swe-rebench", "swerebench"),
        image="swerebench/sweb.eval.x86_64.{id_1776}:latest",
        layout=_CONDA_LAYOUT,
    ),
    "r2e_gym": Conventions(
        "R2E-Gym",
        marks=(("expected_output_json",),),
        names=("r2e",),
        layout=ImageLayout(
            programs="/testbed/.venv/bin",
            hidden=(PathPair("/testbed/run_tests.sh", "/root/run_tests.sh"), PathPair("/r2e_tests", "/root/r2e_tests")),
            links=(PathPair("/root/r2e_tests", "/testbed/r2e_tests"),),
        ),
        test_command="bash /root/run_tests.sh",
    ),
}
