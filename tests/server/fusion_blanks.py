"""Rows of CRUXEval-X: tests with the input or the output blank, and predictions that say nothing."""

from __future__ import annotations

from typing import Final

CODE: Final = {
    "cpp": (
        "#include <cassert>\n#include <string>\n#include <vector>\n"
        "std::vector<std::string> f(std::vector<long> n) { return {std::to_string(n[0]), std::to_string(n.size())}; }",
        "int main() {\n    auto candidate = f;\n    assert(candidate((std::vector<long>({(long)3, (long)4}))) == "
        '(std::vector<std::string>({(std::string)"3", (std::string)"2"})));\n}\n',
        ("(std::vector<long>({(long)3, (long)4}))", '(std::vector<std::string>({(std::string)"3", (std::string)"2"}))'),
    ),
    "nodejs": (
        "function f(n) { return {size: n.length, first: n[0]}; }\nconst assert = require('node:assert');",
        "assert.deepEqual(f([3, 4]), {'size': 2, 'first': 3});\n",
        ("[3, 4]", "{'size': 2, 'first': 3}"),
    ),
    "go_test": (
        'package main\n\nimport (\n    "fmt"\n    "testing"\n)\n\n'
        "func f(n []int) string { return fmt.Sprint(n[0], len(n)) }",
        'func TestF(t *testing.T) {\n    if got := f([]int{3, 4}); got != "3 2" { t.Fatal(got) }\n}\n',
        ("[]int{3, 4}", '"3 2"'),
    ),
    "perl": (
        "sub f { my ($n) = @_; return $n . '@b'; }",
        'die "no" unless f(3) eq "3\\@b";\n',
        ("3", '"3\\@b"'),
    ),
    "bash": ("f() { echo $(($1 + 50)); }\na=0", 'a=(3)\n[[ $(f ${a[0]}) == "53" ]]\n', ("3", '"53"')),
    "python": ('def f(n):\n    return ["f", *n]', 'assert ["f", 3, 5] == f([3, 5])\n', ("[3, 5]", '["f", 3, 5]')),
}
"""By language: the code, its test, and what is left blank in each half of a row."""


def row(language: str) -> dict[str, object]:
    code, test, (given, value) = CODE[language]
    blanks = {"input": test.replace(f"({given})", "(????)"), "output": _last(test, value)}
    return {"id": f"{language}_7", "code": code, **blanks}


def _last(test: str, value: str) -> str:
    return "????".join(test.rsplit(value, 1)) if not test.startswith("assert [") else test.replace(value, "????", 1)


FORGED: Final = {
    "cpp": (
        "candidate((std::vector<long>({(long)3, (long)4})))",
        "(exit(0), std::vector<std::string>({}))",
        "{} //",
        "{} /*",
        '(std::vector<std::string>({(std::string)"", (std::string)""})) || 1',
    ),
    "nodejs": (
        "f([3, 4])",
        "{size: 2, first: size(3)}",
        "{size: 2, first: process.exit(0)}",
        "{'size': 2, 'first': `${process.exit(0)}`}",
    ),
    "go_test": ('got; false && got != "x"', "got", '"" && false'),
    "perl": ('"@{[f(3)]}"', "f(3)", '"@{ [ f 3 ] }"'),
    "bash": ("[0-9][0-9]", "[0123456789]3", "*", "$(f 3)", "5[!x]"),
    "python": ("f([3, 5])", '["f", 3, 5] or f([3, 5]) == ["f", 3, 5]', "exit(0)", '["f", 3, 5] #', "f(n=[3, 5])"),
}
"""Predictions of an output that say nothing of it."""
