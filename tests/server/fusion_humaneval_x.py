"""Rows as HumanEval-X publishes them: (prompt, test, continuations or answers that are right, wrong ones)."""

from __future__ import annotations

from typing import Final

from tests.server.fusion_rows import fenced

Case = tuple[str, str, tuple[str, ...], tuple[str, ...]]
_JS_WRONG: Final = "const f = (n) => 4;"
HUMANEVAL_X: Final[dict[str, Case]] = {
    "CPP": (
        "#include<vector>\nusing namespace std;\nint f(int n){\n",
        "#undef NDEBUG\n#include<assert.h>\nint main(){\n    assert (f(2)==4);\n    assert (f(5)==10);\n}\n",
        ("    return 2 * n;\n}\n",),
        ("    return 4;\n}\n",),
    ),
    "JavaScript": (
        "/* Double.\n*/\nconst f = (n) => {\n",
        "const testF = () => {\n  console.assert(f(2) === 4)\n  console.assert(f(5) === 10)\n}\n\ntestF()\n",
        ("  return 2 * n;\n}\n\n", fenced("js", "function f(n) { return 2 * n }\nconsole.assert(f(1) === 2)")),
        (
            "  return 4;\n}\n",
            fenced("js", f"{_JS_WRONG}\nObject.freeze(console)"),
            fenced("js", f"{_JS_WRONG}\nObject.defineProperty(console, 'assert', {{ value() {{}} }})"),
            fenced("js", f"{_JS_WRONG}\nprocess.on('uncaughtException', () => {{}})"),
            fenced("js", f"{_JS_WRONG}\nglobalThis.Error = function () {{ process.exit(0) }}"),
        ),
    ),
    "Python": (
        'def f(n: int) -> int:\n    """ Double. """\n',
        "\n\nMETADATA = {}\n\n\ndef check(f):\n    assert f(2) == 4\n    assert f(5) == 10\n\ncheck(f)",
        ("    return 2 * n\n",),
        ("    return 4\n", fenced("python", "def f(n):\n    raise SystemExit(0)")),
    ),
    "Rust": (
        "fn main(){ \n } \n\nuse std::{cmp::{max, self}, collections::HashMap};\n\n/*\n Double.\n*/\nfn f(n: i32) -> i32{\n",
        "\n#[cfg(test)]\nmod tests {\n    use super::*;\n\n    #[test]\n    fn test_f() {\n"
        "        assert_eq!(f(2), 4);\n        assert!(f(5) == 10);\n    }\n}\n",
        (
            "    max(n, 0) + n\n}\n",
            fenced(
                "rust",
                "use std::collections::HashMap;\n\nfn f(n: i32) -> i32 { HashMap::from([(n, max(n, 1) + n)])[&n] }",
            ),
        ),
        ("    4\n}\n",),
    ),
}
