"""The image's smoke test: everything it promises imports."""

import importlib
import sys

for name in ("numpy", "scipy", "sympy", "pandas", "pytest", "sortedcontainers", "more_itertools", "networkx"):
    module = importlib.import_module(name)
    sys.stdout.write("%s %s\n" % (name, getattr(module, "__version__", "")))
