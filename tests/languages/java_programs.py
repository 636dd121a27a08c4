"""Java programs that print twice the number they read, in every shape that decides where `main` is.

Each is right: javac, given a file of the name it wants, compiles it, and `java` runs the class that the name says.
"""

from __future__ import annotations

from itertools import product

READ = "System.out.println(new java.util.Scanner(System.in).nextInt() * 2);"
MAIN = f"public static void main(String[] args) {{ {READ} }}"
WRONG = 'public static void main(String[] args) { System.out.println("the wrong main"); }'


def programs() -> dict[str, str]:
    """Source by name."""
    return {**_written(), **_generated()}


def _generated() -> dict[str, str]:
    """Kinds of types x where they stand, and headers of main x kinds."""
    made: dict[str, str] = {}
    for kind, public in product(
        ("class", "final class", "abstract class", "interface", "enum", "record"), (True, False)
    ):
        made[f"{kind}-{'public' if public else 'plain'}"] = _type(kind, "Answer", MAIN, public=public)
    for kind, package in product(("class", "interface", "enum", "record"), ("", "package a;", "package a.b.c ;\n")):
        helper = _type("class", "Helper", "int twice(int x) { return 2 * x; }", public=False)
        made[f"{kind}-in-{package.count('.') + bool(package)}-packages"] = (
            f"{package}\nimport java.util.*;\n{helper}\n{_type(kind, 'Run', MAIN, public=True)}"
        )
    headers = (
        "public static void main(String... args)",
        "public static void main(final String[] args)",
        "public static void main(String args[])",
        'public static void main(@SuppressWarnings("unused") final String... args)',
        "static public void main(String[] args) throws Exception",
        "public static final void main(String[] args)",
        "public static synchronized strictfp void main(java.lang.String[] args)",
        "public static <T> void main(String[] args)",
        "@Deprecated public static void main(String[]args)",
    )
    for index, (header, name) in enumerate(product(headers, ("Main", "Other"))):
        before = "public " if index % 2 else ""
        made[f"header-{index}"] = f"{before}class {name} {{ {header} {{ {READ} }} }}"
    return made


def _type(kind: str, name: str, body: str, *, public: bool) -> str:
    before = "public " if public else ""
    if kind == "enum":
        return f"{before}enum {name} {{ ONE, TWO; {body} }}"
    if kind == "record":
        return f"{before}record {name}(int x) {{ {body} }}"
    return f"{before}{kind} {name} {{ {body} }}"


def _written() -> dict[str, str]:
    return {
        "not-public": f"import java.util.*;\nclass Solution {{ {MAIN} }}",
        "inner-public": f"class Main {{ public class Edge {{ int to; }} public static class Node {{ }} {MAIN} }}",
        "inner-public-first": f"class Main {{\n  public static class Edge {{ int to; }}\n  public class Graph {{ }}\n  {MAIN}\n}}",
        "line-comment": f"// public class Wrong {{\nclass Main {{ {MAIN} }}",
        "block-comment": f"/*\npublic class Wrong {{\n}}\n*/ class Main {{ {MAIN} }}",
        "javadoc": f"/** Use it as\n * public class Wrong {{ }}\n */\npublic class Right {{ {MAIN} }}",
        "comment-between": f"public /* class Wrong */ // class Worse\n class Right {{ {MAIN} }}",
        "string": f'class Main {{ static String s = "public class Wrong {{ }}"; {MAIN} }}',
        "string-with-quotes": f'class Main {{ static String s = "\\"\\\\"; static String t = "\\npublic class Wrong {{"; {MAIN} }}',
        "text-block": f'class Main {{ static String s = """\n    public class Wrong {{ }} \\""" "\n    """; {MAIN} }}',
        "chars": f"class Main {{ char a = '\"', b = '\\'', c = '{{', d = '\\\\'; {MAIN} }} ",
        "comment-in-string": f'class A {{ String s = "/*"; }} public class Right {{ {MAIN} /* */ }}',
        "annotated-on-one-line": f'@SuppressWarnings({{"unchecked", "rawtypes"}}) public class Right {{ {MAIN} }}',
        "annotation-with-class": f"@Note(Note.class) public final class Right {{ {MAIN} }} @interface Note {{ Class<?> value(); }}",
        "annotation-before-public": f"@FunctionalInterface interface F {{ int f(int x); }}\n@Deprecated public class Right {{ {MAIN} }}",
        "modifiers-turned": f"final public strictfp class Right {{ {MAIN} }}",
        "public-on-its-own-line": f"public\nfinal\nclass\nRight\n{{ {MAIN} }}",
        "sealed": f"public sealed class Right permits A, B {{ {MAIN} }} final class A extends Right {{ }} non-sealed class B extends Right {{ }}",
        "sealed-interface": f"public sealed interface Shape permits Circle, Square {{ {MAIN} }} record Circle(int r) implements Shape {{ }} record Square(int a) implements Shape {{ }}",
        "generic": f"public class Right<T extends Comparable<T>, U> {{ {MAIN} }}",
        "generic-helper-first": f"class Pair<A, B> {{ A a; B b; }} class Main {{ {MAIN} }}",
        "implements": f"public class Right implements Runnable, Comparable<Right> {{ public void run() {{ }} public int compareTo(Right o) {{ return 0; }} {MAIN} }}",
        "unicode-name": f"public class Lösung {{ {MAIN} }}",
        "unicode-inner": f"class Größe {{ static class Länge {{ }} {MAIN} }}",
        "greek": f"public class Λύση {{ {MAIN} }}",
        "dollar": f"public class Right$1 {{ {MAIN} }} class $ {{ }}",
        "underscore": f"public class _Right_9 {{ {MAIN} }}",
        "escaped": f"\\u0070ublic class Ri\\uuu0067ht {{ {MAIN} }}",
        "escaped-quote": f'class A {{ String s = "\\\\u0022"; }} public class Right {{ {MAIN} }}',
        "public-helper": f"public class Helper {{ static int twice(int x) {{ return 2 * x; }} }} class Main {{ {MAIN} }}",
        "public-helper-interface": f"public interface Helper {{ int f(int x); }} class Solver {{ {MAIN} }}",
        "two-mains-public-wins": f"class Main {{ {WRONG} }} public class Right {{ {MAIN} }}",
        "two-mains-main-wins": f"class Brute {{ {WRONG} }} class Main {{ {MAIN} }}",
        "two-mains-first-wins": f"class First {{\n {MAIN} }}\n class Alpha {{\n {WRONG} }}",
        "two-mains-first-wins-on-one-line": f"class Zulu {{ {MAIN} }} class Alpha {{ {WRONG} }}",
        "two-mains-outer-wins": f"class Solver {{ static class Main {{ {WRONG} }} {MAIN} }}",
        "main-in-nested": f"class Outer {{ static class Inner {{ {MAIN} }} }}",
        "main-in-private-nested": f"public class Outer {{ private static class Inner {{ {MAIN} }} }}",
        "main-in-nested-enum": f"interface Outer {{ enum Inner {{ A; {MAIN} }} }}",
        "no-args-main-beside": f"class Tool {{ public static void main() {{ }} static void main(int[] a) {{ }} }} class App {{ {MAIN} }}",
        "private-main-beside": f"class Tool {{ private static void main(String[] a) {{ }} }} class App {{ {MAIN} }}",
        "instance-main-beside": f"class Tool {{ public void main(String[] a) {{ }} }} class App {{ {MAIN} }}",
        "int-main-beside": f"class Tool {{ public static int main(String[] a, int b) {{ return 0; }} }} class App {{ {MAIN} }}",
        "inherited": f"class Base {{ {MAIN} }} public class Main extends Base {{ }}",
        "package-not-public": f"package contest;\nclass Solution {{ {MAIN} }}",
        "package-annotated-comment": f"/* licence */ package /* here */ a . b ; // public class X\npublic class Right {{ {MAIN} }}",
        "default-package-imports": f"import static java.lang.Math.*;\nimport java.util.*;\nimport java.io.*;\nclass Task {{ {MAIN} }}",
        "local-class": f"class Main {{ {MAIN.replace('{', '{ class Local { public String toString() { return null; } } ', 1)} }}",
        "anonymous": f"class Main {{ static Runnable r = new Runnable() {{ public void run() {{ }} }}; {MAIN} }}",
        "lambda-and-stream": "import java.util.stream.*;\npublic class Sum { public static void main(String[] a) { int n = new java.util.Scanner(System.in).nextInt(); System.out.println(IntStream.range(0, 2).map(i -> n).sum()); } }",
        "switch-expression": "class Main { public static void main(String[] a) { int n = new java.util.Scanner(System.in).nextInt(); System.out.println(switch (n % 2) { case 0 -> n * 2; default -> { yield n + n; } }); } }",
        "records-and-instanceof": "import java.util.*;\npublic class Main { record P(int a, int b) { int sum() { return a + b; } } public static void main(String[] x) { int n = new Scanner(System.in).nextInt(); Object o = new P(n, n); if (o instanceof P p) System.out.println(p.sum()); } }",
        "windows-lines": f"import java.util.*;\r\n// public class Wrong\r\npublic class Right\r\n{{\r\n{MAIN}\r\n}}\r\n",
        "old-mac-lines": f"// public class Wrong\rpublic class Right {{ {MAIN} }}",
        "byte-order-of-braces": f"class A {{ int[] a = {{1, 2}}; int[][] b = {{{{1}}, {{2}}}}; }} ; ; public class Right {{ {MAIN} }}",
        "empty-statements": f";;;public class Right {{ {MAIN} }};;",
        "division": f"class A {{ int a = 4 / 2, b = a /* x */ / 1; }} public class Right {{ {MAIN} }}",
        "long-name": f"public class {'Name' * 30} {{ {MAIN} }}",
        "annotation-type": f"public @interface Right {{ int value() default 1; class Runner {{ {MAIN} }} }}",
        "record-as-a-name": f"class Main {{ int record = 1, sealed = 2, permits = 3; {MAIN} }}",
        "non-ascii-output-of-names": f"class Übung {{ enum Farbe {{ GRÜN }} {MAIN} }}",
    }
