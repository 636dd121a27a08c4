"""HumanEval's rows and their broken variants, for tests and benchmarks."""

from __future__ import annotations

import ast
import gzip
import json
from pathlib import Path


def load(folder: Path) -> list[dict[str, str]]:
    with gzip.open(folder / "humaneval.jsonl.gz", "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


def metadata(row: dict[str, str]) -> dict[str, str]:
    return {key: row[key] for key in ("test", "entry_point", "prompt")}


def right_answer(row: dict[str, str]) -> str:
    return f"```python\n{row['prompt']}{row['canonical_solution']}\n```"


class _OffByOne(ast.NodeTransformer):
    """Every returned value is off: numbers by one, lists by their last item, strings by a character."""

    def visit_Return(self, node: ast.Return) -> ast.AST:
        if node.value is None:
            return node
        wrapped = ast.Call(ast.Name("_off_by_one", ast.Load()), [node.value], [])
        return ast.copy_location(ast.Return(wrapped), node)


_HELPER = """
def _off_by_one(x):
    if isinstance(x, bool): return not x
    if isinstance(x, (int, float)): return x + 1
    if isinstance(x, str): return x + "x"
    if isinstance(x, list): return x[:-1] if x else [0]
    if isinstance(x, tuple): return x[:-1] if x else (0,)
    return "wrong"
"""

KINDS = ("pass", "off_by_one", "constant", "raise")


def broken_answer(row: dict[str, str], kind: str) -> str:
    """The canonical solution made wrong in one of KINDS of ways."""
    source = row["prompt"] + row["canonical_solution"]
    tree = ast.parse(source)
    for node in tree.body:
        if isinstance(node, ast.FunctionDef) and node.name == row["entry_point"]:
            if kind == "pass":
                node.body = [ast.Pass()]
            elif kind == "constant":
                node.body = ast.parse("return 'constant'").body
            elif kind == "raise":
                node.body = ast.parse("raise ValueError('broken')").body
            else:
                _OffByOne().visit(node)
    broken = ast.unparse(ast.fix_missing_locations(tree))
    return f"```python\n{_HELPER if kind == 'off_by_one' else ''}\n{broken}\n```"
