"""Our server beside NeMo Gym's own: the same routes, the same shapes by its own models, the same rewards."""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator

import httpx2 as httpx
import pytest
from pydantic import BaseModel

from sandbox_gym.server.protocol.envelope import response_of
from sandbox_gym.server.protocol.wire import Document
from tests.gym.running import Gym, installed
from tests.gym.tasks import EXAMPLES, REPOSITORY

pytestmark = [pytest.mark.timeout(1500), pytest.mark.filterwarnings("ignore")]  # their imports warn
THEIR_COOKIE = "CompCodingResourcesServer___code_gen"
OUR_COOKIE = "CodingResources___coding"
COMPARED = ("reward", "extracted_model_code", "difficulty", "reasoning_format_violation_rate")
CODE = "print(int(input()) * 2)"


@pytest.fixture(scope="module")
def theirs(gym: Gym) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=gym.address("code_gen"), timeout=300) as client:
        yield client


@pytest.fixture(scope="module")
def ours(gym: Gym) -> Iterator[httpx.Client]:
    with httpx.Client(base_url=gym.address("coding"), timeout=300) as client:
        yield client


def request(row: Document, text: str) -> Document:
    params = row.get("responses_create_params") or {"input": "?"}
    return {**row, "responses_create_params": params, "response": response_of(text)}


def posted(client: httpx.Client, body: Document) -> Document:
    answer = client.post("/verify", json=body)
    assert answer.status_code == 200, answer.text
    document = answer.json()
    assert isinstance(document, dict)
    return document


def example_rows() -> list[Document]:
    """code_gen's."""
    return [json.loads(line) for line in installed("resources_servers/code_gen/data/example.jsonl").open()]


def their_rollouts() -> list[Document]:
    """The rollouts that ship with code_gen, each with its row's tests, which they left out; `recorded` is its reward.

    They stand in another order than the rows.
    """
    done = installed("resources_servers/code_gen/data/example_rollouts.jsonl").read_text().splitlines()
    of = {asked(each): each for each in map(json.loads, done)}
    rows = example_rows()
    found = [of[asked(row)] for row in rows]
    return [
        {**row, "response": each["response"], "recorded": each["reward"]} for row, each in zip(rows, found, strict=True)
    ]


def asked(row: Document) -> str:
    """The prompt's text, which a rollout keeps in another form."""
    (message,) = row["responses_create_params"]["input"]  # type: ignore[index]
    return str(message["content"])


def written_answers() -> list[Document]:
    """To the same rows: solutions of our own, right and spoilt."""
    found = []
    for index, row in enumerate(example_rows()):
        source = (REPOSITORY / "tests" / "golden" / "code_gen_example" / f"{index}.py").read_text()
        found += [request(row, f"```python\n{source}{ending}\n```") for ending in ("", "\nprint(0)")]
    return found


def edges() -> list[Document]:
    """Answers without code, in odd fences, with thoughts left in; functions; programs that die."""
    tests = {"inputs": ["2\n", "21\n"], "outputs": ["4\n", "42\n"]}
    row: Document = {"verifier_metadata": {"unit_tests": tests, "difficulty": "easy"}}
    code = CODE
    texts = ["", "  ", "No code here.", code, f"```\n{code}\n```", f"```python\n{code}", f"~~~python\n{code}\n~~~"]
    texts += [f"```python\nprint(1)\n```\nOr rather:\n```python\n{code}\n```", f"<think>{code}</think>"]
    texts += [f"<think>so</think>\n```python\n{code}\n```", "```python\nraise SystemExit(1)\n```"]
    texts += ["```python\nprint(4)\n```", "```python\nimport no_such_module\n```", "```python\ndef f(:\n```"]
    texts += ["```python\nimport sys\nprint(2 * int(sys.stdin.readline()), end='')\n```"]
    texts += ["```python\nprint(2 * int(open(0).read()))\n```", f"```python\n{code}\nimport sys; sys.exit(0)\n```"]
    function: Document = {"unit_tests": {"inputs": ["[1, 2]\n3"], "outputs": ["[1, 2, 3]"], "fn_name": "append"}}
    calls = ["def append(a, b):\n    return a + [b]", "def append(a, b):\n    return a", "def other(): pass"]
    calls += ["class Solution:\n    def append(self, a, b):\n        return a + [b]"]
    return [request(row, text) for text in texts] + [
        request({"verifier_metadata": function}, f"```python\n{text}\n```") for text in calls
    ]


def test_their_routes_are_ours(ours: httpx.Client, theirs: httpx.Client) -> None:
    def routes(client: httpx.Client) -> set[tuple[str, str]]:
        paths = client.get("/openapi.json").json()["paths"]
        return {(path, method) for path, methods in paths.items() for method in methods}

    assert {("/verify", "post"), ("/seed_session", "post"), ("/aggregate_metrics", "post")} <= routes(theirs)
    assert routes(theirs) <= routes(ours)
    for client in (ours, theirs):
        assert client.get("/").status_code == 200
        assert client.get("/no_such_route").status_code == 404
        assert client.get("/verify").status_code == 405


def test_seeds_and_cookies(ours: httpx.Client, theirs: httpx.Client) -> None:
    row = json.loads(EXAMPLES[0].read_text().splitlines()[0])
    bodies: list[Document] = [{}, row]
    for body in bodies:
        answers = [client.post("/seed_session", json=body) for client in (ours, theirs)]
        told = [answer.json() for answer in answers]
        assert set(told[0]) == {"mcp"}  # it is told to expose its tools; see test_mcp.py
        assert told[1] == {}
        said = [answer.headers["set-cookie"].partition("=")[::2] for answer in answers]
        assert [name for name, _ in said] == [OUR_COOKIE, THEIR_COOKIE]
        attributes = [sorted(part.strip().lower() for part in value.split(";")[1:]) for _, value in said]
        assert attributes[0] == attributes[1]


def test_wrong_requests_are_422_in_both(ours: httpx.Client, theirs: httpx.Client) -> None:
    good = edges()[3]
    wrong: list[object] = [{}, {**good, "response": 7}, {"response": good["response"]}, []]
    for body in wrong:
        assert [client.post("/verify", json=body).status_code for client in (ours, theirs)] == [422, 422]


def test_their_models_read_our_answers(ours: httpx.Client, theirs: httpx.Client) -> None:
    base = importlib.import_module("nemo_gym.base_resources_server")
    model: type[BaseModel] = base.BaseVerifyResponse
    for body in edges()[:4]:
        own, other = posted(ours, body), posted(theirs, body)
        assert set(other) <= set(own)
        model.model_validate(own)
        dumped = model.model_validate({**own, "reward": other["reward"]}).model_dump()
        assert dumped == model.model_validate(other).model_dump()


def differences(ours: httpx.Client, theirs: httpx.Client, bodies: list[Document]) -> list[tuple[object, ...]]:
    """(answer, field, ours, theirs) for each field that both have and tell apart."""
    found: list[tuple[object, ...]] = []
    for index, body in enumerate(bodies):
        own, other = posted(ours, body), posted(theirs, body)
        assert own["mask_sample"] is False
        found += [(index, name, own[name], other[name]) for name in COMPARED if own[name] != other[name]]
    return found


@pytest.mark.parametrize("which", [their_rollouts, written_answers])
def test_the_same_on_their_rows(ours: httpx.Client, theirs: httpx.Client, which: Callable[[], list[Document]]) -> None:
    assert differences(ours, theirs, which()) == []


def test_the_same_on_odd_answers_but_for_what_is_documented(ours: httpx.Client, theirs: httpx.Client) -> None:
    no_fence, unclosed, tildes, only_thought, other_stdin = 3, 5, 6, 8, 15
    lenient = [
        difference
        for index in (no_fence, unclosed, tildes)
        for difference in ((index, "reward", 1.0, 0.0), (index, "extracted_model_code", CODE, None))
    ]
    known = [
        (2, "extracted_model_code", "No code here.", None),
        *lenient,
        (only_thought, "reasoning_format_violation_rate", 1.0, 0.0),
        (other_stdin, "reward", 1.0, 0.0),
    ]
    assert differences(ours, theirs, edges()) == known


def test_the_same_metrics(ours: httpx.Client, theirs: httpx.Client) -> None:
    responses = [
        {**posted(theirs, body), "_ng_task_index": index // 4, "_ng_rollout_index": index % 4}
        for index, body in enumerate(edges()[:16])
    ]
    asked = {"verify_responses": responses}
    own, other = (client.post("/aggregate_metrics", json=asked).json() for client in (ours, theirs))
    assert set(other) <= set(own)
    for part in ("agent_metrics", "key_metrics"):
        assert set(other[part]) - set(own[part]) == set()
        for name, value in other[part].items():
            numeric = isinstance(value, int | float)
            assert own[part][name] == (pytest.approx(value) if numeric else value), name
    assert len(own["group_level_metrics"]) == len(other["group_level_metrics"])
