"""The image's smoke test: the commands of template steps are there."""

import subprocess
import sys

for command in ("python", "pip", "node", "npm", "git", "gcc", "make", "curl", "jq", "rg"):
    found = subprocess.run([command, "--version"], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    sys.stdout.write(found.stdout.splitlines()[0] + "\n")
