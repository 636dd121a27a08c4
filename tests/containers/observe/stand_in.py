"""Grafana, the collector or Jaeger, as far as the Compose file and the other services meet them: which ports answer,
whether the mounted configuration is there, and spans that go from the collector to Jaeger, which counts them."""

import http.server
import os
import pathlib
import sys
import threading
import urllib.error
import urllib.request

import yaml

batches = 0


class Answers(http.server.BaseHTTPRequestHandler):
    """200 to every GET, with the number of batches of spans; a POST of spans is counted, and passed on to `onward`."""

    onward = ""

    def do_GET(self) -> None:
        self._reply(200, str(batches).encode())

    def do_POST(self) -> None:
        global batches
        body = self.rfile.read(int(self.headers["Content-Length"]))
        if self.onward:
            kinds = {name: self.headers[name] for name in ("Content-Type", "Content-Encoding") if self.headers[name]}
            try:
                urllib.request.urlopen(urllib.request.Request(self.onward, body, kinds), timeout=5).close()
            except (urllib.error.URLError, OSError):
                return self._reply(503, b"")
        batches += 1
        self._reply(200, b"")

    def _reply(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_words: object) -> None:
        pass


def listen(*ports: int) -> None:
    servers = [http.server.ThreadingHTTPServer(("", port), Answers) for port in ports]
    for one in servers[1:]:
        threading.Thread(target=one.serve_forever, daemon=True).start()
    servers[0].serve_forever()


def collector() -> None:
    (option,) = sys.argv[2:]
    config = yaml.safe_load(pathlib.Path(option.removeprefix("--config=")).read_text())
    (exporter,) = [value for name, value in config["exporters"].items() if name.startswith("otlphttp")]
    Answers.onward = exporter["endpoint"] + "/v1/traces"
    health = config["extensions"]["health_check"]["endpoint"]
    assert "health_check" in config["service"]["extensions"]
    otlp = config["receivers"]["otlp"]["protocols"]["http"]["endpoint"]
    listen(*(int(endpoint.rpartition(":")[2]) for endpoint in (otlp, health)))


def grafana() -> None:
    assert os.environ["GF_SECURITY_ADMIN_PASSWORD"]
    for name in (
        "/etc/grafana/provisioning/datasources/sandbox-gym.yml",
        "/etc/sandbox-gym/dashboards/sandbox-gym.json",
    ):
        assert pathlib.Path(name).read_text()
    pathlib.Path("/var/lib/grafana/grafana.db").write_text("kept")
    listen(3000)


def jaeger() -> None:
    listen(4318, 14269, 16686)


{"collector": collector, "grafana": grafana, "jaeger": jaeger}[sys.argv[1]]()
