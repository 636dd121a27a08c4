"""examples/train as its scripts import it."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType

from tests.documented import ROOT

FOLDER = ROOT / "examples" / "train"


def runs() -> ModuleType:
    """Its module `runs`, beside which `policy` and `tasks` can be imported."""
    if str(FOLDER) not in sys.path:
        sys.path.insert(0, str(FOLDER))
    return importlib.import_module("runs")
