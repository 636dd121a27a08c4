"""The constants that a test compares with: in a literal, in a name that holds one, in a table that a loop or a
decorator goes through."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice

from sandbox_gym.verifiers.inversion.edits import Edit
from sandbox_gym.verifiers.inversion.sites import Function
from sandbox_gym.verifiers.inversion.text import SourceText
from sandbox_gym.verifiers.inversion.values import EXACT, Tolerance, changed, elsewhere, is_other

_MOST_LEAVES = 5_000
_LEAVES_TRIED = 3
_Rows = list[ast.expr]


def leaves(node: ast.expr) -> list[ast.Constant]:
    """The constants of a literal each of which makes it unequal when it changes; none for what is no pure literal."""
    found: list[ast.Constant] = []
    waiting = [node]
    while waiting:
        each = waiting.pop()
        if isinstance(each, ast.Constant):
            if not isinstance(each.value, complex) and each.value is not ...:
                found.append(each)
        elif isinstance(each, ast.UnaryOp) and isinstance(each.op, ast.USub | ast.UAdd):
            if not isinstance(each.operand, ast.Constant):
                return []
            waiting.append(each.operand)
        elif isinstance(each, ast.List | ast.Tuple) or (isinstance(each, ast.Set) and _distinct(each.elts)):
            waiting += reversed(each.elts)
        elif isinstance(each, ast.Dict) and _distinct(each.keys):
            waiting += reversed(each.values)
        else:
            return []
        if len(waiting) + len(found) > _MOST_LEAVES:
            return []
    return found


def _distinct(nodes: Sequence[ast.expr | None]) -> bool:
    """Whether the keys of a dict, or the elements of a set, are constants of which none equals another."""
    values = [node.value for node in nodes if isinstance(node, ast.Constant)]
    return len(values) == len(nodes) and len(set(values)) == len(values)


def inner_constants(node: ast.expr) -> list[ast.Constant]:
    """The constants anywhere in an expression, but those of f-strings and subscripts."""
    found: list[ast.Constant] = []
    waiting: list[ast.AST] = [node]
    while waiting and len(found) < _LEAVES_TRIED:
        each = waiting.pop()
        if isinstance(each, ast.Constant):
            found.append(each)
        elif isinstance(each, ast.Subscript):
            waiting.append(each.value)
        elif not isinstance(each, ast.JoinedStr | ast.Lambda):
            waiting += reversed(list(ast.iter_child_nodes(each)))
    return [each for each in found if isinstance(each.value, str | bytes | int | float)]


def changes(
    text: SourceText,
    constants: Sequence[ast.Constant],
    tolerance: Tolerance = EXACT,
    most: int = _LEAVES_TRIED,
    alike: Sequence[ast.Constant] = (),
    *,
    sought: bool = False,
) -> Iterator[Edit]:
    """At most `most` edits, each of one constant: from the middle, the end and the start. `alike`: what else the test
    expects elsewhere, of which one takes its place first: it can be right as far as its form tells. `sought`: the
    constants are looked for in another value."""
    order = dict.fromkeys((len(constants) // 2, len(constants) - 1, 0, len(constants) // 3))
    made = 0
    for index in order if constants else ():
        node = constants[index]
        far = elsewhere(text.of(node), node.value, node.lineno + node.col_offset) if sought else ()
        news = chain(far, _changed(text, node, tolerance, alike))
        for other in islice(news, 2 if len(constants) == 1 else 1):
            if made < most:
                made += 1
                yield Edit(text.start(node), text.end(node), other)


def members(node: ast.expr) -> list[ast.Constant]:
    """What a value that is in a display may be; empty where that is not written down."""
    if not isinstance(node, ast.List | ast.Tuple | ast.Set | ast.Dict):
        return []
    own = node.keys if isinstance(node, ast.Dict) else node.elts
    found = [one for one in own if isinstance(one, ast.Constant) and type(one.value) in (str, bytes, int, float)]
    return found if len(found) == len(own) else []


def others(text: SourceText, constants: Sequence[ast.Constant]) -> tuple[Edit, ...]:
    """Edits by which each of some constants becomes what none of them is; empty where one can't be: what is equal to
    one of them, which a right answer may choose, is equal to none afterwards."""
    made: list[Edit] = []
    values = [one.value for one in constants]
    for node in constants[:_MOST_LEAVES]:
        new = changed(text.of(node), node.value, EXACT, turn=node.lineno + node.col_offset)
        other = next((one for one in new if not any(_meets(ast.literal_eval(one), value) for value in values)), None)
        if other is None:
            return ()
        made.append(Edit(text.start(node), text.end(node), other))
    return tuple(made)


def _meets(new: object, value: object) -> bool:
    """Whether they are equal, or one text begins or ends with the other."""
    if not isinstance(new, str | bytes) or type(new) is not type(value):
        return new == value
    one, other = str(new), str(value)
    return one in other or other in one


def _changed(
    text: SourceText, node: ast.Constant, tolerance: Tolerance, alike: Sequence[ast.Constant]
) -> Iterator[str]:
    told = text.of(node)
    others = [
        one for one in alike if type(one.value) is type(node.value) and is_other(one.value, node.value, tolerance)
    ]
    yield from [one for one in map(text.of, others) if not {"\n", "\r"} & {*one, *told}][:1]
    yield from changed(told, node.value, tolerance, turn=node.lineno + node.col_offset)


@dataclass(frozen=True, slots=True)
class Names:
    """What the names of a function hold."""

    loads: Counter[str] = field(default_factory=Counter)
    stores: Counter[str] = field(default_factory=Counter)
    values: dict[str, ast.expr] = field(default_factory=dict)
    """The last value that the name is given as such."""
    columns: dict[str, _Rows] = field(default_factory=dict)
    """By the target of a loop: what it is in each round."""

    def value(self, node: ast.expr) -> ast.expr:
        """The literal that a name holds, where it is given one value only; else the node itself."""
        if isinstance(node, ast.Name) and self.stores[node.id] == 1 and node.id in self.values:
            return self.values[node.id]
        return node

    def read_once(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and self.loads[node.id] == 1 and self.stores[node.id] == 1


def names_of(function: Function) -> Names:
    names = Names()
    arguments = function.args
    for argument in (*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs):
        names.stores[argument.arg] += 1
    loops = []
    for node in ast.walk(function):
        if isinstance(node, ast.Name):
            (names.loads if isinstance(node.ctx, ast.Load) else names.stores)[node.id] += 1
        elif isinstance(node, ast.Global | ast.Nonlocal):
            names.stores.update(dict.fromkeys(node.names, 2))
        elif isinstance(node, ast.Assign) and len(node.targets) == 1 and isinstance(node.targets[0], ast.Name):
            names.values[node.targets[0].id] = node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value is not None:
            names.values[node.target.id] = node.value
        elif isinstance(node, ast.For):
            loops.append(node)
    for loop in loops:
        names.columns.update(_columns(loop.target, names.value(loop.iter)))
    return names


def _columns(target: ast.expr, given: ast.expr) -> dict[str, _Rows]:
    if not isinstance(given, ast.List | ast.Tuple):
        return {}
    if isinstance(target, ast.Name):
        return {target.id: list(given.elts)}
    if not isinstance(target, ast.Tuple | ast.List):
        return {}
    found: dict[str, _Rows] = {}
    rows = [row.elts for row in given.elts if isinstance(row, ast.Tuple | ast.List)]
    for index, name in enumerate(target.elts):
        if isinstance(name, ast.Name):
            found[name.id] = [row[index] for row in rows if len(row) == len(target.elts)]
    return found


def parametrised(function: Function, name: str) -> list[_Rows]:
    """For each decorator that gives the parameter `name`: its value in each row, where no row's id is made of it."""
    found = []
    for mark in function.decorator_list:
        if not (isinstance(mark, ast.Call) and ast.unparse(mark.func).endswith("parametrize") and len(mark.args) > 1):
            continue
        names, table = _parameters(mark.args[0]), mark.args[1]
        if name not in names or not isinstance(table, ast.List | ast.Tuple):
            continue
        has_ids = any(keyword.arg == "ids" for keyword in mark.keywords)
        rows = [_cell(row, names.index(name), len(names), has_ids) for row in table.elts]
        kept = [row for row in rows if row is not None]
        if kept and len(kept) == len(rows):
            found.append(kept)
    return found


def _parameters(node: ast.expr) -> list[str]:
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return [name.strip() for name in node.value.split(",") if name.strip()]
    if isinstance(node, ast.List | ast.Tuple):
        return [one.value if isinstance(one, ast.Constant) and isinstance(one.value, str) else "" for one in node.elts]
    return []


def _cell(row: ast.expr, index: int, width: int, has_ids: bool) -> ast.expr | None:
    """A parameter's value in a row; None where the row's id would change with it."""
    if isinstance(row, ast.Call) and ast.unparse(row.func).endswith("param"):
        cells: Sequence[ast.expr] = row.args
        has_ids = has_ids or any(keyword.arg == "id" for keyword in row.keywords)
    elif width == 1:
        cells = [row]
    else:
        cells = row.elts if isinstance(row, ast.Tuple | ast.List) else []
    if len(cells) != width:
        return None
    cell = cells[index]
    return cell if has_ids or isinstance(cell, ast.List | ast.Tuple | ast.Dict | ast.Set) else None
