"""Python programs around names of LiveCodeBench's prelude: each way of binding one x each way of reading one."""

from __future__ import annotations

import random

PRELUDE = "".join(
    [
        *(
            f"from {module} import *\n"
            for module in (
                "string re datetime collections heapq bisect copy math random statistics itertools functools operator"
                " io sys json builtins typing"
            ).split()
        ),
        *(
            f"import {module}\n"
            for module in (
                "string re datetime collections heapq bisect copy math random statistics itertools functools operator"
                " io sys json"
            ).split()
        ),
    ]
)
"""As LiveCodeBench writes it, but for its last line, which sets the recursion limit."""

USES = {
    "gcd": "gcd(12, 18)",
    "sqrt": "sqrt(16)",
    "pi": "round(pi, 5)",
    "e": "round(e, 5)",
    "inf": "inf > 10**9",
    "comb": "comb(5, 2)",
    "product": "list(product([1, 2], 'ab'))",
    "count": "next(count(3))",
    "accumulate": "list(accumulate([1, 2, 3]))",
    "reduce": "reduce(lambda a, b: a * b, [1, 2, 3, 4])",
    "cache": "cache(lambda x: x + 1)(2)",
    "Counter": "Counter('abca')['a']",
    "deque": "deque([1, 2]).popleft()",
    "defaultdict": "defaultdict(int)['x']",
    "OrderedDict": "list(OrderedDict(a=1))",
    "heappop": "heappop([3, 4])",
    "bisect_left": "bisect_left([1, 3, 5], 3)",
    "bisect": "bisect.bisect_right([1, 3, 5], 3)",
    "datetime": "datetime.date(2020, 1, 2).isoformat()",
    "time": "time(3, 4).minute",
    "date": "date(2020, 1, 2).year",
    "copy": "copy.copy([1])",
    "mode": "mode([1, 1, 2])",
    "mean": "mean([1, 2, 3])",
    "add": "add(1, 2)",
    "index": "index(7)",
    "itemgetter": "itemgetter(1)('abc')",
    "ascii_lowercase": "ascii_lowercase[:3]",
    "match": "bool(match('a', 'abc'))",
    "loads": "loads('[1]')",
    "StringIO": "StringIO('x').read()",
    "maxsize": "maxsize > 0",
    "List": "List[int] is not None",
    "random": "random.Random(5).randint(1, 1)",
    "math": "math.floor(2.5)",
    "typing": "typing.List",
    "pow": "pow(2, 5, 7)",
    "open": "open.__name__",
    "nothing": "nothing(1)",
}
BINDERS = {
    "none": "pass",
    "local": "def other():\n    {n} = 5\n    return {n}\nprint(other())",
    "parameter": "def other({n}, *a):\n    return {n}\nprint(other(1))",
    "keyword": "def other(*, {n}=2):\n    return {n}\nprint(other({n}=3))",
    "star-parameters": "def other(*{n}, **k):\n    return {n}\nprint(other(1))",
    "local-loop": "def other():\n    for {n} in range(3):\n        pass\n    return {n}\nprint(other())",
    "local-import": "def other():\n    import os as {n}\n    return {n}.sep\nprint(other())",
    "local-function": "def other():\n    def {n}():\n        return 4\n    return {n}()\nprint(other())",
    "local-class": "def other():\n    class {n}:\n        pass\n    return {n}.__name__\nprint(other())",
    "local-with": "def other():\n    import contextlib\n    with contextlib.nullcontext(6) as {n}:\n        return {n}\nprint(other())",
    "local-except": "def other():\n    try:\n        raise ValueError(1)\n    except ValueError as {n}:\n        return str({n})\nprint(other())",
    "local-walrus": "def other():\n    return ({n} := 8) + {n}\nprint(other())",
    "local-del": "def other():\n    {n} = 1\n    del {n}\nother()",
    "local-augmented": "def other():\n    {n} = 1\n    {n} += 1\n    return {n}\nprint(other())",
    "local-annotated": "def other():\n    {n}: int = 2\n    return {n}\nprint(other())",
    "lambda": "print((lambda {n}: {n} + 1)(1))",
    "comprehension": "print([{n} for {n} in range(3)], {{{n}: 1 for {n} in 'ab'}})",
    "closure": "def other():\n    {n} = 3\n    def inner():\n        nonlocal {n}\n        {n} += 1\n        return {n}\n    return inner()\nprint(other())",
    "attribute": "class Other:\n    def {n}(self):\n        return 9\nprint(Other().{n}())",
    "class-variable": "class Other:\n    {n} = 7\nprint(Other.{n})",
    "keyword-argument": "print(dict({n}=1))",
    "string": "print('{n}')",
    "module": "{n} = lambda *a: 1",
    "module-if": "if len('{n}') > 100:\n    {n} = 1",
    "module-else": "if len('{n}') < 100:\n    pass\nelse:\n    from os import sep as {n}",
    "module-try": "try:\n    raise KeyError\n    {n} = 1\nexcept KeyError:\n    pass",
    "module-loop": "for {n} in []:\n    pass",
    "module-while": "while False:\n    {n} = 1",
    "module-guard": "if __name__ == '__main__':\n    {n} = 5",
    "module-annotation": "{n}: int",
    "global-unset": "def other():\n    global {n}\n    {n} = 2",
    "global-set": "def other():\n    global {n}\n    {n} = lambda *a: 2\nother()",
    "global-import": "def other():\n    global {n}\n    import os as {n}\nother()",
    "deleted": "del {n}",
    "augmented": "{n} += 1",
    "class-global": "class Other:\n    global {n}\n    {n} = 3",
    "star-import": "from math import *\nfrom itertools import *",
    "from-import": "from datetime import datetime, date\nfrom copy import copy",
    "module-walrus": "print([({n} := i) for i in range(2)])",
    "own-function": "def {n}(*a):\n    return 'mine'",
    "own-class": "class {n}:\n    def __init__(self, *a):\n        pass\n    def __repr__(self):\n        return 'mine'",
}
READERS = {
    "module": "print({u})",
    "function": "def use():\n    return {u}\nprint(use())",
    "method": "class Use:\n    def f(self):\n        return {u}\nprint(Use().f())",
    "class-body": "class Use:\n    x = {u}\nprint(Use.x)",
    "class-same-name": "class Use:\n    {n} = {u}\nprint(Use.{n})",
    "nested": "def use():\n    def inner():\n        return {u}\n    return inner()\nprint(use())",
    "lambda": "print((lambda: {u})())",
    "comprehension": "print([{u} for _ in range(2)])",
    "generator": "print(next({u} for _ in range(2)))",
    "default": "def use(x={u}):\n    return x\nprint(use())",
    "decorator": "def show(value):\n    print(value)\n    return lambda f: f\n@show({u})\ndef use():\n    pass",
    "f-string": "print(f'{{{u}}}')",
    "eval": "print(eval({q}))",
    "exec": "exec({q2})",
    "eval-in-function": "def use():\n    return eval({q})\nprint(use())",
    "global-statement": "def use():\n    global {n}\n    return {u}\nprint(use())",
    "async": "import asyncio\nasync def use():\n    return {u}\nprint(asyncio.run(use()))",
    "late": "def use():\n    return {u}\nfor _ in range(2):\n    print(use())",
    "not-at-all": "print('nothing read')",
    "parameter-annotation": "def use(x: {n}):\n    return 1\nprint(use(1))",
}
MATCHES = {
    "match-capture": "def other(x):\n    match x:\n        case [{n}]:\n            return {n}\nprint(other([2]))",
    "match-star": "def other(x):\n    match x:\n        case [1, *{n}]:\n            return {n}\nprint(other([1, 2]))",
    "module-match": "match [1]:\n    case [2, {n}]:\n        pass",
}


def generated(count: int, seed: int = 16, *, matches: bool = True) -> list[str]:
    """`count` programs, each with one or two binders before, after or around a reader. No two are the same."""
    dice, made = random.Random(seed), dict[str, None]()
    binders = list((BINDERS | MATCHES if matches else BINDERS).values())
    while len(made) < count:
        name = dice.choice(list(USES))
        parts = [filled(dice.choice(binders), name) for _ in range(dice.choice((1, 1, 2)))]
        parts.insert(dice.randrange(len(parts) + 1), filled(dice.choice(list(READERS.values())), name))
        if not (name in ("pow", "open") and f"del {name}" in parts):  # a built-in name can't be deleted without it
            made["\n".join(parts) + "\n"] = None
    return list(made)


def filled(template: str, name: str) -> str:
    use = USES[name]
    if "f'" in template:
        use = use if "'" not in use and "[" not in use else f"callable({name})"
    return template.format(n=name, u=use, q=repr(use), q2=repr(f"print({use})"))


RIGHT = {
    "a local of the same name": "def f(product):\n    return product\nprint(len(list(product(range(int(input())), 'ab'))))",
    "eval": "n = int(input())\nprint(eval('int(sqrt(n * n)) * 2'))",
    "exec": "n = int(input())\nexec('print(gcd(n, n) * 2)')",
    "a name bound in a guard": "def f():\n    return reduce(add, [n, n])\nn = int(input())\nif n < 0:\n    reduce = add = 0\nprint(f())",
    "globals": "n = int(input())\nprint(globals()['reduce'](add, [n, n]))",
    "a handler for NameError": "try:\n    cache\nexcept NameError:\n    cache = {}\ncache['n'] = int(input())\nprint(cache['n'] * 2)",
    "asked for in globals": "if 'cache' not in globals():\n    cache = {}\ncache['n'] = int(input())\nprint(cache['n'] * 2)",
    "a class scope": "class A:\n    count = count\n    n = next(count(int(input())))\nprint(A.n * 2)",
    "annotations": "from __future__ import annotations\nfrom dataclasses import dataclass\n@dataclass\nclass A:\n    k: ClassVar[int] = 2\n    n: int\nprint(A(int(input())).n * A.k)",
    "type hints": "def f(x: 'List[int]'):\n    return x\nget_type_hints(f)\nprint(int(input()) * 2)",
}
"""Programs that read a number and print it twice as large, by what of the prelude they try."""
