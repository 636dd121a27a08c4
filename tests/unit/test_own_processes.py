"""Programs that are given a process for each test by their text: what could tell them where, or for how long, they
run."""

from __future__ import annotations

import pytest

from sandbox_gym.guest.python.traces import Traces

LOOKS = [
    "import os\nos.stat({file}).st_ctime",
    "import os\nos.lstat({file})[9]",
    "from os import fstat\nfstat(0).st_ino",
    "import os\nnext(os.scandir('.')).stat().st_mtime",
    "from pathlib import Path\nPath({file}).stat()",
    "import os.path\nos.path.getmtime({file})",
    "from os.path import *\ngetctime({file})",
    "import os\nos.readlink('/dev/fd/0')",
    "import os\nos.listdir('/proc')",
    "import os\nopen('/' + 'proc' + '/stat').read()",
    "import subprocess\nsubprocess.run(['ls', '-l', {file}])",
    "import os\nos.system('ls -l')",
    "import os\nos.execv('/bin/ls', ['ls', '-l'])",
    "import time\ngetattr(time, 'process' + '_time')()",
    "import time\nvars(time)['process' + '_time']()",
    "import time\ntime.__dict__['process' + '_time']()",
    "import time\nexec('time.process' + '_time()')",
    "eval('__imp' + 'ort__(\"time\").process' + '_time()')",
    "import operator, time\noperator.attrgetter('process' + '_time')(time)()",
    "import sys\nsys.modules['time']",
    "import importlib\nimportlib.import_module('g' + 'c')",
]
SHAPES = ["{look}\n", "def main():\n    {inner}\nmain()\n", "class A:\n    def f(self):\n        {inner}\nA().f()\n"]


@pytest.mark.parametrize("look", LOOKS)
@pytest.mark.parametrize("shape", SHAPES)
def test_what_shows_a_processs_age_or_makes_a_name_has_a_process_for_each_test(look: str, shape: str) -> None:
    if "import *" in look and "inner" in shape:
        return
    look = look.replace("{file}", "__file__")
    inner = look.replace("\n", "\n" + " " * (8 if "class" in shape else 4))
    source = shape.format(look=look, inner=inner)
    spec = {"workdir": "/nowhere", "files": [], "main": "main.py", "sources": {"/nowhere/main.py": source.encode()}}
    assert Traces({**spec, "compiled": (compile(source, "main.py", "exec"),)}).needs_own
