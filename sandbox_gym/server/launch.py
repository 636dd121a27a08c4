"""Starts a resources server: alone by settings, or as a child of NeMo Gym by its environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Final

import yaml

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.observe.tracing import open_tracing
from sandbox_gym.server.access.session_secret import session_secret
from sandbox_gym.server.app import EngineFactory, build_app
from sandbox_gym.server.protocol.dataset import Dataset
from sandbox_gym.server.protocol.resources import ResourcesServer
from sandbox_gym.server.serving import serve_app
from sandbox_gym.server.workers.parent import Build, WorkerApp, serve_workers
from sandbox_gym.settings.group import is_set, nested, paths

_NEMO_GYM_NAMES: Final = {"num_workers": "workers", "should_use_judge": "judge_enabled"}
"""Flat names of our settings, by what NeMo Gym calls them."""
KEEP_ALIVE_S = 30
SWE_CHECKPOINT_S = 1.0


def serve_built(build: Build, name: str, settings: Settings, *, dataset: Path | None = None) -> None:
    """Serve until a signal, in as many processes as the settings say. Raises ConfigurationError before it listens."""
    resources = build(settings, name)
    rows = None if dataset is None else Dataset.opened(dataset)
    if settings.workers == 1:
        return serve(resources, settings, dataset=rows)
    if settings.cluster.address:
        raise ConfigurationError(
            f"workers is {settings.workers}: a server on a cluster is one process; unset one of them"
        )
    settings, journal_url = _made_ready(resources, settings)
    sessions = f"{name}-{settings.port or os.getpid()}"

    def app_in(folder: Path) -> WorkerApp:
        pid, secret = os.getpid(), session_secret(settings.state_dir)
        return WorkerApp(build, name, settings, sessions, folder, settings.workers, pid, journal_url, dataset, secret)

    return serve_workers(app_in, settings, resources.kind, keep_alive_s=KEEP_ALIVE_S)


def serve(resources: ResourcesServer, settings: Settings, *, dataset: Dataset | None = None) -> None:
    """Serve in this process until a signal. Raises ConfigurationError before it listens."""
    settings, journal_url = _made_ready(resources, settings)
    sessions = f"{resources.name}-{settings.port or os.getpid()}"
    engine: EngineFactory = partial(open_engine, settings, sessions=sessions)
    if settings.cluster.address:
        engine = _on_cluster(settings, sessions)
    tracing = open_tracing(settings.traces, f"sandbox-gym-{resources.name}")
    app = build_app(
        resources,
        engine,
        settings,
        journal_url=journal_url,
        dataset=dataset,
        tracing=tracing,
        session_secret=session_secret(settings.state_dir),
    )
    needs = "" if settings.cluster.address else resources.kind  # a cluster's nodes come and go
    grace_s = round(settings.shutdown_grace_s)
    serve_app(app, settings, needs, timeout_keep_alive=KEEP_ALIVE_S, timeout_graceful_shutdown=grace_s)


def _made_ready(resources: ResourcesServer, settings: Settings) -> tuple[Settings, str | None]:
    """The settings as this server needs them, and its journal's URL. Raises ConfigurationError."""
    if resources.kind == "swe" and not is_set(settings, "session_checkpoint_s"):
        # an agent's edits are its work: a lost sandbox should cost a moment of it, not half a minute
        settings = settings.replaced({"session_checkpoint_s": SWE_CHECKPOINT_S})
    journal_url = settings.journal_url()
    if journal_url is not None:
        from sandbox_gym.journal.schema import open_database  # a tenth of a second, which servers without one save

        open_database(journal_url, create=True).dispose()  # a bad URL or database is reported before the bind
    return settings, journal_url


def serve_as_child(build: Build, name: str) -> None:
    """Serve under NeMo Gym when it started this process, else under plain settings.

    Fields of the instance's YAML that are settings, by table or by flat name, override file and environment, host and
    port included. Other fields are NeMo Gym's.
    """
    config_name = os.environ.get("NEMO_GYM_CONFIG_PATH", "")
    if not config_name:
        return serve_built(build, name, Settings.from_flat({}))
    config = _merged(os.environ.get("NEMO_GYM_CONFIG_DICT", ""))
    fields = _instance_fields(config, config_name)
    named = {_NEMO_GYM_NAMES.get(name, name): value for name, value in fields.items() if value is not None}
    known = {*Settings.model_fields, *paths(Settings)}
    given = nested(Settings, {name: value for name, value in named.items() if name in known})
    judge = given.get("judge", {})
    if fields.get("judge_model_server") and isinstance(judge, dict) and not judge.get("base_url"):
        given["judge"] = {**judge, "base_url": _model_server_url(config, fields["judge_model_server"])}
    settings = Settings.from_flat(given)
    head = config.get("ray_head_node_address") if isinstance(config, dict) else None
    if settings.cluster.address == "auto" and head:
        settings = settings.replaced({"cluster_address": head})  # the cluster that ng_run started, or was given
    return serve_built(build, config_name, settings)


def _on_cluster(settings: Settings, sessions: str) -> EngineFactory:
    """Raises ConfigurationError without Ray."""
    from sandbox_gym.cluster.ray_fleet import check_ray, open_on_ray  # what most servers never need
    from sandbox_gym.swe.node_instances import InstanceBuilder

    check_ray()
    return partial(open_on_ray, settings, sessions=sessions, make_builder=InstanceBuilder)


def _merged(config_yaml: str) -> object:
    """NeMo Gym's merged configuration."""
    try:
        return yaml.safe_load(config_yaml)
    except yaml.YAMLError as error:
        raise ConfigurationError(f"NEMO_GYM_CONFIG_DICT is no YAML: {error}") from None


def _implementation(config: object, name: str, kind: str) -> Mapping[str, object] | None:
    """The fields of `<name>.<kind>.<implementation>`; none where there is no such, or more than one."""
    node = config
    for key in (name, kind):
        node = node.get(key) if isinstance(node, dict) else None
    implementations = list(node.values()) if isinstance(node, dict) else []
    found = implementations[0] if len(implementations) == 1 else None
    return found if isinstance(found, dict) else None


def _instance_fields(config: object, config_name: str) -> Mapping[str, object]:
    fields = _implementation(config, config_name, "resources_servers")
    if fields is None:
        raise ConfigurationError(f"NEMO_GYM_CONFIG_DICT holds no resources server called {config_name!r}")
    return fields


def _model_server_url(config: object, reference: object) -> str:
    """Where a `{type: responses_api_models, name: ...}` listens. Raises ConfigurationError."""
    name = reference.get("name") if isinstance(reference, dict) else None
    fields = _implementation(config, str(name), "responses_api_models") or {}
    host, port = fields.get("host"), fields.get("port")
    if not host or not port:
        raise ConfigurationError(
            f"judge_model_server: the configuration has no model server called {name!r} with a port"
        )
    return f"http://{host}:{port}/v1"
