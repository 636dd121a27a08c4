"""Settings, read once at the entry points from `sandbox_gym.toml` and `SANDBOX_GYM_*`; all below gets values."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Final, Literal

from pydantic import Field, field_validator
from pydantic_settings import BaseSettings, PydanticBaseSettingsSource, SettingsConfigDict, TomlConfigSettingsSource

from sandbox_gym.limits import MIB, UID_BASE, UID_COUNT, Limits, Policy
from sandbox_gym.network import AllowList, normal

_HOST: Final = re.compile(r"[0-9A-Za-z_.-]{1,253}|\[?[0-9A-Fa-f.:]{2,45}\]?", re.ASCII)


def default_state_dir() -> Path:
    """Where what must outlive a process is kept: /var/lib for root, the XDG state folder for others."""
    if os.geteuid() == 0:
        return Path("/var/lib/sandbox-gym")
    given = os.environ.get("XDG_STATE_HOME", "")
    try:
        base = Path(given) if given.startswith("/") else Path.home() / ".local" / "state"
    except RuntimeError:  # a user without a home, as in some containers
        return Path(f"/tmp/sandbox-gym-{os.geteuid()}")
    return base / "sandbox-gym"


class Settings(BaseSettings):
    """One server's or one command's settings. Environment beats the file."""

    model_config = SettingsConfigDict(env_prefix="SANDBOX_GYM_", toml_file="sandbox_gym.toml", extra="forbid")

    provider: str = "local"
    boxes: int = Field(default_factory=lambda: 2 * (os.cpu_count() or 1), ge=2)
    """Sandboxes alive at once; a dialogue needs two."""
    box_max_tasks: int = Field(64, ge=1)
    """Tasks that one box serves, each after a proven reset, before it is replaced."""
    queue_size: int = Field(1000, ge=1)
    """Verifies that may wait for a box; one more is answered 429."""
    tenant_weights: dict[str, float] = Field(default_factory=dict)
    """Shares of the sandboxes by tenant (by its key, or header X-Sandbox-Gym-Tenant); 1 for those not named."""
    deadline_s: float = Field(600.0, gt=0)
    """The longest a verify may take, waiting and retries included."""
    attempts: int = Field(3, ge=1)
    """How often a plan is tried, each time in another box, when a box is lost."""

    state_dir: Path = Field(default_factory=default_state_dir)
    """Folder for what must outlive the process: owner locks, scratch folders."""
    box_lifetime_s: float = Field(24 * 3600.0, ge=60)
    """A sandbox older than this is replaced; one whose owner can't be asked is removed an hour later."""

    time_limit_s: float = Field(10.0, gt=0)
    """CPU seconds of one test; a row may ask for less."""
    memory_limit_mb: int = Field(1024, ge=16)
    """Memory of one test in MiB; a row may ask for less."""
    cpus_per_box: float = Field(2.0, gt=0)
    """CPUs that one sandbox may use at once, such as 0.5, where a cgroup can be made."""
    early_stop: bool = True
    """Stop at a row's first failing test, as NeMo Gym's code_gen does; a row may say otherwise."""
    comparison: Literal["exact", "code_gen"] = "exact"
    """How the values of function tests are compared: integers and text exactly, or as loosely as code_gen; a row may
    say otherwise."""
    fail_on_tamper: list[str] = Field(default_factory=list)
    """Signs of tampering that cost the reward, by name, or "any" for all that are no mere hint in the
    source; docs/coding.md lists them."""
    in_process: Literal["allow", "mask", "deny"] = "allow"
    """Function tests that must share the answer's process: judged there, given no verdict, or refused."""
    reasoning_format_penalty: float = 0.0
    """The reward of an answer that leaves think tags in its final text, as code_gen's setting of that name."""

    math_wire: Literal["auto", "math_with_judge", "math_with_code", "ns_tools"] = "auto"
    """Whose fields the math server speaks; `auto` tells by each row's fields."""
    math_cpu_time_s: float = Field(2.0, gt=0)
    """CPU seconds that math-verify may take for one answer."""
    math_wall_time_s: float = Field(5.0, gt=0)
    """Wall seconds for the same; if they run out before the CPU seconds do, there is no verdict."""
    math_worker_memory_mb: int = Field(1024, ge=128)
    """Memory in MiB that math-verify may take for one answer."""
    math_last_box: Literal["last", "all"] = "last"
    """The last box is the answer, or all of them are, as a list."""
    math_boxed_only: bool = False
    """An answer outside a box is none, as in later versions of math_with_judge; else math-verify searches the text."""
    math_plain_answer: bool = False
    """Without a box, "The answer is X", "#### X" and the like count."""
    math_drop_thinking: bool = False
    """What stands before the last </think> is no answer."""
    math_multiple_choice: bool = False
    """Answers are letters."""
    math_strict_units: bool = False
    """A unit that only one side has makes them differ."""
    math_mask_undecided: bool = False
    """Mask a sample whose answer math-verify could not decide within its caps, instead of giving it 0."""
    math_tool_timeout_s: float = Field(10.0, gt=0, le=3600)
    """Wall seconds of one execute_python or stateful_python_code_exec."""
    math_tool_output_chars: int = Field(20_000, ge=200)
    """The most of one stream that goes back to the model: its first half and its last."""
    should_use_judge: bool = False
    """Ask a model about answers that the rules call different, as math_with_judge."""
    judge_base_url: str = ""
    """An OpenAI-compatible server's base, such as http://127.0.0.1:8000/v1; its /responses is called."""
    judge_model: str = ""
    judge_api_key: str = Field("", repr=False)
    judge_responses_create_params: dict[str, object] = Field(default_factory=dict)
    """Sent with each question, such as {"temperature": 0}."""
    judge_timeout_s: float = Field(120.0, gt=0)
    judge_max_concurrency: int = Field(64, ge=1)

    swe_test_timeout_s: float = Field(60.0, gt=0)
    """Wall seconds of one test of a repository; a row may ask for less."""
    swe_run_timeout_s: float = Field(1800.0, gt=0)
    """Wall seconds of all tests of one verdict; a row may ask for less."""
    swe_memory_limit_mb: int = Field(4096, ge=64)
    """Memory of the tests in MiB; a row may ask for less."""
    swe_restore_test_config: bool = True
    """Put back test configuration that a patch touches, such as conftest.py; it is flagged either way."""
    swe_disk_mb: int = Field(20_000, ge=100)
    """Disk for built instances, in MiB; the longest unused go first."""

    session_ttl_s: float = Field(24 * 3600, gt=0)
    """Seconds after its last call when a session is closed."""
    session_idle_s: float = Field(60, gt=0)
    """Seconds after its last call when a session hibernates."""
    session_checkpoint_s: float = Field(30, gt=0)
    """Seconds after a call when a session is snapshotted: the most that a crash can cost it."""
    session_keep_globals: bool = False
    """Keep Python's picklable globals over hibernation; the tools say which names were lost."""
    sessions_live: int = Field(64, ge=1)
    """Sessions in sandboxes at once; the longest idle one hibernates for the next."""
    sessions_held: int = Field(20_000, ge=1)
    """Sessions at all."""
    snapshot_disk_mb: int = Field(8192, ge=1)
    """Disk for all snapshots, in MiB."""

    allow_out: list[str] = Field(default_factory=list)
    """What programs of sessions (agents' tools) may reach, by a proxy: addresses, CIDR blocks, host names, *.names;
    for `serve pool` what sandboxes of a tenant without a file of keys may. Verifies never have a network."""

    expose_tools_over_mcp: bool = False
    """Serve the tools at /mcp too, as NeMo Gym's setting of that name; needs the extra `mcp`."""

    cluster: str = ""
    """Verify on a Ray cluster's nodes: `auto` for the cluster at hand, or an address; needs the extra `ray`."""
    cluster_lost_s: float = Field(15.0, ge=1)
    """Seconds without a node's answer after which it is lost and its verifies go to others."""
    traces: bool = False
    """Send OpenTelemetry traces where OTEL_EXPORTER_OTLP_ENDPOINT says, by HTTP; needs the extra `otel`."""

    host: str = "127.0.0.1"
    port: int = Field(8080, ge=0, le=65535)
    workers: int = Field(1, ge=1, le=64)
    """Server processes behind the port, as NeMo Gym's `num_workers`; together they take what the settings allow."""
    connections: int = Field(4096, ge=16)
    """Connections at once, to each process, or fewer where descriptors would not be left for sandboxes; the longest
    idle makes room for a new one."""
    head_timeout_s: float = Field(20.0, gt=0)
    """Seconds that a client may take for a request's head."""
    body_timeout_s: float = Field(60.0, gt=0)
    """Seconds that a client may send no byte of a request's body; not of `serve pool`, where people type."""
    token: str = Field("", repr=False)
    """Bearer token every request but GET / and /health must carry, the operator's; a bind beyond loopback needs it, or
    `keys`."""
    keys: Path | None = None
    """TOML file of tenants, each with keys of its own that are asked for as `token` is; docs/access.md."""
    allow_unauthenticated: bool = False
    """Permit a bind beyond loopback without a token, by name."""
    allowed_hosts: list[str] = Field(default_factory=list)
    """Names besides `localhost` at which a server without a token answers, such as ["gpu-7", "coding.internal"]."""

    dashboard: bool = True
    """Serve /dashboard, for operators: it shows answers, hidden tests and expected outputs."""
    dashboard_token: str = Field("", repr=False)
    """What the dashboard asks for, where it is to be another secret than `token`."""
    dashboard_memory_mb: float = Field(32, ge=0)
    """Memory for the latest verdicts, whole, so that the dashboard can show them and judge them again."""

    no_verdict: Literal["error", "row"] = "error"
    """How a verify without a verdict is answered: 503, or 200 with a masked row that ng_collect_rollouts of NeMo Gym
    0.4.0 sets aside for a later try (a 503 ends its whole run). A trainer that knows no masks must not get rows."""

    journal: str = "default"
    """Verdicts on record: `default` is journal.sqlite in the state directory, `off` is none; else a path or a
    SQLAlchemy URL of SQLite or PostgreSQL."""
    journal_max_mb: float = Field(2048, gt=0)
    """Size the journal is pruned to, oldest verdicts first."""
    journal_days: float = Field(30, gt=0)
    """Age beyond which verdicts are pruned."""
    journal_state_mb: float = Field(32, ge=0)
    """Most MiB of outputs kept of one verify; a verdict over it stays on record but can't be judged again."""
    idempotency: Literal["header", "body", "off"] = "header"
    """Which requests are the same request: those with the same Idempotency-Key, also those with the same body
    where they carry no key, or none."""

    local_python: Path = Path("/usr/bin/python3")
    """The interpreter inside local boxes."""
    local_cgroup: Literal["auto", "require", "never"] = "auto"
    """Cap memory and processes of a whole box by cgroup: where possible, or refuse to start, or by rlimits only."""
    uid_base: int = Field(UID_BASE, ge=1000)
    """As root, sandboxes on this machine run as users from this number on, each with its own: the range must be of no
    other use. Servers in containers of one machine don't see each other's: give each its own range."""
    uid_count: int = Field(UID_COUNT, ge=1)
    """How many users that are: a local sandbox takes one, a container 20,000."""
    docker_image_prefix: str = "sandbox-gym/"
    docker_runtime: str = ""
    """An OCI runtime by name, such as runsc; empty for the daemon's own."""

    pool_network: bool = False
    """`serve pool` without a file of keys: its one tenant may have this machine's network in sandboxes."""

    e2b_api_key: str = Field("", repr=False)
    """Of the account; E2B_API_KEY where it is empty."""
    e2b_domain: str = ""
    """Where E2B's API is, with TLS; E2B_DOMAIN, then e2b.app, where it is empty."""
    e2b_api_url: str = ""
    """A server of one port instead, such as http://pool:8090 of `sandbox-gym serve pool`."""
    e2b_templates: dict[str, str] = Field(default_factory=dict)
    """Template by image name. Where an image has none: `base` for `python` at E2B, `<image>:root` elsewhere."""
    e2b_max_sandboxes: int = Field(20, ge=2)
    """Sandboxes at once that the account may have; more wait."""
    e2b_creates_per_s: float = Field(1.0, gt=0)
    """Sandboxes per second that the account may make; more wait."""
    e2b_timeout_s: int = Field(300, ge=20)
    """Seconds that a sandbox outlives the last word of a server that died; it is extended while it is used."""
    e2b_lifetime_s: float = Field(3600.0, ge=60)
    """The longest that the account lets a sandbox live."""
    e2b_isolation: Literal["vm", "container", "gvisor", "namespace", "none"] = "vm"
    """What the verdicts say of sandboxes that do not say it themselves, as those of a pool do."""

    @field_validator("allowed_hosts")
    @classmethod
    def _are_hosts(cls, names: list[str]) -> list[str]:
        for name in names:
            if not _HOST.fullmatch(name):
                raise ValueError(f"{name[:80]!r} is no host name or address; names stand without scheme and port")
        return names

    @field_validator("allow_out")
    @classmethod
    def _is_allow_list(cls, entries: list[str]) -> list[str]:
        AllowList(entries)
        return [normal(entry) for entry in entries]

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        return init_settings, env_settings, TomlConfigSettingsSource(settings_cls)

    def session_limits(self) -> Limits:
        """The caps of a session's sandbox as a whole; each call has its own wall time."""
        return Limits(
            cpu_time_s=24 * 3600, wall_time_s=30 * 24 * 3600, memory_bytes=self.memory_limit_mb * MIB, processes=128
        )

    def session_policy(self) -> Policy:
        """How sessions are held."""
        return Policy(
            ttl_s=self.session_ttl_s,
            idle_s=self.session_idle_s,
            checkpoint_s=self.session_checkpoint_s,
            live=self.sessions_live,
            held=self.sessions_held,
            disk_bytes=self.snapshot_disk_mb * MIB,
            keep_globals=self.session_keep_globals,
        )

    def journal_url(self) -> str | None:
        """The journal's path or URL; None when it is off."""
        if self.journal in ("", "off"):
            return None
        return str(self.state_dir / "journal.sqlite") if self.journal == "default" else self.journal

    @property
    def journal_age_s(self) -> float:
        """`journal_days` in seconds."""
        return 86_400 * self.journal_days

    def judging(self) -> dict[str, float | bool | str | list[str]]:
        """The settings that a verdict depends on, by name."""
        return {
            "time_limit_s": self.time_limit_s,
            "memory_limit_mb": self.memory_limit_mb,
            "early_stop": self.early_stop,
            "comparison": self.comparison,
            "in_process": self.in_process,
            "fail_on_tamper": self.fail_on_tamper,
            "reasoning_format_penalty": self.reasoning_format_penalty,
            "math_wire": self.math_wire,
            "math_cpu_time_s": self.math_cpu_time_s,
            "math_last_box": self.math_last_box,
            "math_boxed_only": self.math_boxed_only,
            "math_plain_answer": self.math_plain_answer,
            "math_drop_thinking": self.math_drop_thinking,
            "math_multiple_choice": self.math_multiple_choice,
            "math_strict_units": self.math_strict_units,
            "math_mask_undecided": self.math_mask_undecided,
        }

    def limits(self) -> Limits:
        """The caps of one test; wall time is three times CPU time plus two seconds, a backstop against sleepers."""
        return Limits(
            cpu_time_s=self.time_limit_s,
            wall_time_s=3 * self.time_limit_s + 2,
            cpus=self.cpus_per_box,
            memory_bytes=self.memory_limit_mb * MIB,
        )
