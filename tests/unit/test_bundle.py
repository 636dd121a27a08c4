"""The guest's bundle: every module after those that it imports, and sessions' modules only where they are asked for."""

from __future__ import annotations

import os
import subprocess
import sys

from sandbox_gym.sandbox.channel.bundle import guest_bundle, session_bundle

_LISTED = """
P.main.main = lambda *a: print(sorted(n for n in sys.modules if n.startswith("sandbox_guest.")), len(a[2]))
"""


def _loaded(bundle: bytes, ending: str) -> str:
    """What a fresh interpreter prints that loads the bundle, whose last line `ending` replaces."""
    text = bundle[4:].decode()
    head, last = text[: text.rindex(ending)], text[text.rindex(ending) :]
    script = head + _LISTED + last if ending.startswith("P.main") else head + "print(sorted(sys.modules))"
    run = subprocess.run(
        [sys.executable, "-I", "-c", "import sys; exec(sys.stdin.read(), {'I': 0, 'O': 1})"],
        input=script, capture_output=True, text=True, check=False, env={"PATH": os.environ["PATH"]},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    return run.stdout


def test_a_box_without_sessions_compiles_none_of_their_modules() -> None:
    printed = _loaded(guest_bundle(), "P.main.main(")
    assert "sandbox_guest.runs.supervisor" in printed
    assert "sandbox_guest.objects.peer" in printed
    assert "sandbox_guest.session.driver'" not in printed
    assert "sandbox_guest.envd.daemon'" not in printed
    assert int(printed.split()[-1]) > 10  # their sources, in case


def test_a_session_in_a_sandbox_of_another_service_has_no_supervisor() -> None:
    printed = _loaded(session_bundle("/workspace"), "import os\nif I != 3")
    assert "sandbox_guest.session.driver'" in printed
    assert "sandbox_guest.runs.supervisor'" not in printed
