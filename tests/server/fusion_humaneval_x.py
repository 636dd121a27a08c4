"""Rows as HumanEval-X publishes them: (prompt, test, continuations or answers that are right, wrong ones); and C#'s of
MBXP, whose prompts open a namespace that their tests close."""

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
        "fn main(){ \n } \n\nuse std::{cmp::{max, self}, collections::HashMap};\n\n"
        "/*\n Double.\n*/\nfn f(n: i32) -> i32{\n",
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
MBXP_PROMPT: Final = (
    "using System;\nusing System.Linq;\n\nnamespace Solution\n{\n    public class Program\n    {\n"
    "        /// Double.\n        public static int F (int n) \n        {\n"
)
MBXP_TEST: Final = (
    "\n        public static bool compare(Object a, Object b) { return a.Equals(b); }\n"
    "        public static void Main(string[] args)\n        {\n            int arg00 = 2;\n"
    "            var x0 = F(arg00);\n            var v0 = 4;\n            if (!compare(x0, v0))\n            {\n"
    '                throw new Exception("test case 0");\n            }\n        }\n    }\n}\n'
)
_BODY: Final = "            return 2 * n;\n        }\n"
_METHOD: Final = "public static int F(int n) { return 2 * n; }"
MBXP_ANSWERS: Final = (
    _BODY,
    MBXP_PROMPT + _BODY,
    f"{MBXP_PROMPT}{_BODY}    }}\n}}\n",
    _METHOD,
    f"public class Program {{ {_METHOD} }}",
    f"namespace Mine;\npublic class P {{ {_METHOD} }}",
    f"namespace Mine {{ public class P {{ {_METHOD} static void Main() {{ }} }} }}",
)
