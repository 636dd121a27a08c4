"""The log formats that a row may name: swebench's parsers by their own names, and what a test framework prints.

swebench's are read by PyPI's swebench, in the box that a log is read in; the frameworks' by `frameworks/`.
"""

from __future__ import annotations

from collections.abc import Mapping
from importlib.resources import files
from typing import Final

from sandbox_gym.errors import RequestError
from sandbox_gym.verifiers.swe.logs.frameworks import READERS

_PREFIX: Final = "parse_log_"
_LIKE_PYTEST: Final = (
    "pytest pytest_options pytest_v2 astroid flask marshmallow pvlib pyvista sqlfluff xarray pydicom requests pylint "
    "astropy scikit sphinx"
)
_OTHERS: Final = (
    "django seaborn sympy matplotlib calypso bpmn_js carbon eslint grommet highlightjs lighthouse next openlayers "
    "prismjs quarto_cli chart_js marked p5js react_pdf jest jest_json vitest karma tap immutable_js redis jq doctest "
    "micropython_test googletest gotest maven ant gradle_custom phpunit minitest cucumber ruby_unit "
    "rspec_transformed_json jekyll cargo"
)
PYTEST_PARSERS: Final = frozenset(_PREFIX + name for name in _LIKE_PYTEST.split())
"""Those of swebench's that read a plain pytest run: where the ids are pytest's own, the tests can tell by channel."""
SWEBENCH_PARSERS: Final = PYTEST_PARSERS | {_PREFIX + name for name in _OTHERS.split()}
"""The names in the registry of swebench 5.0.2."""
FRAMEWORKS: Final = frozenset(READERS)
_ALIASES: Final[Mapping[str, str]] = {
    "pytest": "parse_log_pytest",
    "go": "gotest",
    "go_test": "gotest",
    "go_json": "gotest_json",
    "go_test_json": "gotest_json",
    "cargo_test": "cargo",
    "mvn": "maven",
    "surefire": "maven",
    "maven_surefire": "maven",
    "node_test": "tap",
}


def parser_named(name: str, field: str) -> str:
    """The parser's one name. `field`: where the row names it. Raises RequestError with the names that are known."""
    if name in SWEBENCH_PARSERS:
        return name
    plain = name.strip().lower().replace("-", "_").replace(" ", "_")
    plain = _ALIASES.get(plain, plain)
    if plain in FRAMEWORKS or plain in SWEBENCH_PARSERS:
        return plain
    known = ", ".join((*sorted(FRAMEWORKS), *sorted(SWEBENCH_PARSERS)))
    raise RequestError(field, f"is {name[:80]!r}, a log format that is not known", f"name one of: {known}")


def framework_sources() -> dict[str, bytes]:
    """The readers' files, by their paths beside log_reader.py."""
    folder = files(__package__).joinpath("frameworks")
    return {f"frameworks/{file.name}": file.read_bytes() for file in folder.iterdir() if file.name.endswith(".py")}
