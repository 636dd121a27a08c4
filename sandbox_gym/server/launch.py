"""Starts a resources server: alone by settings, or as a child of NeMo Gym by its environment."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from functools import partial
from importlib import import_module

import uvicorn

from sandbox_gym.config import Settings
from sandbox_gym.engine import open_engine
from sandbox_gym.errors import ConfigurationError
from sandbox_gym.journal.schema import open_database
from sandbox_gym.server.app import build_app
from sandbox_gym.server.resources import ResourcesServer

KEEP_ALIVE_S = 30
SHUTDOWN_GRACE_S = 10

Build = Callable[[Settings, str], ResourcesServer]


def serve(resources: ResourcesServer, settings: Settings) -> None:
    """Serve until a signal. Raises ConfigurationError before the bind."""
    journal_url = settings.journal_url()
    if journal_url is not None:
        open_database(journal_url, create=True).dispose()  # what is wrong with it is told before the bind
    sessions = f"{resources.name}-{settings.port or os.getpid()}"
    engine = partial(open_engine, settings, sessions=sessions)
    app = build_app(resources, engine, settings, journal_url=journal_url)
    uvicorn.run(
        app,
        host=settings.host,
        port=settings.port,
        access_log=False,
        timeout_keep_alive=KEEP_ALIVE_S,
        timeout_graceful_shutdown=SHUTDOWN_GRACE_S,
    )


def serve_as_child(build: Build, name: str) -> None:
    """Serve under NeMo Gym when it started this process, else under plain settings.

    Fields of the instance's YAML that are settings override file and environment, host and port included.
    """
    config_name = os.environ.get("NEMO_GYM_CONFIG_PATH", "")
    if not config_name:
        settings = Settings.model_validate({})
        return serve(build(settings, name), settings)
    fields = _instance_fields(os.environ.get("NEMO_GYM_CONFIG_DICT", ""), config_name)
    known = {key: value for key, value in fields.items() if key in Settings.model_fields and value is not None}
    settings = Settings.model_validate(known)
    return serve(build(settings, config_name), settings)


def _instance_fields(config_yaml: str, config_name: str) -> Mapping[str, object]:
    """The fields of `<instance>.resources_servers.<impl>` in NeMo Gym's merged configuration."""
    try:
        yaml = import_module("yaml")  # comes with nemo-gym, whose child this is; nothing else of ours needs it
    except ImportError:
        raise ConfigurationError("NEMO_GYM_CONFIG_PATH is set but PyYAML is missing: pip install pyyaml") from None
    node: object = yaml.safe_load(config_yaml)
    for key in (config_name, "resources_servers"):
        node = node.get(key) if isinstance(node, dict) else None
    implementations = list(node.values()) if isinstance(node, dict) else []
    if len(implementations) != 1 or not isinstance(implementations[0], dict):
        raise ConfigurationError(f"NEMO_GYM_CONFIG_DICT holds no resources server called {config_name!r}")
    return implementations[0]
