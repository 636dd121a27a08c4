"""C++ programs that set a target before their headers, as programs of contests do, leave `<cstdint>` out or are of a
newer standard than C++17 compile with every GCC."""

from __future__ import annotations

import anyio
import pytest

from sandbox_gym.config import Settings
from sandbox_gym.contract import Answer
from sandbox_gym.engine import open_engine
from sandbox_gym.verifiers.coding import CodingVerifier, parse_task
from sandbox_gym.verifiers.coding.languages.cpp import CPP, CPP20
from sandbox_gym.verifiers.coding.languages.language import Language

OPTIMIZE = '#pragma GCC optimize("O3,unroll-loops")\n'
TARGETS = (
    '#pragma GCC target("avx2,bmi,bmi2,lzcnt,popcnt")\n',
    '# pragma GCC target("sse4.2")\n',
    '#ifndef LOCAL\n#pragma GCC target("avx2")\n#endif\n',
    '_Pragma("GCC target(\\"avx2\\")")\n',
)
ALL = "#include <bits/stdc++.h>\n"
BODIES = {
    "containers": ALL + "using namespace std;\nmap<string, int> seen; vector<vector<int>> graph;\n"
    "int main() { int n; cin >> n; graph.resize(n); seen[to_string(n)]++; cout << 2 * graph.size() * seen.size(); }",
    "an order statistics tree": ALL + "#include <ext/pb_ds/assoc_container.hpp>\n#include <ext/pb_ds/tree_policy.hpp>\n"
    "using namespace __gnu_pbds;\n"
    "typedef tree<int, null_type, std::less<int>, rb_tree_tag, tree_order_statistics_node_update> ordered;\n"
    "int main() { int n; std::cin >> n; ordered t; t.insert(2 * n); std::cout << *t.find_by_order(0); }",
    "names of its own": "#include <iostream>\n#include <vector>\nusing namespace std;\nint count = 2;\n"
    "int gcd(int a, int b) { return b ? gcd(b, a % b) : a; }\n"
    "int main() { int n; cin >> n; vector<long long> v(n, count); cout << v.size() * v[0] * gcd(3, 4); }",
    "intrinsics": "#include <immintrin.h>\n" + ALL
    + "int main() { int n; std::cin >> n; __m256i a = _mm256_set1_epi32(n);\n"
    "alignas(32) int r[8]; _mm256_store_si256((__m256i*)r, _mm256_add_epi32(a, a)); std::vector<int> v(r, r + 8);\n"
    "std::cout << v[3]; }",
    "headers that are not there": "#ifdef _MSC_VER\n#include <intrin.h>\n#endif\n" + ALL
    + "int main() { std::vector<int> v(1); std::cin >> v[0]; std::cout << 2 * v[0]; }",
}  # fmt: skip
PLAIN = {
    "a wide integer": "#include <iostream>\nint main() { uint64_t n; std::cin >> n; std::cout << 2 * n; }",
    "bytes": '#include <string>\n#include <cstdio>\nint main() { int n; scanf("%d", &n); uint8_t x = n;'
    ' printf("%d", 2 * x); }',
}
NEWER = {
    "contains": ALL + "int main() { int n; std::cin >> n; std::set<int> s{n}; std::cout << n + s.contains(n) * n; }",
    "ranges": ALL + "int main() { int n; std::cin >> n; std::vector v{n, 2 * n}; std::cout << std::ranges::max(v); }",
    "aggregates": ALL + "struct P { int x, y; };\n"
    "int main() { std::vector<P> v; int n; std::cin >> n; v.emplace_back(n, n);\n"
    "std::cout << v[0].x + v[0].y; }",
    "a concept": OPTIMIZE + TARGETS[0] + ALL + "auto twice(std::integral auto n) { return 2 * n; }\n"
    "int main() { int n; std::cin >> n; std::cout << twice(n) << std::string(); }",
}  # fmt: skip
"""C++20 and later in a row of C++, which is C++17."""
C23 = '#include <stdio.h>\nint main() { int n; bool ok = scanf("%d", &n) == 1; if (ok == true) printf("%d", 2 * n); }'
REFUSED = OPTIMIZE + TARGETS[0] + ALL + "int main() { std::vector<int> v(3); nothing(); }"


async def judged(provider: str) -> None:
    settings = Settings(provider=provider, boxes=2)
    reasons = {}
    async with open_engine(settings) as engine:
        slots = anyio.Semaphore(2)

        async def one(name: str, source: str, language: str = "cpp") -> None:
            row = {"unit_tests": {"inputs": ["21\n"], "outputs": ["42"]}, "language": language}
            task = parse_task(row, limits=settings.limits(), early_stop=True)
            async with slots:
                verified = await engine.verify(CodingVerifier(), task, Answer(f"```{language}\n{source}\n```"))
            reasons[name] = verified.verdict.failure_reason, verified.verdict.tests[0].reason

        async with anyio.create_task_group() as tasks:
            if provider == "docker":  # GCC 12 has no C23
                tasks.start_soon(one, "C23", C23, "c")
            for index, (name, body) in enumerate(BODIES.items()):
                tasks.start_soon(one, name, OPTIMIZE + TARGETS[index % len(TARGETS)] + body)
            for name, body in (PLAIN | NEWER).items():
                tasks.start_soon(one, name, body)
            tasks.start_soon(one, "refused", REFUSED)
    reason, said = reasons.pop("refused")
    assert reason == "compile_error"
    assert "‘nothing’ was not declared" in said
    assert {name: found for name, found in reasons.items() if found[0]} == {}


@pytest.mark.anyio
@pytest.mark.timeout(400)
async def test_programs_that_set_a_target_compile_with_gcc_14() -> None:
    await judged("docker")


@pytest.mark.anyio
@pytest.mark.timeout(400)
async def test_programs_that_set_a_target_compile_with_the_gcc_of_this_machine() -> None:
    await judged("local")


def options_of(language: Language, source: str) -> list[str]:
    return [option for _sign, *options in language.tries_for([source.encode()]) for option in options]


def test_only_what_sets_a_target_has_its_headers_first() -> None:
    for body in BODIES.values():
        assert options_of(CPP20, body) == options_of(CPP20, OPTIMIZE + body) == ["-include", "cstdint"]
        assert options_of(CPP, body) == ["-include", "cstdint", "-std=gnu++23"]
        for target in TARGETS:
            assert len(options_of(CPP20, target + body)) > 2
    found = options_of(CPP20, TARGETS[0] + BODIES["names of its own"])
    assert found == ["-include", "iostream", "-include", "vector", "-include", "cstdint"]
    assert "intrin.h" not in options_of(CPP, TARGETS[0] + BODIES["headers that are not there"])
    many = TARGETS[0] + "".join(f"#include <h{number}>\n" for number in range(10_000))
    assert len(options_of(CPP20, many)) == 202
    for odd in ("#include <$(id)>\n", "#include <a b>\n", "#include <*>\n", '#include "own.h"\n'):
        assert options_of(CPP20, TARGETS[0] + odd) == ["-include", "cstdint"]
