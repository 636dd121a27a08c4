"""Programs that import numpy, which their sandbox has loaded already: as in an interpreter that loads it for them."""

from __future__ import annotations

import contextlib
import os
import signal

import pytest

from sandbox_gym.contract import Outcome, Program, Run
from sandbox_gym.errors import BoxLost
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.api import SandboxSpec
from sandbox_gym.sandbox.channel.run_encoder import _imports_libraries
from sandbox_gym.sandbox.local import LocalProvider
from sandbox_gym.sandbox.sandbox import Sandbox
from tests.processes import below, text_of

pytestmark = pytest.mark.anyio
HAS = "import sys\nprint('numpy' in vars(sys)['mod' 'ules'])\n"
"""Without a word for which a program is left to import it for itself."""
CHANCE = "import numpy as np\nprint(np.random.random(), np.random.default_rng().random())\n"


async def said(box: Sandbox, source: str, *, shared: bool = False, times: int = 1, **more: object) -> list[str]:
    return [one.stdout.decode() for one in await ran(box, source, shared=shared, times=times, **more)]


async def ran(box: Sandbox, source: str, *, shared: bool, times: int, **more: object) -> list[Outcome]:
    program = Program("fork", {"main.py": source.encode(), **more.pop("files", {})}, **more)  # type: ignore[dict-item, arg-type]
    runs = [Run(f"t{index}", program, b"", Limits(), shared=shared) for index in range(times)]
    async with box.run_all(runs) as results:
        return [outcome async for outcome in results]


async def test_only_programs_that_import_it_have_it(box: Sandbox) -> None:
    assert await said(box, HAS) == ["False\n"]
    assert await said(box, HAS + "import numpy\n") == ["True\n"], "in a box whose zygote had an init"
    assert await said(box, HAS) == ["False\n"]
    await box.reset()
    assert await said(box, HAS + "import numpy\n", shared=True, times=3) == ["True\n"] * 3


async def test_its_random_numbers_differ_from_process_to_process(box: Sandbox) -> None:
    own = await said(box, CHANCE, times=3)
    shared = await said(box, CHANCE, times=3, shared=True)
    await box.reset()
    later = await said(box, CHANCE)
    numbers = " ".join(own + shared + later).split()
    assert len(numbers) == len(set(numbers)) == 14


async def test_a_program_s_own_modules_come_before_those_that_numpy_imports(box: Sandbox) -> None:
    files = {"secrets.py": b"mine = 1\n"}
    (failed,) = await ran(box, "import numpy\n", shared=False, times=1, files=files)
    assert failed.exit_code == 1, "numpy itself finds this one, as in any interpreter"
    assert await said(box, "import secrets\nprint(secrets.mine)\n", files=files) == ["1\n"]


async def test_its_settings_and_sums_are_a_fresh_import_s(box: Sandbox) -> None:
    source = (
        "import numpy as np, threading, os\n"
        "print(np.geterr(), np.get_printoptions()['precision'], threading.active_count())\n"
        "print(threading.main_thread().native_id == os.getpid(), len(os.listdir('/proc/self/task')))\n"
        "print((np.ones((200, 200)) @ np.ones((200, 200))).sum())\n"
    )
    first, second = await said(box, source, times=2, shared=True)
    fresh = (await said(box, source, env={"ANY": "1"}))[0]
    assert first == second == fresh
    assert "True 1\n8000000.0\n" in first


async def test_a_program_can_spawn_generators_from_its_own(box: Sandbox) -> None:
    source = (
        "import numpy as np\nof = np.random.mtrand._rand._bit_generator\n"
        "seeds = getattr(of, 'seed_seq', None) or of._seed_seq\nprint([one.entropy for one in seeds.spawn(1)][0])\n"
    )
    said_of = [*await said(box, source, times=2), *await said(box, source, times=2, shared=True)]
    assert len({int(text) for text in said_of}) == 4


async def test_its_warnings_are_told_as_where_it_comes_after_the_program_s_filters(box: Sandbox) -> None:
    source = (
        "import warnings\nwarnings.simplefilter('error')\nimport numpy as np\n"
        "warnings.warn('numpy.ndarray size changed')\nprint(1)\n"
    )
    assert await said(box, source) == ["1\n"]


async def test_what_a_program_changes_in_it_is_no_other_program_s(box: Sandbox) -> None:
    spoiling = "import numpy\nnumpy.ones = None\nnumpy.random.seed(1)\nprint(1)\n"
    assert await said(box, spoiling, shared=True, times=2) == ["1\n"] * 2
    assert await said(box, "import numpy\nprint(numpy.ones(1))\n") == ["[1.]\n"]


@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSTOP])
async def test_the_process_that_has_it_is_lost_or_stopped(number: signal.Signals) -> None:
    """Killed, the sandbox is lost, and no program has failed; stopped, it goes on."""
    box = await LocalProvider().create(SandboxSpec())
    try:
        assert await said(box, "import numpy\nprint(1)\n") == ["1\n"]
        await box.reset()
        loaded, _its_init = (pid for pid in below(os.getpid()) if "_umath" in text_of(pid, "maps"))
        os.kill(loaded, number)
        if number == signal.SIGSTOP:
            assert await said(box, "import numpy\nprint(2)\n") == ["2\n"]
        else:
            with pytest.raises(BoxLost):
                await said(box, "import numpy\nprint(2)\n")
    finally:
        with contextlib.suppress(BoxLost):
            await box.aclose()


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import numpy", True), ("import numpy as np", True), ("import sys, numpy", True),
        ("import os as o , sys ,numpy as np", True), ("from numpy.random import rand", True),
        ("x = 1\nfrom  scipy.special  import comb", True), ("import\tpandas", True),
        ("import numpyx", False), ("from collections import numpy", False), ("import x.numpy", False),
        ("def f():\n    import numpy", False), ("# import numpy", False), ("print('import numpy')", False),
        ("import " + "a, " * 100_000 + "b", False), ("import " + "a" * 300_000, False),
        ("import a" + " " * 300_000, False), ("import " + " " * 300_000, False),
    ],
)  # fmt: skip
@pytest.mark.timeout(10)
def test_what_counts_as_an_import(source: str, *, found: bool) -> None:
    assert _imports_libraries(Program("fork", {"main.py": source.encode()})) is found


def test_programs_of_several_modules_or_with_an_environment_import_for_themselves() -> None:
    source = b"import numpy"
    assert _imports_libraries(Program("check", {"main.py": b"", "test.py": source}))
    assert not _imports_libraries(Program("fork", {"main.py": source, "secrets.py": b""}))
    assert not _imports_libraries(Program("fork", {"main.py": source}, env={"OPENBLAS_NUM_THREADS": "2"}))
    assert not _imports_libraries(Program("check", {"main.py": b"import warnings", "test.py": source}))
    assert not _imports_libraries(Program("fork", {"main.py": b"import os\nos.environ['A'] = '1'\n" + source}))
    assert not _imports_libraries(Program("exec", {"main.py": source}, argv=("python3", "main.py")))
