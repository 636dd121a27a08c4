"""E2B's API over the pool: control routes, envd's routes, the code interpreter, the proxy to ports."""
