"""Template builds by the unmodified SDK."""

from __future__ import annotations

import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypedDict

import httpx
import pytest
from e2b import BuildException, Sandbox, SandboxQuery, Template, TemplateClass, wait_for_file
from e2b.api.client.models import Template as Listed
from e2b.exceptions import TemplateException

from sandbox_gym.e2b_server.builds import uploads
from sandbox_gym.e2b_server.builds.manager import Build
from sandbox_gym.e2b_server.builds.uploads import Uploads
from sandbox_gym.server.access.accounts import Tenant
from tests.e2b.servers import KEYS, PoolServer

pytestmark = pytest.mark.timeout(240)


class Access(TypedDict):
    """Settings of Template's calls."""

    api_key: str
    api_url: str


def access(pool: PoolServer, tenant: str = "alice") -> Access:
    return {"api_key": KEYS[tenant], "api_url": pool.url}


@pytest.fixture
def context(tmp_path: Path) -> Path:
    (tmp_path / "app" / "below").mkdir(parents=True)
    (tmp_path / "app" / "main.py").write_text("print('made')\n")
    (tmp_path / "app" / "below" / ".hidden").write_text("h")
    (tmp_path / "one.txt").write_text("1")
    (tmp_path / "two.txt").write_text("2")
    return tmp_path


def test_steps_tags_and_sandboxes_of_it(pool: PoolServer, context: Path) -> None:
    template = (
        Template(file_context_path=context)
        .from_base_image()
        .set_envs({"COLOUR": "green", "QUOTED": "it's $HOME"})
        .set_workdir("/home/user/work")
        .copy("app", "code")
        .copy("*.txt", "texts/")
        .copy("one.txt", "renamed.txt", mode=0o600)
        .run_cmd("python3 code/main.py > said && echo built >&2")
        .set_start_cmd("echo $COLOUR > started; sleep 1000", wait_for_file("/home/user/work/started"))
    )
    lines: list[str] = []
    made = Template.build(
        template, "own:v1", tags=["latest"], on_build_logs=lambda one: lines.append(one.message), **access(pool)
    )
    assert "built" in lines
    assert sorted(made.tags) == ["latest", "v1"]
    where = pool.where()
    for name in ("own:v1", "own:latest", made.template_id):
        sandbox = Sandbox.create(name, timeout=60, envs={"OWN": "1"}, **where)
        try:
            files = sandbox.commands.run("pwd; cat said; find . -type f | sort; stat -c %a renamed.txt").stdout
            assert files.splitlines() == [
                "/home/user/work", "made", "./code/below/.hidden", "./code/main.py", "./renamed.txt", "./said",
                "./started", "./texts/one.txt", "./texts/two.txt", "600",
            ]  # fmt: skip
            assert sandbox.commands.run("echo $COLOUR $OWN $QUOTED").stdout == "green 1 it's /home/user\n"
            assert any("sleep 1000" in " ".join(one.args) for one in sandbox.commands.list()), "the start command runs"
        finally:
            sandbox.kill()
    assert Template.exists("own", **access(pool)), "with whatever tag"
    assert Template.exists("own:v2", **access(pool)) is False
    assert Template.exists("own:v1", **access(pool))
    assert Template.exists("own:v1", **access(pool, "bob")) is False
    Template.assign_tags("own:v1", ["stable"], **access(pool))
    for name in ("own:v1", "own", made.template_id):
        assert {one.tag for one in Template.get_tags(name, **access(pool))} == {"v1", "latest", "stable"}
    headers = {"X-API-KEY": KEYS["alice"]}
    listed = [one for one in httpx.get(f"{pool.url}/templates", headers=headers).json() if one["aliases"] == ["own"]]
    assert [Listed.from_dict(one).build_id for one in listed] == [made.build_id], "what E2B's command line shows"
    assert httpx.get(f"{pool.url}/templates", headers={"X-API-KEY": KEYS["bob"]}).json() == []
    Template.remove_tags("own", ["stable"], **access(pool))
    with pytest.raises(TemplateException):
        Template.remove_tags("own", ["stable"], **access(pool))
    again: list[str] = []
    Template.build(template, "own:v1", on_build_logs=lambda one: again.append(one.message), **access(pool))
    assert any(line.startswith("CACHED 6 of 6") for line in again)
    assert any("already cached" in line for line in again)


def test_sandboxes_are_as_the_build_left_them(pool: PoolServer, context: Path) -> None:
    (context / "link").symlink_to("elsewhere")
    template = (
        Template(file_context_path=context)
        .from_base_image()
        .set_envs({"TOOLS": "/opt/tools"})
        .set_envs({"BOTH": "${TOOLS}/bin:$PATH", "PRICE": r"\$5", "NONE": "<$NONESUCH>"})
        .set_workdir("/home/user/work")
        .copy("link", "copied", user="user:user")
        .set_start_cmd("sleep 1; touch ready; sleep 1000", wait_for_file("/home/user/work/ready"))
    )
    made = Template.build(template, "as-left", tags=["v1"], **access(pool))
    sandbox = Sandbox.create("as-left:v1", timeout=60, envs={"OWN": "1"}, **pool.where())
    try:
        assert sandbox.files.exists("/home/user/work/ready"), "its start command is ready"
        assert sandbox.get_info().template_id == made.template_id
        for name in ("as-left:v1", "as-left", made.template_id):
            (found,) = Sandbox.list(SandboxQuery(template=name), **pool.where()).next_items()
            assert found.sandbox_id == sandbox.sandbox_id
        snapshot = sandbox.create_snapshot()
        other = Sandbox.create(snapshot.snapshot_id, timeout=60, **pool.where())
        for one in (sandbox, other):
            said = one.commands.run('pwd; readlink copied; echo "$BOTH $PRICE $NONE $OWN"').stdout.splitlines()
            assert said[:2] == ["/home/user/work", "elsewhere"]
            assert said[2].startswith("/opt/tools/bin:/usr/local/sbin:")
            assert said[2].endswith(" $5 <> 1")
        other.kill()
    finally:
        sandbox.kill()


@pytest.mark.parametrize(
    ("template", "said"),
    [
        (Template().from_base_image().run_cmd("echo out of luck; exit 3"), "exit status 3"),
        (Template().from_base_image().set_workdir("/proc/1/x"), "set workdir"),
        (Template().from_base_image().run_cmd("whoami", user="root123"), "invalid username: 'root123'"),
        (Template().from_base_image().set_start_cmd("exit 4", "sleep 0.5"), "start command failed"),
        (Template().from_base_image().run_cmd("true", user="user:user"), "invalid username: 'user:user'"),
        (Template().from_image("nowhere.example/none:1"), "not found"),
        (Template().from_template("no-such-template"), "not found"),
        (Template().from_base_image().run_cmd("kill -9 -1"), "status|ended|not found"),
        (Template().from_base_image().run_cmd("yes | head -c 30000000; exit 1"), "exit status 1"),
    ],
    ids=lambda one: "" if isinstance(one, str) else None,
)
def test_a_build_that_fails_says_why(pool: PoolServer, template: TemplateClass, said: str) -> None:
    with pytest.raises(BuildException, match=said.replace("'", ".")):
        Template.build(template, f"failing-{time.monotonic_ns()}", **access(pool))
    assert pool.process.poll() is None


@pytest.mark.parametrize("image", ["debian", "ubuntu", "fedora", "alpine", "arch", "python", "node", "bun"])
def test_the_usual_image_stands_for_those_of_the_sdk_s_methods(pool: PoolServer, image: str) -> None:
    said: list[str] = []
    template = getattr(Template(), f"from_{image}_image")()
    made = Template.build(
        template, f"of-{image}", on_build_logs=lambda entry: said.append(entry.message), **access(pool)
    )
    assert any("is not pulled: this pool's 'base' stands for it" in line for line in said)
    assert Sandbox.delete_snapshot(made.name, **access(pool))


@pytest.mark.parametrize("sizes", [(0, 1024), (-1, 1024), (2, 64), (2, -1)])
def test_sizes_that_no_sandbox_has_are_refused(pool: PoolServer, sizes: tuple[int, int]) -> None:
    with pytest.raises(BuildException, match=r"cpuCount|memoryMB"):
        Template.build(Template().from_base_image(), "odd", cpu_count=sizes[0], memory_mb=sizes[1], **access(pool))
    made = Template.build(Template().from_base_image(), "even", cpu_count=1, memory_mb=128, **access(pool))
    assert made.name == "even"


def test_of_another_tenant_nothing_is_seen_or_changed(pool: PoolServer) -> None:
    made = Template.build(Template().from_base_image().run_cmd("echo secret > s"), "private", **access(pool))
    headers = {"X-API-KEY": KEYS["bob"]}
    with httpx.Client(base_url=pool.url, headers=headers) as bob:
        template, build = made.template_id, made.build_id
        assert bob.get(f"/templates/{template}/builds/{build}/status").status_code == 404
        assert bob.post(f"/v2/templates/{template}/builds/{build}", json={}).status_code == 404
        assert bob.get(f"/templates/{template}/files/{'0' * 64}").status_code == 404
        assert bob.get("/templates/private/tags").status_code == 404
        assert bob.delete(f"/templates/{template}").status_code == 404
        assert bob.post("/templates/tags", json={"target": "private", "tags": ["mine"]}).status_code == 404
        assert bob.post("/sandboxes", json={"templateID": "private"}).status_code == 404
        assert bob.put("/templates/uploads/guess", content=b"x").status_code == 404
    own = httpx.delete(f"{pool.url}/templates/{made.template_id}", headers={"X-API-KEY": KEYS["alice"]})
    assert own.status_code == 204
    assert not Template.exists("private", **access(pool))


def test_a_step_that_hangs_ends_with_its_tenants_longest_time(tmp_path: Path) -> None:
    keys = f'[tenants.alice]\nkeys = ["{KEYS["alice"]}"]\nmax_timeout_s = 6\ncreates_per_s = 100\n'
    pool = PoolServer("local", tmp_path, keys=keys)
    try:
        for command in ("sleep 1000", "setsid sleep 1000 & trap '' TERM; while :; do :; done", "yes"):
            template = Template().from_base_image().run_cmd(command)
            with pytest.raises(BuildException, match=r"took too long|has ended|not found"):
                Template.build(template, "hanging", **access(pool))
        assert Sandbox.list(**pool.where()).next_items() == [], "the build's sandbox is gone"
    finally:
        pool.stop()


def test_a_flood_of_requests_and_of_lines_costs_nobody_else(pool: PoolServer) -> None:
    flooding = Template().from_base_image().run_cmd("yes $(head -c 1500 /dev/zero | tr '\\0' x) | head -c 60000000")
    lines: list[str] = []
    Template.build(flooding, "flooding", on_build_logs=lambda one: lines.append(one.message), **access(pool))
    assert sum(map(len, lines)) < 3 << 20
    assert any("the rest is left out" in line for line in lines)
    with httpx.Client(base_url=pool.url) as client:
        alice, bob = ({"X-API-KEY": KEYS[name]} for name in ("alice", "bob"))
        one = client.post("/v3/templates", json={"name": "patient"}, headers=alice).json()
        for number in range(200):
            assert client.post("/v3/templates", json={"name": f"n{number}"}, headers=bob).status_code == 202
        status = client.get(f"/templates/{one['templateID']}/builds/{one['buildID']}/status", headers=alice)
        assert (status.status_code, status.json()["status"]) == (200, "waiting")
        link = client.get(f"/templates/{one['templateID']}/files/{'ab' * 32}", headers=alice).json()
        assert client.put(link["url"], content=b"x" * 1000).status_code == 200
        assert client.put(link["url"], content=b"x").status_code == 404, "a link is for one upload"
        again = client.get(f"/templates/{one['templateID']}/files/{'ab' * 32}", headers=alice).json()
        assert again["present"] is True


def test_what_a_killed_server_left_of_uploads_is_no_open_upload(tmp_path: Path) -> None:
    Uploads(tmp_path)
    (tmp_path / "tenant").mkdir()
    parts = [tmp_path / "tenant" / f"part-{number}" for number in range(4)]
    kept = tmp_path / "tenant" / ("ab" * 32)
    for path in (*parts, kept):
        path.write_bytes(b"x")
    Uploads(tmp_path)
    assert (kept.exists(), [path for path in parts if path.exists()]) == (True, [])


@pytest.mark.parametrize(("start", "ready"), [("kill -9 -1; sleep 1", "true"), ("sleep 100", "kill -9 -1")])
def test_a_start_command_that_ends_the_sandbox_is_no_error_of_the_servers(
    pool: PoolServer, start: str, ready: str
) -> None:
    with pytest.raises(BuildException, match="sandbox was not found"):
        Template.build(Template().from_base_image().set_start_cmd(start, ready), "ending", **access(pool))
    assert "unexpected_error" not in pool.log()


def test_what_templates_keep_is_bounded(pool: PoolServer, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    most = Template().from_base_image().set_envs({"ONE": "x" * 60_000, "TWO": "x" * 60_000})
    Template.build(most, "first-half", **access(pool))
    more = Template().from_template("first-half").set_envs({"THREE": "x" * 20_000})
    grows = Template().from_base_image().set_envs({"A": "x" * 60_000}).set_envs({"A": "$A" * 30_000})
    bad = Template().from_base_image().set_envs({"A=B": "x"})
    for template, why in ((more, "over 131072"), (grows, "over 131072"), (bad, "has a '='")):
        with pytest.raises(BuildException, match=why):
            Template.build(template, "too-much", **access(pool))
    Template.assign_tags("first-half", [f"a{number}" for number in range(50)], **access(pool))
    with pytest.raises(TemplateException, match="at most 100 tags"):
        Template.assign_tags("first-half", [f"b{number}" for number in range(50)], **access(pool))
    monkeypatch.setattr(uploads, "MAX_FILES", 3)
    for number in range(9):
        newest = tmp_path / f"{number:064}"
        newest.touch()
        uploads._trim(newest)
    assert len(list(tmp_path.iterdir())) <= 3


def test_two_requests_that_delete_one_template(pool: PoolServer) -> None:
    for tag in ("v1", "v2", "v3"):
        Template.build(Template().from_base_image().run_cmd(f"echo {tag} > tag"), f"twice:{tag}", **access(pool))
    headers = {"X-API-KEY": KEYS["alice"]}
    with ThreadPoolExecutor(8) as threads:
        found = threads.map(lambda _: httpx.delete(f"{pool.url}/templates/twice:v1", headers=headers), range(8))
    assert {one.status_code for one in found} == {204, 404}


def test_a_log_is_bounded_by_what_it_takes_in_memory() -> None:
    build = Build(Tenant("alice"), "t", "name", ())
    for _ in range(10_000):
        build.log("info", "\U0001f600" * 500)
    assert sum(sys.getsizeof(text) for _, _, text, _ in build.lines) < 3 << 20
    assert "the rest is left out" in build.lines[-1][2]
