"""SQL, by SQLite: a test's input is a script that makes and fills the tables, then the answer's statements run.

Rows are printed as SQLite's shell does in list mode: columns parted by `|`, one row a line. An error ends the run.
"""

from sandbox_gym.verifiers.coding.languages.language import Language

SQL = Language(
    name="sql",
    aliases=("sqlite", "sqlite3"),
    fences=("mysql", "postgresql", "postgres", "plsql", "tsql"),
    source="main.sql",
    toolchain="/usr/bin/sqlite3",
    package="sqlite3",
    version=("/usr/bin/sqlite3", "--version"),
    run=("/usr/bin/sqlite3", "-batch", "-bail", "-init", "/dev/null", ":memory:", ".read /dev/stdin", ".read {source}"),
    memory_signs=(b"out of memory",),
)
