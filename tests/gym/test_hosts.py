"""One server under two hosts: started by NeMo Gym (several workers) and by `sandbox-gym serve`. The same routes,
the same schemas, the same answers, but for clocks and names."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from sandbox_gym.server.protocol.envelope import response_of
from sandbox_gym.server.protocol.wire import Document
from tests.gym import tasks
from tests.gym.running import KEPT, Gym
from tests.gym.serving import serving
from tests.gym.tasks import EXAMPLES, REPOSITORY, SWE_EXAMPLES

pytestmark = pytest.mark.timeout(1500)
KINDS = ("coding", "math", "swe")
CLOCKS = (
    "timings_s",
    "execution time",
    "time_s",
    "seconds",
    "time_taken",
    "test_output",
    "peak_memory_bytes",
    "usage",
    "created_at",
    "inverted",  # each server draws which tests' other forms a run has
)
"""What of an answer two runs of the same need not share, by the ends of names."""


@pytest.fixture(scope="module", params=KINDS)
def hosts(request: pytest.FixtureRequest, gym: Gym, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hosts]:
    kind = str(request.param)
    own = str(KEPT / "resources_servers" / kind / ".venv" / "bin" / "sandbox-gym")  # the environment of the other
    folder = tmp_path_factory.mktemp(f"alone_{kind}")
    with (
        serving(folder, kind, program=own, SANDBOX_GYM_EXPOSE_TOOLS_OVER_MCP="true") as port,
        httpx.Client(base_url=f"http://127.0.0.1:{port}", timeout=600) as alone,
        httpx.Client(base_url=gym.address(kind), timeout=600) as child,
    ):
        yield Hosts(kind, alone, child)


class Hosts:
    """The two, and what both answer."""

    def __init__(self, kind: str, alone: httpx.Client, child: httpx.Client) -> None:
        self.kind, self.both = kind, (alone, child)

    def post(self, path: str, body: object) -> tuple[httpx.Response, httpx.Response]:
        first, second = (client.post(path, json=body) for client in self.both)
        return first, second

    def alike(self, path: str, body: object) -> Document:
        """The answer that both give. A client's first answer names its session: those differ, and are not told."""
        first, second = self.post(path, body)
        assert first.status_code == second.status_code, (path, first.text[:500], second.text[:500])
        assert first.headers["content-type"] == second.headers["content-type"]
        if "json" not in first.headers["content-type"]:
            assert first.text == second.text
            return {}
        told, other = (still(answer.json()) for answer in (first, second))
        assert told == other, path
        assert isinstance(told, dict)
        return told

    def anew(self) -> None:
        for client in self.both:
            client.cookies.clear()


def still(value: object) -> object:
    """An answer without clocks; numbers of a measurement's kind are only there or not."""
    if isinstance(value, dict):
        return {key: "..." if key.endswith(CLOCKS) else still(each) for key, each in value.items()}
    return [still(each) for each in value] if isinstance(value, list) else value


def bodies(kind: str) -> list[Document]:
    """Verifies, right and wrong and malformed."""
    if kind == "swe":
        row = json.loads(SWE_EXAMPLES.read_text().splitlines()[0])
        row |= {"response": response_of("Done."), "model_patch": row["patch"]}
        return [row, {**row, "model_patch": ""}, {**row, "model_patch": 5}, {**row, "FAIL_TO_PASS": 7}, {}]
    folder = REPOSITORY / "resources_servers" / "math" / "data"
    files = EXAMPLES if kind == "coding" else [folder / "example.jsonl", folder / "example_with_code.jsonl"]
    rows = [json.loads(line) for path in files for line in path.read_text().splitlines()]
    found = [{**row, "response": row.get("response") or response_of(r"It is \boxed{4}.")} for row in rows]
    return [*found, {**found[0], "response": response_of("")}, {**found[0], "response": 7}, {}]


def calls(kind: str) -> list[tuple[str, Document]]:
    """Tools in one session, right and wrong."""
    kept: list[tuple[str, Document]] = [
        ("/bash", {"command": "cd /tmp; echo $((6 * 7)) > kept; pwd"}),
        ("/bash", {"command": "cat kept"}),
        ("/python", {"code": "kept = 6"}),
        ("/python", {"code": "kept * 7"}),
        ("/exec", {"command": ["sh", "-c", "exit 3"]}),
        ("/read_file", {"path": "/tmp/kept"}),
        ("/read_file", {"path": "/none"}),
        ("/bash", {"command": 5}),
        ("/no_such_tool", {}),
    ]
    own: dict[str, list[tuple[str, Document]]] = {
        "coding": [("/run_code", {"language": "python", "code": "print(input())", "stdin": "a"}), ("/run_tests", {})],
        "math": [("/execute_python", {"code": "1 / 0"}), ("/stateful_python_code_exec", {"code": "2 ** 10"})],
        "swe": [
            ("/view", {"path": "inflection/__init__.py", "view_range": [1, 20]}),
            ("/find", {"pattern": "ordinal"}),
            ("/str_replace", {"path": "none.py", "old_str": "a", "new_str": "b"}),
            ("/create", {"path": "notes.txt", "file_text": "a\n"}),
            ("/submit", {}),
        ],
    }
    return kept + own[kind]


def test_routes_and_schemas(hosts: Hosts) -> None:
    documents = [client.get("/openapi.json").json() for client in hosts.both]
    assert documents[0] == documents[1]
    assert {
        "/",
        "/health",
        "/verify",
        "/seed_session",
        "/close_session",
        "/reverify_mode",
        "/aggregate_metrics",
    } <= set(documents[0]["paths"])
    for path in ("/", "/reverify_mode", "/dataset_size", "/no_such_route"):
        first, second = (client.get(path) for client in hosts.both)
        assert (first.status_code, first.text) == (second.status_code, second.text)
    health = [client.get("/health").json() for client in hosts.both]
    assert [each["status"] for each in health] == ["ok", "ok"]
    assert set(health[0]) | {"workers"} == set(health[1]) | {"workers"}


def test_cookies(hosts: Hosts) -> None:
    hosts.anew()
    answers = hosts.post("/seed_session", {})
    names = [answer.headers["set-cookie"].partition("=")[0] for answer in answers]
    assert names == [f"{hosts.kind.capitalize()}Resources___{hosts.kind}"] * 2


def test_verdicts(hosts: Hosts) -> None:
    hosts.anew()
    told = [hosts.alike("/verify", body) for body in bodies(hosts.kind)]
    assert {each.get("reward") for each in told} >= {1.0, 0.0, None}


def test_sessions(hosts: Hosts) -> None:
    hosts.anew()
    row = json.loads(SWE_EXAMPLES.read_text().splitlines()[0]) if hosts.kind == "swe" else {}
    first, second = hosts.post("/seed_session", row)
    assert (first.status_code, set(first.json())) == (200, set(second.json()))
    for path, body in calls(hosts.kind):
        hosts.alike(path, body)


def test_later_routes(hosts: Hosts) -> None:
    """What a NeMo Gym after 0.4.0 asks for, and 0.4.0 never does."""
    hosts.anew()
    for answer in hosts.post("/seed_session", {"resources_session_id": "later-1"}):
        assert answer.json()["resources_session_id"] == "later-1"
    hosts.alike("/close_session", {"resources_session_id": "later-1"})
    hosts.alike("/close_session", {"resources_session_id": "later-1"})
    assert hosts.post("/seed_session", {"resources_session_id": "later-1"})[1].status_code == 409
    hosts.alike("/seed_session", {"resources_session_id": "later-1"})


def test_metrics_of_rollouts(hosts: Hosts) -> None:
    key = {"coding": "extracted_model_code", "math": "extracted_answer", "swe": "model_patch"}[hosts.kind]
    rows = [{"reward": float(n % 3 == 0), key: "ab"[n % 2], "_ng_task_index": n // 4} for n in range(12)]
    told = hosts.alike("/aggregate_metrics", {"verify_responses": rows})
    assert told["agent_metrics"]


def test_no_verdict_is_told_alike(hosts: Hosts) -> None:
    if hosts.kind != "coding":
        body = {**bodies(hosts.kind)[0], "response": response_of("x")}
        assert {answer.status_code for answer in hosts.post("/verify?no_verdict=body", body)} == {200}
        return
    masked = tasks.masked()
    body = {**masked.row, "responses_create_params": {"input": "?"}, "response": response_of(tasks.RIGHT)}
    told = hosts.alike("/verify", body)
    assert (told["mask_sample"], told["failure_kind"]) == (True, "coding:checker_failed")
