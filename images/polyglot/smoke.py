"""The image's smoke test: every toolchain that it promises says its version."""

import subprocess
import sys

TOOLS = (
    ("/usr/bin/gcc", "--version"),
    ("/usr/bin/g++", "--version"),
    ("/usr/bin/javac", "-version"),
    ("/usr/bin/go", "version"),
    ("/usr/bin/rustc", "--version"),
    ("/usr/bin/node", "--version"),
    ("/usr/bin/tsc", "--version"),
    ("/usr/bin/mcs", "--version"),
    ("/usr/bin/pypy3", "--version"),
    ("/usr/bin/sqlite3", "--version"),
    ("/bin/bash", "-euc", "bc --version; for name in gawk jq xxd column hexdump; do command -v $name; done"),
)
for argv in TOOLS:
    done = subprocess.run(argv, check=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)
    sys.stdout.write("%s: %s\n" % (argv[0], done.stdout.decode("utf-8", "replace").split("\n")[0]))
