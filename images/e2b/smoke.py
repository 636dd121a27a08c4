"""The image's smoke test: the commands of template steps are there."""

import subprocess
import sys

for command in ("python", "pip", "node", "npm", "git", "gcc", "make", "curl", "jq", "rg", "setfattr"):
    found = subprocess.run([command, "--version"], stdout=subprocess.PIPE, check=True, universal_newlines=True)
    sys.stdout.write(found.stdout.splitlines()[0] + "\n")
login = ["env", "PATH=/own:/usr/bin:/bin", "bash", "-lc", "echo $PATH"]
if ":/own:/usr/bin:/bin\n" not in subprocess.run(login, stdout=subprocess.PIPE, universal_newlines=True).stdout:
    sys.exit("a login shell replaces PATH")
subprocess.run(["ss", "-Htuln", "sport = :8000"], check=True)  # as the SDK's `wait_for_port`
