"""The attacks of `tests/attacks/` as jobs, for graders that know only functions, stdin programs or check functions.

Owns the translation between those three forms, which never touches a payload: only the tests around it are rewritten.
Stdlib only, because it is also read by graders in other environments.
"""

from __future__ import annotations

import ast
import json
from dataclasses import asdict, dataclass, replace
from pathlib import Path

_CHECK = "def check("
FOLDER = Path(__file__).resolve().parents[2] / "tests" / "attacks"

DANGEROUS = {
    "34_": "a process or thread bomb",
    "35_": "a memory bomb",
    "36_": "fills the disk",
}
"""Payloads, by the start of their name, that endanger a machine without sandboxes; their aim is not a reward."""


@dataclass(frozen=True)
class Job:
    """One program and its tests; `inputs` and `outputs` as in LiveCodeBench's rows: JSON by line for a function.

    A form that the tests can't be put in is empty: no `inputs`, or no `test`.
    """

    source: str
    time_limit_s: int
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    function: str = ""
    """Empty for a program that reads standard input."""
    test: str = ""
    """Python that defines `check(candidate)`, for a grader of HumanEval's kind."""

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def from_json(cls, text: str) -> Job:
        fields = json.loads(text)
        return cls(**{**fields, "inputs": tuple(fields["inputs"]), "outputs": tuple(fields["outputs"])})

    def as_cases(self) -> Job | None:
        """Inputs and outputs alone: what a grader never has, a memory scan must not find in it."""
        return replace(self, test="") if self.inputs else None

    def as_calls(self) -> Job | None:
        """Cases of a function."""
        return self.as_cases() if self.function else None

    def as_check(self) -> Job | None:
        """The check function alone."""
        return replace(self, inputs=(), outputs=()) if self.test else None


@dataclass(frozen=True)
class Attack:
    """A folder: a payload that must earn nothing, an honest control that must earn all."""

    folder: Path

    @property
    def name(self) -> str:
        return self.folder.name

    @property
    def danger(self) -> str:
        return next((why for start, why in DANGEROUS.items() if self.name.startswith(start)), "")

    def source(self, name: str) -> Path:
        """The file of the payload or of the honest answer, whatever its language."""
        (found,) = self.folder.glob(f"{name}.*")
        return found

    def job(self, name: str) -> Job:
        """`name` is `payload` or `honest`. What is not Python has no form: these graders know nothing else."""
        row = json.loads((self.folder / "row.json").read_text())["verifier_metadata"]
        code, limit_s = self.source(name).read_text(), int(row["time_limit_s"])
        if "language" in row:
            return Job(code, limit_s)
        if "test" in row:
            inputs, outputs = _cases_of(row["test"])
            return Job(code, limit_s, inputs, outputs, row["entry_point"], row["test"] if _CHECK in row["test"] else "")
        tests = row["unit_tests"]
        function = tests.get("fn_name", "")
        test = _check_of(tests["inputs"], tests["outputs"]) if function else ""
        return Job(code, limit_s, tuple(tests["inputs"]), tuple(tests["outputs"]), function, test)


def attacks(folder: Path = FOLDER) -> tuple[Attack, ...]:
    return tuple(Attack(path.parent) for path in sorted(folder.glob("*/row.json")))


def _cases_of(test: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The pairs of a check function that only loops over `(n, want)`; none where it does anything else."""
    function = ast.parse(test).body
    match function:
        case [ast.FunctionDef(body=[ast.For(target=target, iter=pairs, body=[ast.Assert(test=compared)])])]:
            if (ast.unparse(target), ast.unparse(compared)) == ("(n, want)", "candidate(n) == want"):
                found = ast.literal_eval(pairs)
                return tuple(json.dumps(n) for n, _ in found), tuple(json.dumps(want) for _, want in found)
    return (), ()


def _check_of(inputs: list[str], outputs: list[str]) -> str:
    """Cases by value as HumanEval writes them, an assertion each."""
    lines = ["def check(candidate):"]
    for given, wanted in zip(inputs, outputs, strict=True):
        arguments = ", ".join(repr(json.loads(line)) for line in given.split("\n"))
        lines.append(f"    assert candidate({arguments}) == {json.loads(wanted)!r}")
    return "\n".join(lines) + "\n"
