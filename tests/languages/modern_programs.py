"""Programs that print twice the number they read, by language features that Debian 12's toolchains lack in part."""

from __future__ import annotations

_READ_RUST = "let mut s = String::new(); std::io::stdin().read_line(&mut s).unwrap();"
_READ_JAVA = "int n = new java.util.Scanner(System.in).nextInt();"
MODERN = {
    "rust black_box": (
        "rust",
        f'fn main() {{ {_READ_RUST} let n: i64 = s.trim().parse().unwrap(); println!("{{}}", std::hint::black_box(n) * 2); }}',
    ),
    "rust let-else": (
        "rust",
        f'fn main() {{ {_READ_RUST} let Ok(n) = s.trim().parse::<i64>() else {{ return }}; println!("{{}}", n * 2); }}',
    ),
    "rust is_some_and": (
        "rust",
        f'fn main() {{ {_READ_RUST} let n: i64 = s.trim().parse().unwrap(); if Some(n).is_some_and(|x| x > 0) {{ println!("{{}}", n * 2); }} }}',
    ),
    "rust OnceLock and div_ceil": (
        "rust",
        f'use std::sync::OnceLock; static N: OnceLock<u64> = OnceLock::new(); fn main() {{ {_READ_RUST} N.set(s.trim().parse().unwrap()).unwrap(); println!("{{}}", (N.get().unwrap() * 4).div_ceil(2)); }}',
    ),
    "go generics": (
        "go",
        'package main\nimport "fmt"\nfunc twice[T int | float64](x T) T { return x * 2 }\nfunc main() { var n int; fmt.Scan(&n); fmt.Println(twice(n)) }',
    ),
    "go min and max": (
        "go",
        'package main\nimport "fmt"\nfunc main() { var n int; fmt.Scan(&n); fmt.Println(max(n, 1) + min(n, 1000)) }',
    ),
    "go slices and maps": (
        "go",
        'package main\nimport (\n"fmt"\n"maps"\n"slices"\n)\nfunc main() { var n int; fmt.Scan(&n); m := map[int]int{1: n, 2: n}; s := 0\nfor _, k := range slices.Sorted(maps.Keys(m)) { s += m[k] }\nfmt.Println(s) }',
    ),
    "go range over int": (
        "go",
        'package main\nimport "fmt"\nfunc main() { var n, s int; fmt.Scan(&n); for range 2 { s += n }; fmt.Println(s) }',
    ),
    "java record patterns": (
        "java",
        f"record P(int a, int b) {{ }} public class Main {{ public static void main(String[] x) {{ {_READ_JAVA} Object o = new P(n, n); System.out.println(switch (o) {{ case P(int a, int b) when a > 0 -> a + b; default -> 0; }}); }} }}",
    ),
    "java reversed": (
        "java",
        f"import java.util.*; public class Main {{ public static void main(String[] x) {{ {_READ_JAVA} System.out.println(List.of(0, n * 2).reversed().getFirst()); }} }}",
    ),
    "java sealed switch": (
        "java",
        f"sealed interface S permits A, B {{ }} record A(int v) implements S {{ }} record B(int v) implements S {{ }} class Main {{ public static void main(String[] x) {{ {_READ_JAVA} S s = new A(n); System.out.println(switch (s) {{ case A a -> a.v() * 2; case B b -> 0; }}); }} }}",
    ),
    "c++20 ranges": (
        "cpp20",
        "#include <bits/stdc++.h>\nint main() { int n; std::cin >> n; std::vector<int> v{n, n}; std::ranges::sort(v); int s = 0; for (int x : v | std::views::reverse) s += x; std::cout << s << std::endl; }",
    ),
    "c++20 format": (
        "cpp20",
        "#include <format>\n#include <iostream>\nint main() { int n; std::cin >> n; std::cout << std::format(\"{}\", n * 2) << '\\n'; }",
    ),
    "c++20 spaceship": (
        "cpp20",
        "#include <compare>\n#include <iostream>\nstruct P { int x; auto operator<=>(const P&) const = default; };\nint main() { int n; std::cin >> n; std::cout << (P{n} > P{0} ? n * 2 : 0) << '\\n'; }",
    ),
    "javascript at and findLast": (
        "javascript",
        "const n = parseInt(require('fs').readFileSync(0, 'utf8')); console.log([1, n].at(-1) + [n, 1].toSorted((a, b) => a - b).findLast(x => x > 1));",
    ),
}
