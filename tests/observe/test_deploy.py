"""What deploy/ holds: every metric that it names is one that servers give, and the tools that read it take it."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx2 as httpx
import pytest
import yaml
from prometheus_client.parser import text_string_to_metric_families

from sandbox_gym.cluster.messages import NodeDraining, NodeLost, NodeRefused
from sandbox_gym.observe.metrics import CONTENT_TYPE
from sandbox_gym.server.workers.sockets import WorkerLost
from tests.load.servers import ServerProcess, free_port
from tests.observe.prometheus import DEPLOY, REPOSITORY, tool
from tests.server.fakes import verify_body

DASHBOARD = DEPLOY / "grafana" / "dashboards" / "sandbox-gym.json"
RULES = DEPLOY / "prometheus" / "rules.yml"
TOKEN = "a-token"
NAME = re.compile(r"\b(?<![:\w])sandbox_gym_\w+")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    """A real server with sessions, a journal and a verdict of each kind."""
    settings = {"SANDBOX_GYM_TOKEN": TOKEN, "SANDBOX_GYM_BOXES": "2"}
    running = ServerProcess("local", tmp_path_factory.mktemp("server"), settings=settings)
    try:
        for expected in ("1", "2"):
            body = verify_body("```python\nprint(1)\n```")
            body["verifier_metadata"] = {"unit_tests": {"inputs": [""], "outputs": [expected]}}
            answer = httpx.post(f"{running.url}/verify", json=body, headers=_bearer(), timeout=60)
            assert answer.json()["reward"] == float(expected == "1")
        yield running
    finally:
        running.stop()


def _bearer() -> dict[str, str]:
    return {"Authorization": f"Bearer {TOKEN}"}


@pytest.fixture(scope="module")
def exposition(server: ServerProcess) -> str:
    answer = httpx.get(f"{server.url}/metrics", headers=_bearer(), timeout=30)
    assert answer.headers["Content-Type"] == CONTENT_TYPE
    return answer.text


def test_metrics_are_prometheus_exposition(exposition: str) -> None:
    families = {family.name: family for family in text_string_to_metric_families(exposition)}
    assert all(family.documentation and family.type != "untyped" for family in families.values())
    verdicts = {
        s.labels["reason"]: s.value for s in families["sandbox_gym_verdicts"].samples if s.name.endswith("_total")
    }
    assert (verdicts["passed"], verdicts["wrong_answer"], verdicts["time_limit"]) == (1, 1, 0)
    phases = families["sandbox_gym_phase_seconds"]
    assert phases.type == "histogram"
    counts = {s.labels["phase"]: s.value for s in phases.samples if s.name.endswith("_count")}
    assert counts == {"queue": 2, "acquire": 2, "run": 2, "judge": 2}
    kinds = {s.labels["kind"] for s in families["sandbox_gym_no_verdicts"].samples}
    assert {"sandbox_lost", "provider_down", "pool_full", "deadline_exceeded", "journal_down"} <= kinds


def test_promtool_takes_the_exposition(exposition: str) -> None:
    done = subprocess.run([tool("promtool"), "check", "metrics"], input=exposition, capture_output=True, text=True)
    complaints = [line for line in done.stderr.splitlines() if "no help text" in line or "error" in line.lower()]
    assert (done.returncode in (0, 3), complaints) == (True, []), done.stderr  # 3: matters of taste in names


def names_in(text: str) -> set[str]:
    return set(NAME.findall(text))


def test_every_metric_that_is_named_is_there(exposition: str) -> None:
    given = {sample.name for family in text_string_to_metric_families(exposition) for sample in family.samples}
    rules, dashboard = names_in(RULES.read_text()), names_in(json.dumps([*expressions()]))
    assert len(rules) >= 10
    assert len(dashboard) >= 25
    assert (rules - given, dashboard - given) == (set(), set())


def panels() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(DASHBOARD.read_text())["panels"]
    return found


def expressions() -> Iterator[str]:
    for panel in panels():
        for target in panel["targets"]:
            yield target["expr"]


def test_panels_are_whole_and_do_not_overlap() -> None:
    taken: set[tuple[int, int]] = set()
    assert len({panel["id"] for panel in panels()}) == len(panels())
    for panel in panels():
        place = panel["gridPos"]
        cells = {
            (x, y)
            for x in range(place["x"], place["x"] + place["w"])
            for y in range(place["y"], place["y"] + place["h"])
        }
        assert not cells & taken, panel["title"]
        assert place["x"] + place["w"] <= 24
        assert panel["targets"], panel["title"]
        taken |= cells


def test_rules_are_rules_and_do_as_they_say() -> None:
    folder = DEPLOY / "prometheus"
    checked = subprocess.run([tool("promtool"), "check", "rules", "rules.yml"], cwd=folder, capture_output=True)
    assert checked.returncode == 0, checked.stderr
    tested = subprocess.run([tool("promtool"), "test", "rules", "rules_test.yml"], cwd=folder, capture_output=True)
    assert tested.returncode == 0, tested.stdout + tested.stderr
    configured = subprocess.run(
        [tool("promtool"), "check", "config", "--syntax-only", "prometheus.yml"], cwd=folder, capture_output=True
    )
    assert configured.returncode == 0, configured.stdout + configured.stderr


def test_every_alert_has_its_lines_in_the_runbook_and_a_test() -> None:
    alerts = [
        rule for group in yaml.safe_load(RULES.read_text())["groups"] for rule in group["rules"] if "alert" in rule
    ]
    runbook = (REPOSITORY / "docs" / "guides" / "operator" / "alerts.md").read_text()
    tested = (DEPLOY / "prometheus" / "rules_test.yml").read_text()
    assert len(alerts) >= 7
    for alert in alerts:
        section = runbook.partition(f"## {alert['alert']}\n")[2].partition("\n## ")[0]
        assert all(f"**{part}.** " in section for part in ("Means", "Look", "Do")), alert["alert"]
        assert f"alertname: {alert['alert']}\n" in tested
        assert alert["annotations"]["runbook_url"] == f"docs/guides/operator/alerts.md#{alert['alert'].lower()}"


def test_every_kind_of_no_verdict_has_its_line_in_the_runbook(exposition: str) -> None:
    kinds = set(re.findall(r'sandbox_gym_no_verdicts_total\{kind="(\w+)"', exposition))
    kinds |= {error.failure_kind for error in (NodeLost, NodeRefused, NodeDraining, WorkerLost)}
    runbook = (REPOSITORY / "docs" / "guides" / "operator" / "alerts.md").read_text()
    table = runbook.partition("| kind | what to do |\n")[2].partition("\n\n")[0]
    named = "".join(re.findall(r"^\| (.+?) \|", table, re.MULTILINE))
    assert set(re.findall(r"`(\w+)`", named)) == kinds > {"internal"}


def test_a_real_prometheus_scrapes_records_and_answers_the_dashboard(server: ServerProcess, tmp_path: Path) -> None:
    shutil.copy(RULES, tmp_path / "rules.yml")
    (tmp_path / "token").write_text(TOKEN)
    config = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())
    config["global"] = {"scrape_interval": "1s", "evaluation_interval": "1s"}
    job = config["scrape_configs"][0]
    job["authorization"]["credentials_file"] = str(tmp_path / "token")
    job["static_configs"] = [{"targets": [server.url.removeprefix("http://")]}]
    (tmp_path / "prometheus.yml").write_text(yaml.safe_dump(config))
    port = free_port()
    command = [tool("prometheus"), f"--config.file={tmp_path}/prometheus.yml", f"--storage.tsdb.path={tmp_path}/data"]
    with (tmp_path / "log").open("wb") as log:
        process = subprocess.Popen([*command, f"--web.listen-address=127.0.0.1:{port}"], stdout=log, stderr=log)
    try:
        api = f"http://127.0.0.1:{port}/api/v1"
        _until(lambda: _query(api, "sandbox_gym:verdicts:rate5m"), tmp_path / "log")
        assert _query(api, 'up{job="sandbox-gym"}') == 1
        rules = httpx.get(f"{api}/rules", timeout=10).json()["data"]["groups"]
        found = [rule for group in rules for rule in group["rules"]]
        assert len(found) == sum(len(group["rules"]) for group in yaml.safe_load(RULES.read_text())["groups"])
        assert [rule["lastError"] for rule in found if rule.get("lastError")] == []
        assert [rule["name"] for rule in found if rule.get("state") == "firing"] == []
        empty = [each for each in expressions() if not _query(api, _filled(each)) and " > 0" not in each]
        assert empty == [], "panels that would be blank"
    finally:
        process.terminate()
        process.wait(30)


def _filled(expression: str) -> str:
    """As Grafana fills its variables in."""
    return expression.replace("$__rate_interval", "1m").replace("$job", ".*").replace("$instance", ".*")


def _query(api: str, expression: str) -> int:
    """How many series there are. Fails for what is no query."""
    answer = httpx.get(f"{api}/query", params={"query": expression}, timeout=10)
    if answer.status_code == 503:  # it listens, and starts
        return 0
    assert answer.status_code == 200, (expression, answer.text)
    return len(answer.json()["data"]["result"])


def _until(done: Any, log: Path) -> None:
    for _ in range(300):
        try:
            if done():
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)
    raise AssertionError(log.read_text())


def test_the_collectors_pipeline_names_what_it_has() -> None:
    config = yaml.safe_load((DEPLOY / "otel" / "collector.yml").read_text())
    for pipeline in config["service"]["pipelines"].values():
        for kind in ("receivers", "processors", "exporters"):
            assert set(pipeline[kind]) <= set(config[kind])
    assert config["receivers"]["otlp"]["protocols"]["http"]["endpoint"].endswith(":4318")


def compose_command() -> list[str]:
    found = shutil.which("docker-compose")
    return [found] if found else ["docker", "compose"]


def test_the_compose_profile_is_whole() -> None:
    environment = {"PATH": os.environ["PATH"], "SANDBOX_GYM_TOKEN": TOKEN}
    command = [*compose_command(), "--profile", "observe", "config"]
    done = subprocess.run(command, cwd=REPOSITORY, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    services = yaml.safe_load(done.stdout)["services"]
    assert {"prometheus", "grafana", "otel-collector", "jaeger"} <= set(services)
    targets = yaml.safe_load((DEPLOY / "prometheus" / "prometheus.yml").read_text())["scrape_configs"][0]
    for target in targets["static_configs"][0]["targets"]:
        assert target.removesuffix(":8080") in services
    datasources = yaml.safe_load((DEPLOY / "grafana" / "provisioning" / "datasources" / "sandbox-gym.yml").read_text())
    for source in datasources["datasources"]:
        assert source["url"].split("/")[2].split(":")[0] in services
    assert str(services["coding"]["environment"]["SANDBOX_GYM_TRACES"]) in ("false", "False")
    for name in ("prometheus", "grafana", "jaeger"):
        assert all("127.0.0.1" in str(port) for port in services[name]["ports"])
