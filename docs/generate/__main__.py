"""`python -m docs.generate "settings"`: one generated part, as Markdown on stdout."""

from __future__ import annotations

import sys

from docs.generate.parts import part

if __name__ == "__main__":
    sys.stdout.write(part(" ".join(sys.argv[1:])) + "\n")
