"""The driver of a session: a shell and a Python REPL whose state stays."""
