"""What the daily run has of the whole suite. Owns the lists; knows no test's inside. `--extended` has everything.

Each test is run daily on its first provider, and a share of them on the others. Suites of many alike are run in part.
Which part: by the checksum of the test's name, moved on by SANDBOX_GYM_TEST_SAMPLE, which `tests/in-parallel.sh` takes
from the commit: a commit's run is always the same, and over the commits all of them are run.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Final, TypeVar

import pytest

T = TypeVar("T")

PROVIDERS: Final = (
    "local", "e2b-on-local", "docker", "e2b-on-docker", "local-rlimits", "local-copy", "local-unprivileged",
    "docker-in-compose", "podman",
)  # fmt: skip
"""A test's first provider is the first of these that it has a case for."""
PODMAN: Final = "SANDBOX_GYM_TEST_PODMAN"
"""Set to 1, the daily run has its share of Podman's cases, which else are of the extended run alone."""
OTHERS_SHARE: Final = 8
"""Of a test's cases on other providers than its first, the daily run has one in so many."""
OTHERS: Final = {
    "tests/conformance/": 6,
    "tests/attacks/test_attacks.py": 12,
}
"""The same for a folder or file. Conformance is about each provider; of an attack the row is the same on each."""
BY_FILE: Final = (
    "tests/conformance/test_caps.py",
    "tests/swe/test_server.py",
    "tests/swe/test_tools.py",
    "tests/server/test_math.py",
)
"""A server, or a run, for each provider is most of the cost of these: all of a file's cases on a provider are run, or
none."""

EXTENDED: Final = (
    "tests/attacks/test_swe_attacks.py",
    "tests/attacks/test_in_process_attacks.py",
    "tests/attacks/channels/",
    "tests/coding/test_early_ends.py",
    "tests/coding/test_one_process.py",
    "tests/coding/test_packages.py",
    "tests/coding/test_row_programs.py",
    "tests/e2b/",
    "tests/golden/test_corpus.py",
    "tests/golden/test_humaneval.py",
    "tests/honest/",
)
"""Long suites that are run on docker in the whole run only."""
DAILY: Final = ("tests/attacks/channels/test_channels.py::test_what_is_left_and_nothing_else_carries[docker-task-t",)
"""Of those, what is run on docker daily, too."""
BOTH_WAYS: Final = ("tests/conformance/", "tests/engine/")
"""Through a pool on docker these are what they are on docker and through a pool on local."""
ONE_IS_ENOUGH: Final = (
    "tests/remote/test_swe.py::test_the_fix_resolves_test_by_test_and_nothing_does_not[e2b-on-local-mako",
    "tests/remote/test_swe.py::test_the_fix_resolves_test_by_test_and_nothing_does_not[e2b-on-local-sqlparse",
    "tests/swe/test_server.py::test_a_row_that_its_log_tells_of[docker",
)
"""Each takes a minute, and its neighbour shows the same."""
SAMPLED: Final[dict[tuple[str, ...], int]] = {
    ("tests/attacks/test_attacks.py",): 12,
    ("tests/attacks/test_swe_attacks.py",): 12,
    ("tests/attacks/test_in_process_attacks.py",): 5,
    ("tests/attacks/channels/",): 5,
    ("tests/browser/test_dashboard.py",): 3,
    ("tests/coding/shared/test_agreement.py", "tests/coding/test_checkers.py", "tests/coding/test_passes.py"): 3,
    ("tests/conformance/test_sessions.py", "tests/conformance/test_one_after_another.py"): 4,
    ("tests/docs/test_blocks.py",): 3,
    ("tests/engine/starvation/", "tests/load/test_math_http.py"): 3,
    ("tests/languages/test_precompiled_header.py",): 3,
    ("tests/languages/test_cpp_targets.py::test_programs",): 2,
    ("tests/server/test_connections.py", "tests/server/test_request_paths.py"): 2,
    ("tests/swe/test_datasets.py", "tests/swe/test_tools.py"): 6,
    ("tests/swe/test_forged_by_history.py", "tests/swe/test_forged_logs.py", "tests/swe/test_inherited.py"): 3,
    ("tests/unit/test_cell_forks.py", "tests/unit/inversion/test_properties.py"): 2,
    ("tests/openapi/test_fuzz.py::test_a_resources_server",): 3,
    ("tests/coding/test_packages.py",): 8,
    ("tests/coding/test_strict.py",): 4,
    ("tests/languages/test_further_honest.py",): 5,
    ("tests/coding/test_row_programs.py",): 4,
    ("tests/browser/test_other_sites.py",): 3,
    ("tests/chaos/",): 5,
    ("tests/cli/test_completion.py::test_fish",): 3,
    ("tests/cli/test_load.py", "tests/cli/test_serve_start.py"): 2,
    ("tests/engine/test_shortages.py::test_one_fault",): 3,
    ("tests/engine/test_shortages.py::test_a_fault",): 3,
    ("tests/client/test_rolling.py", "tests/kubernetes/test_containers.py", "tests/load/test_draining.py"): 3,
    ("tests/journal/test_backup.py", "tests/journal/test_kill.py"): 2,
    ("tests/kubernetes/test_rendering.py",): 3,
    ("tests/cli/test_narrow.py::test_a_packages_submissions",): 3,
    ("tests/languages/test_java.py",): 3,
    ("tests/coding/shared/test_leaving.py",): 4,
    ("tests/e2b/test_tenants.py",): 5,
    ("tests/e2b/",): 4,
    ("tests/cli/test_exit_codes.py", "tests/honest/", "tests/remote/test_provider.py"): 4,
    ("tests/remote/test_faults.py",): 6,
    ("tests/remote/test_session_faults.py",): 6,
    (
        "tests/attacks/test_integrity_benchmark.py",
        "tests/coding/test_one_process.py",
        "tests/golden/test_fork_and_exec.py",
        "tests/images/test_rollouts.py",
        "tests/languages/test_toolchains.py::test_current_answers_pass_on_docker",
        "tests/languages/test_warm_typescript.py::test_it_is_tsc",
        "tests/languages/test_warm_typescript.py::test_other_options",
        "tests/load/test_workers.py",
        "tests/math/test_against_library.py",
        "tests/remote/test_golden.py",
        "tests/remote/test_swe.py",
        "tests/swe/test_agents_example.py",
        "tests/swe/test_server.py",
    ): 4,
    (
        "resources_servers/swe/tests/test_swe_example.py",
        "tests/conformance/test_many_files.py",
        "tests/swe/test_build.py",
        "tests/swe/test_cluster.py",
        "tests/swe/test_commands.py::test_what_prefetch_built_validate_uses",
        "tests/swe/test_spellings.py::test_the_fix_resolves_unsigned",
        "tests/swe/test_workers.py::test_an_instance_is_built_once",
    ): 5,
    ("tests/math/",): 3,
    (
        "tests/coding/test_scripts.py",
        "tests/coding/test_values_without_items.py",
        "tests/golden/test_corpus.py",
        "tests/languages/test_csharp_of_today.py",
        "tests/server/test_fusion_answers.py",
        "tests/server/test_fusion_ends.py",
        "tests/server/test_fusion_rows.py",
    ): 3,
    ("tests/cli/",): 2,
    ("tests/client/",): 2,
    ("tests/conformance/",): 2,
    ("tests/engine/",): 2,
    ("tests/remote/",): 2,
}
"""Long suites of many alike, of which the daily run has one in so many; the last are the longest."""


def moved_on() -> int:
    return int(os.environ.get("SANDBOX_GYM_TEST_SAMPLE", "0"))


def part(cases: Sequence[T], share: int, *, whole: bool) -> Sequence[T]:
    """Every so manieth of a test's cases, from one that the commit decides; all of them for `whole`."""
    return cases if whole else cases[moved_on() % share :: share]


def left_out(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """What the daily run does not have."""
    listed = list(items)
    first: dict[str, int] = {}
    for item in listed:
        rank = _rank(item)
        if rank is not None:
            first[_function(item)] = min(rank, first.get(_function(item), rank))
    alike: dict[_Alike, set[str]] = {}
    unit_of: dict[pytest.Item, tuple[_Alike, str]] = {}
    for item in listed:
        if not _is_extended(item):
            unit_of[item] = _alike(item, first.get(_function(item)))
            alike.setdefault(unit_of[item][0], set()).add(unit_of[item][1])
    turns = {group: _sample(units, *group) for group, units in alike.items()}
    return [item for item in listed if item not in unit_of or unit_of[item][1] not in turns[unit_of[item][0]]]


_Alike = tuple[str, int]
"""Cases that are sampled together: what they have in common, and their share."""


def _sample(names: Iterable[str], group: str, share: int) -> set[str]:
    """One in `share` of the names, mixed by their checksums. Each group has its own turn: runs cost the same."""
    mixed = sorted(names, key=lambda name: (zlib.crc32(name.encode()), name))
    turn = moved_on() + zlib.crc32(group.encode())
    return {name for number, name in enumerate(mixed, turn) if number % share == 0}


def _alike(item: pytest.Item, first: int | None) -> tuple[_Alike, str]:
    """What a case is sampled among, and the name by which. Cases on the first provider are among their like, and those
    on others among their file's."""
    node, rank = item.nodeid, _rank(item)
    if rank is None or rank == first:
        prefixes = next((one for one in SAMPLED if node.startswith(one)), ())
        return (" ".join(prefixes), SAMPLED.get(prefixes, 1)), _function(item) if len(prefixes) > 1 else node
    file = node.partition("::")[0]
    if file in BY_FILE:
        return ("by file", OTHERS_SHARE), f"{file} {PROVIDERS[rank]}"
    share = next((one for prefix, one in OTHERS.items() if node.startswith(prefix)), OTHERS_SHARE)
    return (file, share), node


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _words(values: Iterable[object]) -> Iterator[str]:
    for value in values:
        if isinstance(value, str):
            yield value
        elif isinstance(value, type):
            yield {"LocalProvider": "local", "DockerProvider": "docker"}.get(value.__name__, "")


def _rank(item: pytest.Item) -> int | None:
    """The place of a case's provider in PROVIDERS."""
    callspec = getattr(item, "callspec", None)
    found = [] if callspec is None else [word for word in _words(callspec.params.values()) if word in PROVIDERS]
    return PROVIDERS.index(found[0]) if found else None


def _is_podmans(item: pytest.Item) -> bool:
    """Whether a case needs Podman, which `make tools` does not ask for."""
    callspec = getattr(item, "callspec", None)
    return callspec is not None and "podman" in callspec.params.values()


def _is_extended(item: pytest.Item) -> bool:
    node = item.nodeid
    if _is_podmans(item) and os.environ.get(PODMAN) != "1":
        return True
    if item.get_closest_marker("extended") or node.startswith(ONE_IS_ENOUGH):
        return True
    if "e2b-on-docker" in node and node.startswith(BOTH_WAYS):
        return True
    if "e2b-on-" in node and node.startswith("tests/attacks/test_attacks.py"):
        return True
    return node.startswith(EXTENDED) and not node.startswith(DAILY) and "[docker" in node
