"""`python -m sandbox_gym`, the same as `sandbox-gym`."""

from sandbox_gym.cli import main

main()
