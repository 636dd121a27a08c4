"""Settings: one name each in file, environment, YAML and options; what is no setting is refused by name."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from docs.generate.settings import settings as documented
from sandbox_gym.config import Settings
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.sandbox.registry import make_provider
from sandbox_gym.server.launch import serve_as_child
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.workers.parent import share
from sandbox_gym.settings.group import is_set, paths, value_of


@pytest.fixture(autouse=True)
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where `sandbox_gym.toml` is read."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_table_of_the_file_is_a_group(folder: Path) -> None:
    (folder / "sandbox_gym.toml").write_text('boxes = 4\n[docker]\nruntime = "runsc"\n[session]\nidle_s = 5\n')
    settings = Settings()
    assert (settings.boxes, settings.docker.runtime, settings.session.idle_s) == (4, "runsc", 5.0)
    assert settings.docker.image_prefix == "sandbox-gym/"


def test_environment_beats_the_file_and_options_beat_both(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sandbox_gym.toml").write_text(
        '[docker]\nruntime = "runsc"\nimage_prefix = "file/"\n[swe]\ndisk_mb = 500\n'
    )
    monkeypatch.setenv("SANDBOX_GYM_DOCKER_RUNTIME", "kata")
    monkeypatch.setenv("SANDBOX_GYM_DOCKER_IMAGE_PREFIX", "variable/")
    monkeypatch.setenv("SANDBOX_GYM_E2B_TEMPLATES", '{"python": "base"}')
    settings = Settings.from_flat({"docker_image_prefix": "option/", "time_limit_s": 3})
    assert (settings.docker.runtime, settings.docker.image_prefix) == ("kata", "option/")
    assert (settings.swe.disk_mb, settings.time_limit_s, settings.e2b.templates) == (500, 3.0, {"python": "base"})


@pytest.mark.parametrize(
    ("variable", "value", "says"),
    [
        ("SANDBOX_GYM_DOCKER_RUNTIM", "x", "did you mean SANDBOX_GYM_DOCKER_RUNTIME"),
        ("SANDBOX_GYM_SESSIONS_LIVE", "3", "did you mean SANDBOX_GYM_SESSION_MAX_LIVE"),
        ("SANDBOX_GYM_SNAPSHOT_DISK_MB", "3", "did you mean SANDBOX_GYM_SESSION_SNAPSHOT_DISK_MB"),
        ("SANDBOX_GYM_BOXS", "3", "SANDBOX_GYM_BOXS is no setting; did you mean SANDBOX_GYM_BOXES"),
        ("SANDBOX_GYM_CONCURRENCY_OF_ALL", "3", "is no setting; docs/reference/settings.md"),
        ("SANDBOX_GYM_JOURNAL", "off", "a table of settings.*SANDBOX_GYM_JOURNAL_URL"),
        ("SANDBOX_GYM_E2B_TEMPLATES", "python", "SANDBOX_GYM_E2B_TEMPLATES is no JSON"),
        (
            "SANDBOX_GYM_BOXES",
            "1",
            "boxes: Input should be greater than or equal to 2, and it is '1' \\(SANDBOX_GYM_BOXES\\)$",
        ),
        (
            "SANDBOX_GYM_DEADLINE_S",
            "inf",
            "deadline_s: Input should be a finite number, and it is 'inf' \\(SANDBOX_GYM_DEADLINE_S\\)$",
        ),
        (
            "SANDBOX_GYM_SESSION_TTL_S",
            "1e308",
            "session_ttl_s: Input should be less than or equal to 1000000000000, and it is '1e308'"
            " \\(SANDBOX_GYM_SESSION_TTL_S\\)$",
        ),
        ("SANDBOX_GYM_STATE_DIR", "/tmp/\udcff", "state_dir: is no UTF-8 text: name what is \\(SANDBOX_GYM_STATE_DIR"),
        ("SANDBOX_GYM_ATTEMPTS", "9" * 40, "attempts: Input should be less than or equal to 1000000000000"),
        ("SANDBOX_GYM_CPUS_PER_BOX", "1e6", "cpus_per_box: Input should be less than or equal to 100000"),
        (
            "SANDBOX_GYM_IN_PROCESS",
            "no",
            "in_process: Input should be 'allow', 'mask' or 'deny', and it is 'no' \\(SANDBOX_GYM_IN_PROCESS\\)$",
        ),
        ("SANDBOX_GYM_STATE_DIR", "", "state_dir: is empty: name a path"),
        ("SANDBOX_GYM_TOKEN", "a-secret\n", "token: has a blank or a line end around it(?!.*secret)"),
        ("SANDBOX_GYM_TOKEN", " ", "token: has a blank"),
        ("SANDBOX_GYM_DASHBOARD_TOKEN", "a-\x1bsecret", "dashboard_token: has a blank(?!.*secret)"),
        ("SANDBOX_GYM_LOCAL_PYTHON", "", "local_python: is empty: name a path"),
        ("SANDBOX_GYM_KEYS", "", "keys: is empty: name a path"),
        ("SANDBOX_GYM_E2B_API_URL", "pool:8090", "e2b_api_url: String should match pattern .*https"),
        ("SANDBOX_GYM_JUDGE_BASE_URL", "gpu:8000/v1", "judge_base_url: String should match pattern .*https"),
        ("SANDBOX_GYM_TENANT_WEIGHTS", '{"a": 0}', r"tenant_weights\.a: Input should be greater than 0, and it is '0'"),
        ("SANDBOX_GYM_SWE_DISK_MB", "1", r"swe_disk_mb: Input should be greater than or equal to 100"),
    ],
)
def test_a_wrong_variable_is_refused(monkeypatch: pytest.MonkeyPatch, variable: str, value: str, says: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(ConfigurationError, match=says):
        Settings.from_flat({})


@pytest.mark.parametrize(
    "variable",
    ["SANDBOX_GYM_POOL_TOKEN", "SANDBOX_GYM_ISOLATION", "SANDBOX_GYM_URL", "SANDBOX_GYM_TEST_DATA", "OTHER_BOXES"],
)
def test_variables_of_other_programs_are_ignored(monkeypatch: pytest.MonkeyPatch, variable: str) -> None:
    before = Settings()
    monkeypatch.setenv(variable, "x")
    assert Settings() == before == Settings.from_flat({})


def test_what_kubernetes_says_of_services_is_no_setting(monkeypatch: pytest.MonkeyPatch) -> None:
    before = Settings()
    for service in ("SANDBOX_GYM", "SANDBOX_GYM_MATH"):
        address = f"tcp://10.0.0.1:{8000 + len(service)}"
        given = {"SERVICE_HOST": "10.0.0.1", "SERVICE_PORT": "80", "SERVICE_PORT_HTTP": "80", "PORT": address}
        each = {"PORT_80_TCP": address, "PORT_80_TCP_PROTO": "tcp", "PORT_80_TCP_ADDR": "10.0.0.1"}
        for name, value in {**given, **each}.items():
            monkeypatch.setenv(f"{service}_{name}", value)
    assert Settings() == before
    monkeypatch.setenv("SANDBOX_GYM_PORT", "9000")
    assert Settings().port == 9000


@pytest.mark.parametrize(
    ("toml", "says"),
    [
        ('[docker]\nruntim = "x"\n', r"docker\.runtim: no such setting; did you mean docker\.runtime\?"),
        ("bogus = 1\n", r"bogus: no such setting \(sandbox_gym\.toml\)$"),
        ("boxes = \n", r"settings: sandbox_gym\.toml: Invalid value \(at line 1, column 9\)$"),
        ("time_limits = 1\n", r"did you mean time_limit_s\?"),
        ('docker_runtime = "x"\n[session]\nlive = 3\n', r"session\.live: no such setting"),
    ],
)
def test_what_the_file_may_not_hold_is_named(folder: Path, toml: str, says: str) -> None:
    (folder / "sandbox_gym.toml").write_text(toml)
    with pytest.raises(ConfigurationError, match=says):
        Settings.from_flat({})


@pytest.mark.parametrize("toml", ["token = 12345678", "[judge]\napi_key = 12345678", "allow_out = [12345678]"])
def test_what_may_be_a_secret_is_not_shown(folder: Path, toml: str) -> None:
    (folder / "sandbox_gym.toml").write_text(toml)
    with pytest.raises(ConfigurationError, match=r"Input should be a valid string \(sandbox_gym\.toml\)$"):
        Settings.from_flat({})


def test_no_number_is_without_an_end(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (one.variable for one in documented() if "float" in one.kind):
        for value in ("inf", "nan", "1e400"):
            given = f'{{"a": {value.replace("inf", "Infinity").replace("nan", "NaN")}}}' if "WEIGHTS" in name else value
            monkeypatch.setenv(name, given)
            with pytest.raises(ConfigurationError):
                Settings.from_flat({})
        monkeypatch.delenv(name)


def test_a_file_that_can_t_be_read_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "sandbox_gym.toml").write_text("boxes = 2\n")

    def refused(*_: object, **__: object) -> None:
        raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "open", refused)
    with pytest.raises(ConfigurationError, match=r"sandbox_gym\.toml: Permission denied"):
        Settings.from_flat({})


@pytest.mark.parametrize("kind", ["folder", "link"])
def test_a_file_that_is_none_is_not_passed_over(folder: Path, kind: str) -> None:
    """A mount of a file that is not there makes a folder."""
    file = folder / "sandbox_gym.toml"
    file.mkdir() if kind == "folder" else file.symlink_to("nothing")
    with pytest.raises(ConfigurationError, match=r"sandbox_gym\.toml is no file"):
        Settings.from_flat({})


def test_each_wrong_value_says_where_it_stands(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Generated: every number, wrong in the file, in a variable and as an option."""
    for one in documented():
        if one.kind.split()[0] not in ("int", "float"):
            continue
        flat = one.variable.removeprefix("SANDBOX_GYM_").lower()
        (folder / "sandbox_gym.toml").write_text(f'{flat} = "x"\n' if flat in Settings.model_fields else "")
        if flat in Settings.model_fields:
            with pytest.raises(ConfigurationError, match=rf"^settings: {flat}: .*\(sandbox_gym\.toml\)$"):
                Settings.from_flat({})
            (folder / "sandbox_gym.toml").unlink()
        with pytest.raises(ConfigurationError, match=rf"^settings: {flat}: [^(]*$"):
            Settings.from_flat({flat: "x"})
        monkeypatch.setenv(one.variable, "x")
        with pytest.raises(ConfigurationError, match=rf"^settings: {flat}: .*\({one.variable}\)$"):
            Settings.from_flat({})
        monkeypatch.delenv(one.variable)


UNSET = ("keys", "sandbox_fusion_datasets", "reasoning_format_penalty")


def test_flat_names_are_unique_and_reach_every_setting() -> None:
    settings = Settings()
    listed = {one.variable: one for one in documented()}
    assert set(listed) == {f"SANDBOX_GYM_{name.upper()}" for name in paths(Settings)}
    assert len(listed) > 70
    for name, path in paths(Settings).items():
        one = listed[f"SANDBOX_GYM_{name.upper()}"]
        assert (one.path, len(one.meaning) > 10) == (path, True), name
        assert value_of(settings, name) is not None or name in UNSET


def test_judging_settings_of_the_journal_can_be_read_again() -> None:
    settings = Settings.from_flat({"math_wire": "ns_tools", "math_cpu_time_s": 7, "early_stop": False})
    assert Settings.from_flat(settings.judging()).judging() == settings.judging()


def test_a_worker_gets_its_part_of_tables_too() -> None:
    settings = Settings.from_flat({"swe_disk_mb": 1000, "session_max_live": 5, "boxes": 5})
    first, second = (share(settings, number, 2) for number in range(2))
    assert (first.swe.disk_mb, second.swe.disk_mb) == (500, 500)
    assert (first.session.max_live, second.session.max_live) == (3, 2)
    assert is_set(settings, "swe_disk_mb")
    assert not is_set(settings, "swe_memory_limit_mb")
    with pytest.raises(ConfigurationError, match="swe_disk_mb is 150"):
        share(Settings.from_flat({"swe_disk_mb": 150}), 0, 2)


class _Read(Exception):
    def __init__(self, settings: Settings) -> None:
        self.settings = settings


def _told(settings: Settings, name: str) -> ResourcesServer:
    raise _Read(settings)


def test_a_child_of_nemo_gym_reads_tables_flat_names_and_nemo_gyms_own(monkeypatch: pytest.MonkeyPatch) -> None:
    fields = {
        "entrypoint": "app.py",
        "math": {"wire": "ns_tools"},
        "math_cpu_time_s": 4,
        "should_use_judge": True,
        "judge_model_server": {"type": "responses_api_models", "name": "model"},
        "judge_responses_create_params": {"temperature": 0},
        "num_workers": 2,
        "cluster": {"address": "auto"},
    }
    model = {"responses_api_models": {"vllm": {"host": "127.0.0.1", "port": 9}}}
    config = {
        "m": {"resources_servers": {"math": fields}},
        "model": model,
        "ray_head_node_address": "ray://head:1",
    }
    monkeypatch.setenv("NEMO_GYM_CONFIG_PATH", "m")
    monkeypatch.setenv("NEMO_GYM_CONFIG_DICT", yaml.safe_dump(config))
    with pytest.raises(_Read) as read:
        serve_as_child(_told, "math")
    settings = read.value.settings
    assert (settings.math.wire, settings.math.cpu_time_s, settings.workers) == ("ns_tools", 4.0, 2)
    assert (settings.judge.enabled, settings.judge.base_url) == (True, "http://127.0.0.1:9/v1")
    assert settings.judge.responses_create_params == {"temperature": 0}
    assert settings.cluster.address == "ray://head:1"


def test_reading_settings_imports_no_feature() -> None:
    code = (
        "import sys, sandbox_gym.config;"
        "print(*(m for m in sys.modules if m.split('.')[:2] in (['sandbox_gym', 'sandbox'], ['sandbox_gym', 'server'],"
        " ['sandbox_gym', 'journal'], ['sandbox_gym', 'engine']) or m in ('fastapi', 'docker', 'e2b', 'sqlalchemy')))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert (done.returncode, done.stdout.strip()) == (0, ""), done.stderr


@pytest.mark.parametrize(
    ("python", "what"), [("/tmp", "is no program"), ("/dev/null", "is no program"), ("/none", "does not exist")]
)
def test_an_interpreter_that_is_none_is_refused_by_name(folder: Path, python: str, what: str) -> None:
    settings = Settings.from_flat({"local_python": python, "state_dir": folder / "state"})
    with pytest.raises(ConfigurationError, match=f"local_python is {python}, which {what}; name an interpreter"):
        make_provider(settings)
