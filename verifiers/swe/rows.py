"""One parser for the rows of the field: those of the datasets in datasets/conventions.py, NeMo Gym's swebench,
swerl_gen and anyswe rows, and rows with an `environment` recipe.

Raises RequestError with the field, the value and the remedy, and nothing else, whatever the row.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

from sandbox_gym.errors import RequestError
from sandbox_gym.limits import mebibytes
from sandbox_gym.verifiers.coding.fields import mapping, positive, text, texts, wrong
from sandbox_gym.verifiers.swe.datasets.conventions import CONVENTIONS
from sandbox_gym.verifiers.swe.datasets.forms import from_json, in_swebench_words
from sandbox_gym.verifiers.swe.datasets.telling import family_of, image_of, layout_of, runner_of, workdir_of
from sandbox_gym.verifiers.swe.ids import file_of
from sandbox_gym.verifiers.swe.logs.formats import parser_named
from sandbox_gym.verifiers.swe.patches.diff import read_patch
from sandbox_gym.verifiers.swe.patches.paths import is_doctest, refusal
from sandbox_gym.verifiers.swe.recipe import parse_recipe
from sandbox_gym.verifiers.swe.spec import spec_of
from sandbox_gym.verifiers.swe.task import CaseStatus, Family, Rule, Runner, SweLimits, SweTask

MAX_TESTS = 200_000
MAX_ID = 16_384
_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._+-]{0,199}")
_COLOUR = re.compile(r"\x1b\[\d+m")
_WRAPPERS = ("instance", "instance_dict", "verifier_metadata")
_FAIL_ONLY = frozenset(
    {
        "chartjs/Chart.js",
        "processing/p5.js",
        "markedjs/marked",
        "bpmn-io/bpmn-js",
        "openlayers/openlayers",
        "eslint/eslint",
    }
)
"""SWE-bench's list of repositories whose logs name failures only."""


def parse_task(row: object, *, limits: SweLimits | None = None) -> SweTask:
    """The row's task; what the row says of limits only tightens `limits`. Raises RequestError."""
    fields, root = _unwrapped(mapping(row, "row", "give an object with instance_id and FAIL_TO_PASS"))
    family = family_of(fields, root)
    fields = in_swebench_words(fields, family, root)
    expected = _expected(fields, root) if family == "r2e_gym" else {}
    instance_id = _instance_id(fields, root, family)
    repo = text(fields, "repo", root) or text(fields, "repo_name", root)
    f2p, p2p = ((), ()) if expected else _lists(fields, root)
    recipe = parse_recipe(fields, root)
    parser = _log_parser(fields, root)
    test_patch = _patch(fields, "test_patch", root)
    patch = _patch(fields, "patch", root)
    _refuse_own_doctests(f2p, patch, root)
    runner: Runner = "log" if expected else runner_of(fields, (*f2p, *p2p), parser, repo, root)
    command = _test_command(fields, family, root)
    if runner == "log" and not command:
        _refuse_without_command(family, root)
    return SweTask(
        instance_id=instance_id,
        repo=repo,
        family=family,
        fail_to_pass=f2p,
        pass_to_pass=p2p,
        base_commit=text(fields, "base_commit", root),
        version=text(fields, "version", root),
        problem_statement=text(fields, "problem_statement", root),
        patch=patch,
        patch_is_bug=family == "swe_smith",
        test_patch=test_patch,
        test_files=_test_files(fields, test_patch, root),
        hidden_files=texts(fields.get("hidden_files", []), f"{root}.hidden_files") if expected else (),
        image="" if recipe else image_of(fields, family, instance_id, root),
        layout=layout_of(fields, family),
        recipe=recipe,
        workdir=workdir_of(fields, family, repo, root),
        test_command=command,
        log_parser=parser,
        runner=runner,
        rule=_rule(fields, repo, root, has_map=bool(expected)),
        expected=expected,
        ids_may_be_cut=family != "own",
        fails_with_gold=texts(fields.get("fail_after_gold", []), f"{root}.fail_after_gold"),
        limits=_limits(fields, root, limits or SweLimits()),
    )


def _unwrapped(row: Mapping[str, object]) -> tuple[Mapping[str, object], str]:
    """The fields themselves and where they stand: agents' rows have them in `instance` or, as JSON, `instance_dict`."""
    if "FAIL_TO_PASS" not in row and not any(name in row for name in _WRAPPERS):
        row = {**row, **_of_request(row)}
    for name in _WRAPPERS:
        if name in row and "FAIL_TO_PASS" not in row:
            inner = row[name]
            if isinstance(inner, str):
                inner = from_json(inner, name)
            found = mapping(inner, name, "give an object, or one as JSON")
            extra = {key: row[key] for key in ("dataset_name", "subset") if key in row and key not in found}
            return {**extra, **found}, name
    return row, "row"


def _of_request(row: Mapping[str, object]) -> Mapping[str, object]:
    """anyswe's rows have everything in the request's metadata."""
    request = row.get("responses_create_params")
    metadata = request.get("metadata") if isinstance(request, Mapping) else None
    if not isinstance(metadata, Mapping) or "instance_dict" not in metadata:
        return {}
    return {name: metadata[name] for name in ("dataset_name", "instance_dict") if name in metadata}


def _instance_id(row: Mapping[str, object], root: str, family: Family) -> str:
    """R2E-Gym's rows have none: the image's tag is the commit, which serves."""
    value = text(row, "instance_id", root)
    if not value and family == "r2e_gym":
        value = text(row, "docker_image", root).rpartition("/")[2].replace(":", "-")
    if not value:
        raise RequestError(f"{root}.instance_id", "is missing", "give the instance's name")
    if not _ID.fullmatch(value):
        raise wrong(f"{root}.instance_id", value, "give at most 200 letters, digits and . _ + -")
    return value


def _lists(row: Mapping[str, object], root: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    fail, hold = _ids(row, "FAIL_TO_PASS", root), _ids(row, "PASS_TO_PASS", root)
    if not fail:
        raise RequestError(
            f"{root}.FAIL_TO_PASS",
            "is empty or missing",
            "give the tests that the fix makes pass; without one, an empty patch would resolve",
        )
    wanted = frozenset(fail)
    return fail, tuple(test for test in hold if test not in wanted)


def _refuse_own_doctests(fail: tuple[str, ...], patch: str, root: str) -> None:
    """A docstring that the fix changes stays as the answer has it: it can't be what decides alone."""
    touched = read_patch(patch.encode("utf-8", "surrogatepass")).paths if patch else ()
    if fail and all(is_doctest(test) and file_of(test) in touched for test in fail):
        problem = f"has doctests alone, of files that the row's own patch changes ({file_of(fail[0])[:80]})"
        remedy = "give a test of a file of tests too: an answer that changes the code could change its docstrings"
        raise RequestError(f"{root}.FAIL_TO_PASS", problem, remedy)


def _ids(row: Mapping[str, object], name: str, root: str) -> tuple[str, ...]:
    """Test ids, as a list or as JSON of one; each once."""
    field, value = f"{root}.{name}", row.get(name)
    if value is None or value == "":
        return ()
    if isinstance(value, str):
        value = from_json(value, field)
    if not isinstance(value, list):
        raise wrong(field, row.get(name), "give a list of test ids, or one as JSON")
    if len(value) > MAX_TESTS:
        raise RequestError(field, f"holds {len(value)} tests", f"give at most {MAX_TESTS}")
    for index, test in enumerate(value):
        if not isinstance(test, str) or not test or len(test) > MAX_ID or any(char in test for char in "\0\n\r"):
            raise wrong(f"{field}[{index}]", test, f"give a test id: at most {MAX_ID} characters, on one line")
    return tuple(dict.fromkeys(value))


def _patch(row: Mapping[str, object], name: str, root: str) -> str:
    """A patch of the row's; one that names no file or leaves the repository is the row's mistake."""
    value = text(row, name, root, remedy="give a unified diff")
    if not value.strip():
        return ""
    problem = read_patch(value.encode("utf-8", "surrogatepass")).problem
    if problem:
        raise RequestError(f"{root}.{name}", f"can't be used: {problem}", "give a unified diff of the repository")
    return value if value.endswith("\n") else value + "\n"


def _test_files(row: Mapping[str, object], test_patch: str, root: str) -> tuple[str, ...]:
    listed = texts(row.get("test_files", []), f"{root}.test_files")
    for index, path in enumerate(listed):
        reason = refusal(path)
        if reason:
            raise wrong(f"{root}.test_files[{index}]", path, f"give a path in the repository: {reason}")
    touched = read_patch(test_patch.encode("utf-8", "surrogatepass")).paths if test_patch else ()
    return tuple(dict.fromkeys((*touched, *listed)))


def _expected(row: Mapping[str, object], root: str) -> dict[str, CaseStatus]:
    """R2E-Gym's map from test to status, its names as its own harness compares them."""
    field = f"{root}.expected_output_json"
    value = row.get("expected_output_json")
    found = mapping(
        from_json(value, field) if isinstance(value, str) else value, field, "give an object, or one as JSON"
    )
    expected = {}
    for name, status in found.items():
        if not isinstance(status, str) or status not in CaseStatus.__members__:
            raise wrong(f"{field}[{str(name)[:80]!r}]", status, "give PASSED, FAILED, SKIPPED, ERROR or XFAIL")
        if str(name):
            expected[_COLOUR.sub("", str(name)).split(" - ")[0]] = CaseStatus(status)
    if CaseStatus.PASSED not in expected.values():
        raise RequestError(field, "holds no test that passes", "give the status of every test under the fix")
    return expected


def _log_parser(row: Mapping[str, object], root: str) -> str:
    for where, place in ((row, root), spec_of(row, root)):
        if name := text(where, "log_parser", place):
            return parser_named(name, f"{place}.log_parser")
    return ""


def _test_command(row: Mapping[str, object], family: Family, root: str) -> str:
    """A command, or SWE-rebench's list of them."""
    environment = row.get("environment")
    places = [(row, "test_command", root), (row, "test_cmd", root)]
    spec, field = spec_of(row, root)
    places += [(spec, "test_cmd", field), (row, "eval_script", root)]
    if isinstance(environment, Mapping):
        places.append((environment, "test_command", f"{root}.environment"))
    for where, name, field in places:
        value = where.get(name)
        if value:
            return value if isinstance(value, str) else " && ".join(texts(value, f"{field}.{name}"))
    return CONVENTIONS[family].test_command if family in CONVENTIONS else ""


def _refuse_without_command(family: Family, root: str) -> None:
    """For a dataset whose rows are known to lack what their tests are run with."""
    lacks, _, remedy = CONVENTIONS[family].lacks.partition("; ") if family in CONVENTIONS else ("", "", "")
    if lacks:
        problem = f"is missing: {CONVENTIONS[family].title}'s rows lack {lacks}"
        raise RequestError(f"{root}.test_command", problem, remedy)


def _rule(row: Mapping[str, object], repo: str, root: str, *, has_map: bool) -> Rule:
    given = row.get("eval_type")
    if given not in (None, "", "pass_and_fail", "fail_only"):
        raise wrong(f"{root}.eval_type", given, "give pass_and_fail or fail_only, or leave it out")
    if has_map:
        return "expected_map"
    return "fail_only" if given == "fail_only" or (not given and repo in _FAIL_ONLY) else "full"


def _limits(row: Mapping[str, object], root: str, limits: SweLimits) -> SweLimits:
    memory_mb = positive(row, "memory_limit_mb", root)
    if memory_mb is not None and memory_mb < 64:
        raise wrong(f"{root}.memory_limit_mb", memory_mb, "a test suite needs at least 64")
    test_time_s = positive(row, "test_timeout_s", root) or positive(row, "timeout_s", root)
    return limits.tightened(
        test_time_s=test_time_s,
        run_time_s=positive(row, "run_timeout_s", root) or positive(row, "evaluation_timeout", root),
        memory_bytes=mebibytes(memory_mb) if memory_mb else None,
    )
