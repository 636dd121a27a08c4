"""Datasets' images as they are: imitations judged, and worked in by an agent with the dataset's own command."""

from __future__ import annotations

import json
from collections.abc import Iterator

import httpx2 as httpx
import pytest

from tests.load.servers import ServerProcess
from tests.server.fakes import JSON
from tests.swe.imitations.images import MARKER, build
from tests.swe.imitations.rows import DAILY, IMITATIONS, Imitation
from tests.swe.instance import Client, Document, forget_images, serving_swe
from tests.swe.instance import request as verify_request

pytestmark = pytest.mark.timeout(1500)
HIDDEN = "/root/r2e_tests /root/run_tests.sh /r2e_tests r2e_tests run_tests.sh /home/fix.patch /home/test.patch"
SECRETS = ("git log --all --format=%s", "git reflog", "git tag", "git remote", "git fsck --unreachable --no-reflogs")


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ServerProcess]:
    folder = tmp_path_factory.mktemp("datasets")
    with serving_swe("docker", folder) as running:
        yield running
    forget_images(folder)


@pytest.fixture(
    params=[
        pytest.param(one, id=one.label, marks=[] if one.label in DAILY else [pytest.mark.extended])
        for one in IMITATIONS
    ]
)
def imitation(request: pytest.FixtureRequest) -> Imitation:
    one: Imitation = request.param
    build(one.image)
    return one


@pytest.fixture
def client(server: ServerProcess, imitation: Imitation) -> Iterator[Client]:
    opened = Client(server.url, imitation.row)
    yield opened
    opened.close()


def ran(client: Client, command: str) -> tuple[int, str]:
    found: Document = client.bash(command)
    return int(found["exit_code"]), str(found["output"])


def test_the_fix_earns_the_reward_and_nothing_does_not(client: Client, imitation: Imitation) -> None:
    found = client.verify(imitation.fix)
    assert found["reward"] == 1.0, (found["failure_reason"], found["verdict"])
    assert client.verify("")["reward"] == 0.0
    other = "diff --git a/note.txt b/note.txt\nnew file mode 100644\n--- /dev/null\n+++ b/note.txt\n@@ -0,0 +1 @@\n+x\n"
    found = client.verify(other)
    assert (found["reward"], found["evaluation_completed"]) == (0.0, True), found


def test_an_agent_sees_what_the_harness_sees(client: Client, imitation: Imitation) -> None:
    client.seed()
    workdir = imitation.image.workdir
    assert ran(client, "pwd") == (0, f"{workdir}\n")
    assert ran(client, "git status --porcelain") == (0, ""), "the image's own leftovers are no work of the agent's"
    assert ran(client, "cat built/artifact.txt") == (0, "made\n"), "what git does not track is there nevertheless"
    assert ran(client, "git rev-list --all --count") == (0, "1\n")
    told = "".join(ran(client, command)[1] for command in SECRETS)
    assert MARKER not in told
    assert "v2.0" not in told
    assert "origin" not in told
    assert ran(client, f"ls {HIDDEN} 2>/dev/null")[1] == ""
    assert ran(client, 'cd && touch here && pwd && cd "$OLDPWD"') == (0, "/root\n"), "the home is root's, and writable"
    assert ran(client, "touch /opt/sandbox-gym/guest/lib/x 2>/dev/null")[0] != 0
    if "conda" in imitation.image.base:
        site = "$CONDA_PREFIX/lib/python3.11/site-packages"
        added = f"command -v python; cp {site}/pip/__init__.py {site}/more.py && python -c 'import more'"
        assert ran(client, added) == (0, "/opt/miniconda3/envs/testbed/bin/python\n")
    tests = imitation.project.test_patch
    if tests:
        assert ran(client, f"git apply <<'EOF'\n{tests}EOF")[0] == 0
    code, output = ran(client, imitation.command)
    assert code != 0, output
    assert "FAIL" in output, output
    assert ran(client, f"git apply <<'EOF'\n{imitation.fix}EOF")[0] == 0
    code, output = ran(client, imitation.command)
    assert code == 0, output
    found = client.verify()
    assert found["reward"] == 1.0, (found["failure_reason"], found["verdict"])


BY_LABEL = {one.label: one for one in IMITATIONS}
UNFIT = [
    ("swebench", "multi-swe-without-bash", {}, "it has no folder /home/calc"),
    ("swebench", "multi-swe-without-bash", {"workdir": "/home/greet"}, "has no python on its PATH"),
    ("swebench", "", {"workdir": "/root", "image": "debian:bookworm-slim"}, "find git in the image"),
]


@pytest.mark.parametrize(("of", "image", "more", "said"), UNFIT, ids=["folder", "python", "git"])
def test_an_image_that_lacks_something_is_named(
    server: ServerProcess, of: str, image: str, more: Document, said: str
) -> None:
    """Never a verdict."""
    row = dict(BY_LABEL[of].row)
    if image:
        build(BY_LABEL[image].image)
        row["image"] = BY_LABEL[image].image.name
    body = verify_request({**row, **more}, BY_LABEL[of].fix)
    reply = httpx.post(f"{server.url}/verify", content=json.dumps(body), headers=JSON, timeout=300)
    assert reply.status_code == 503, reply.text[:500]
    assert "instance_failed" in reply.text
    assert said in reply.text


def test_a_provider_without_images_refuses_the_row(tmp_path_factory: pytest.TempPathFactory) -> None:
    with serving_swe("local", tmp_path_factory.mktemp("local")) as running:
        body = json.dumps(BY_LABEL["swebench"].row)
        reply = httpx.post(f"{running.url}/seed_session", content=body, headers=JSON, timeout=60)
    assert reply.status_code == 422, reply.text
    assert "docker" in reply.json()["error"]["remedy"]
