"""The tasks that NeMo Gym's agent works on here: rows, what the model does on each, and what each is worth."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sandbox_gym.server.protocol.wire import Document

REPOSITORY: Final = Path(__file__).parents[2]
_DATA: Final = REPOSITORY / "resources_servers" / "coding" / "data"
EXAMPLES: Final = [_DATA / "example.jsonl", _DATA / "example_more.jsonl"]
SWE_EXAMPLES: Final = REPOSITORY / "resources_servers" / "swe" / "data" / "example.jsonl"
_SED: Final = r"sed -i 's/^\t\treturn include$/\t\treturn bool(include)/' pathspec/pathspec.py; git diff --stat"
DOUBLE: Final = {"unit_tests": {"inputs": ["4\n", "9\n"], "outputs": ["8\n", "18\n"]}}
RIGHT: Final = "```python\nprint(int(input()) * 2)\n```"
WRONG: Final = "```python\nprint(int(input()) * 3)\n```"


@dataclass(frozen=True)
class Task:
    """`turns` as stub_model.py has them."""

    marker: str
    row: Document
    turns: list[Document]
    reward: float
    calls: int = 0
    """How many tool outputs its rollout shows."""

    def line(self, agent: str) -> str:
        """The row with its marker in the prompt, for one of NeMo Gym's agents."""
        user = {"role": "user", "content": f"Solve it. [{self.marker}]"}
        tools = sorted({str(turn["call"]) for turn in self.turns if "call" in turn})
        schema = {"type": "object", "properties": {}, "additionalProperties": True}
        declared = [{"type": "function", "name": name, "parameters": schema, "strict": False} for name in tools]
        params = {"input": [user], "tools": declared}
        reference = {"type": "responses_api_agents", "name": agent}
        return json.dumps({**self.row, "responses_create_params": params, "agent_ref": reference})


def _call(name: str, **arguments: object) -> Document:
    return {"call": name, "arguments": arguments}


def _then(needle: str, right: str = RIGHT, wrong: str = WRONG) -> Document:
    return {"say": right, "if_seen": needle, "else": wrong}


def examples() -> list[Task]:
    """The rows that ship with the server; a response's id says what it is worth."""
    tasks = []
    for line in (line for file in EXAMPLES for line in file.read_text().splitlines()):
        row = json.loads(line)
        response = row.pop("response")
        marker = response["id"].removeprefix("resp_")
        text = response["output"][0]["content"][0]["text"]
        tasks.append(Task(marker, row, [{"say": text}], float(marker.endswith("_right"))))
    return tasks


def with_tools() -> list[Task]:
    """Answers that are right only when the tools answered, and in the rollout's own session."""
    row: Document = {"verifier_metadata": DOUBLE}
    shown: Document = {"verifier_metadata": {**DOUBLE, "public_tests": {"inputs": ["1"], "outputs": ["2"]}}}
    program = "print(int(input()) * 2)"
    return [
        Task(
            "tool_run_code",
            row,
            [_call("run_code", language="python", code=program, stdin="21"), _then('"stdout":"42\\n"')],
            1.0,
            1,
        ),
        Task("tool_run_tests", shown, [_call("run_tests", code=program), _then('"passed":1')], 1.0, 1),
        Task("tool_run_no_tests", row, [_call("run_tests", code=program), _then('"passed":1')], 0.0, 1),
        Task(
            "tool_python",
            row,
            [_call("python", code="kept = 6"), _call("python", code="kept * 7"), _then("42")],
            1.0,
            2,
        ),
        Task(
            "tool_bash",
            row,
            [_call("bash", command="echo $((6 * 7)) > kept"), _call("bash", command="cat kept"), _then("42")],
            1.0,
            2,
        ),
        Task("tool_unknown", row, [_call("no_such_tool"), _then("there is no POST")], 1.0, 1),
    ]


def masked() -> Task:
    """A row whose own checker dies: nobody knows what its answer is worth."""
    row: Document = {"verifier_metadata": {**DOUBLE, "checker": {"type": "program", "source": "1 / 0"}}}
    return Task("masked", row, [{"say": RIGHT}], 0.0)


def math() -> list[Task]:
    """Two of math's wires, each right and wrong, and a Python that keeps its names."""
    judged: Document = {"question": "What is 1/2 + 1/4?", "expected_answer": "3/4"}
    coded: Document = {"expected_result": "42", "expected_code_contains": ""}
    keep = _call("execute_python", code="kept = 6")
    use = _call("execute_python", code="kept * 7")
    return [
        Task("math_right", judged, [{"say": r"It is \boxed{0.75}."}], 1.0),
        Task("math_wrong", judged, [{"say": r"It is \boxed{0.5}."}], 0.0),
        Task("math_tools", coded, [keep, use, _then("42", r"\boxed{42}", r"\boxed{0}")], 1.0, 2),
    ]


def _without_answers(row: Document) -> Document:
    return {key: value for key, value in row.items() if key not in ("patch", "model_patch", "answer", "response")}


def swe_by_text() -> list[Task]:
    """Patches in the answer's text: the fix, one that changes nothing that is tested, and none."""
    row = json.loads(SWE_EXAMPLES.read_text().splitlines()[0])
    fix = row["patch"]
    notes = "diff --git a/n.txt b/n.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n.txt\n@@ -0,0 +1 @@\n+note\n"
    texts = {"swe_fix": (fix, 1.0), "swe_notes": (notes, 0.0)}
    found = [
        Task(marker, _without_answers(row), [{"say": f"```diff\n{patch}```"}], reward)
        for marker, (patch, reward) in texts.items()
    ]
    return [*found, Task("swe_none", _without_answers(row), [{"say": "I can't."}], 0.0)]


def swe(data_folder: Path) -> list[Task]:
    """Two repositories: mended and handed in, mended and left so, touched without effect, and left as they were."""
    lines = (data_folder / "swe_instances.jsonl").read_text().splitlines()
    pathspec = next(row for line in lines if (row := json.loads(line))["instance_id"] == "pathspec__pathspec-0.12.1")
    inflection = json.loads(SWE_EXAMPLES.read_text().splitlines()[0])
    pathspec, inflection = _without_answers(pathspec), _without_answers(inflection)
    match = "include, _index = self._match_file(enumerate(self.patterns), norm_file)\n\t\treturn "
    mend = _call("str_replace", path="pathspec/pathspec.py", old_str=f"{match}include", new_str=f"{match}bool(include)")
    teens = "if number in (11, 12, 13)"
    edit = _call("str_replace", path="inflection/__init__.py", old_str=teens, new_str="if number % 100 in (11, 12, 13)")
    look, hand_in = _call("bash", command="git log --oneline --all | wc -l"), _call("submit")
    done: Document = {"say": "Done."}
    return [
        Task("swe_handed_in", pathspec, [look, mend, hand_in, done], 1.0, 3),
        Task("swe_by_shell", pathspec, [_call("bash", command=_SED), _call("bash", command="git diff"), done], 1.0, 2),
        Task("swe_no_effect", pathspec, [_call("bash", command="echo '# more' >> README.rst"), hand_in, done], 0.0, 2),
        Task("swe_untouched", pathspec, [look, done], 0.0, 1),
        Task("swe_example", inflection, [edit, _call("run_tests"), hand_in, done], 1.0, 3),
        Task("swe_example_undone", inflection, [edit, _call("bash", command="git checkout -q ."), done], 0.0, 2),
    ]
