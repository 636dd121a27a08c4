"""Programs of today's C#, each with its input and what it prints on .NET; and such that are wrong there."""

RIGHT = {
    "top level, local functions of a tuple": (
        "4 2\n0 1\n1 2\n",
        "0 1 2 -1\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;
int[] Read() => Console.ReadLine()!.Split(' ', StringSplitOptions.RemoveEmptyEntries).Select(int.Parse).ToArray();
var first = Read();
int n = first[0], m = first[1];
var g = new List<int>[n];
for (int i = 0; i < n; i++) g[i] = new();
for (int i = 0; i < m; i++)
{
    var (a, b) = ReadPair();
    g[a].Add(b);
    g[b].Add(a);
}
var dist = Bfs(0);
Console.WriteLine(string.Join(" ", dist));
(int, int) ReadPair()
{
    var p = Read();
    return (p[0], p[1]);
}

int[] Bfs(int s)
{
    var d = new int[n];
    Array.Fill(d, -1);
    d[s] = 0;
    var q = new Queue<int>();
    q.Enqueue(s);
    while (q.Count > 0) {
        int u = q.Dequeue();
        foreach (var v in g[u])
            if (d[v] == -1) { d[v] = d[u] + 1; q.Enqueue(v); }
    }
    return d;
}
""",
    ),
    "a namespace of a file, new(), pairs": (
        "0 1 1\n1 2 2\n0 2 9\n",
        "0 1 3\n",
        """\
using System;
using System.Collections.Generic;
namespace Dijkstra;
public class Program
{
    private static readonly Dictionary<int, List<(int to, int w)>> Adj = new();
    public static void Main(string[] args) {
        string? line;
        while ((line = Console.ReadLine()) is not null) {
            var p = line.Split(' ');
            int a = int.Parse(p[0]), b = int.Parse(p[1]), w = int.Parse(p[2]);
            if (!Adj.ContainsKey(a)) Adj[a] = new List<(int to, int w)>();
            Adj[a].Add((b, w));
        }
        int[] dist = new int[3];
        Array.Fill(dist, int.MaxValue);
        PriorityQueue<int, int> pq = new();
        dist[0] = 0;
        pq.Enqueue(0, 0);
        while (pq.TryDequeue(out int u, out int d)) {
            if (d > dist[u]) continue;
            if (!Adj.TryGetValue(u, out var list)) continue;
            foreach (var (to, w) in list) {
                int nd = d + w;
                if (nd < dist[to]) { dist[to] = nd; pq.Enqueue(to, nd); }
            }
        }
        Console.WriteLine(string.Join(" ", dist));
    }
}
""",
    ),
    "no using at all": (
        "a b a\n",
        "a:2\nb:1\n",
        """\
var counts = new Dictionary<string, int>();
foreach (var w in Console.In.ReadToEnd().Split((char[]?)null, StringSplitOptions.RemoveEmptyEntries))
    counts[w] = counts.GetValueOrDefault(w) + 1;
foreach (var (word, count) in counts.OrderByDescending(p => p.Value).ThenBy(p => p.Key))
    Console.WriteLine($"{word}:{count}");
""",
    ),
    "switch expressions": (
        "",
        "small\nmid\nbig\nFizzBuzz\nFizz\n1\n",
        """\
using System;
class P
{
    static string Size(int n) => n switch {
        < 10 => "small",
        >= 10 and < 100 => "mid",
        _ => "big",
    };
    static string Fizz(int i) => (i % 3, i % 5) switch {
        (0, 0) => "FizzBuzz",
        (0, _) => "Fizz",
        (_, 0) => "Buzz",
        _ => i.ToString(),
    };
    static void Main() {
        foreach (var x in new[] { 1, 50, 500 }) Console.WriteLine(Size(x));
        foreach (var x in new[] { 15, 9, 1 }) Console.WriteLine(Fizz(x));
    }
}
""",
    ),
    "records": (
        "",
        "Point { X = 1, Y = 2 }\nTrue\n2\n",
        """\
using System;
using System.Collections.Generic;
public record Point(int X, int Y);
public record struct Size(int W, int H);
public class Program
{
    public static void Main() {
        var p = new Point(1, 2);
        Console.WriteLine(p);
        Console.WriteLine(p == new Point(1, 2));
        var s = new HashSet<Point> { p, new Point(1, 2), new Point(2, 1) };
        Console.WriteLine(s.Count);
    }
}
""",
    ),
    "with, collections": (
        "\n",
        "P { X = 1, Y = 5 }\n3\n0\n",
        """\
using System; using System.Collections.Generic;
record P(int X, int Y);
class Q { static void Main() { var p = new P(1, 2); var q = p with { Y = 5 }; Console.WriteLine(q); int[] a = [1, 2, 3]; List<string> l = []; Console.WriteLine(a.Length); Console.WriteLine(l.Count); } }
""",
    ),
    "local functions": (
        "",
        "120\n55\n3 1\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;
public class Solution
{
    public int Solve(int n)
    {
        var memo = new Dictionary<int, int>();
        return Fib(n);
        int Fib(int k)
        {
            if (k < 2) return k;
            if (memo.TryGetValue(k, out var v)) return v;
            return memo[k] = Fib(k - 1) + Fib(k - 2);
        }
    }
    static void Main()
    {
        static int Fact(int n) => n <= 1 ? 1 : n * Fact(n - 1);
        Console.WriteLine(Fact(5));
        Console.WriteLine(new Solution().Solve(10));
        int total = 0;
        void Add(int x) { total += x; }
        Add(1); Add(2);
        Console.WriteLine($"{total} {Half(total)}");
        int Half(int x) => x / 2;
    }
}
""",
    ),
    "local functions that call one another": (
        "",
        "True\nFalse\n",
        """\
using System;
class P { static void Main() {
    bool Even(int n) => n == 0 || Odd(n - 1);
    bool Odd(int n) => n != 0 && Even(n - 1);
    Console.WriteLine(Even(10)); Console.WriteLine(Odd(10));
} }
""",
    ),
    "indices from the end": (
        "",
        "4\n2,3\nlo\nhel\nl\n9\n",
        """\
using System;
class P { static void Main() {
  var a = new[] { 1, 2, 3, 4 };
  Console.WriteLine(a[^1]);
  Console.WriteLine(string.Join(",", a[1..3]));
  string s = "hello"; Console.WriteLine(s[^2..]); Console.WriteLine(s[..3]); Console.WriteLine(s[^2]);
  a[^1] = 9; Console.WriteLine(a[3]);
} }
""",
    ),
    "using declarations": (
        "3\n1 2 3\n",
        "6\nAB\n",
        """\
using System;
using System.IO;
using System.Linq;
class P { static void Main() {
  using var input = new StreamReader(Console.OpenStandardInput());
  using var output = new StreamWriter(Console.OpenStandardOutput());
  int n = int.Parse(input.ReadLine()!);
  var a = input.ReadLine()!.Split().Select(long.Parse).ToArray();
  output.WriteLine(a.Sum());
  string? s = null;
  s ??= "ab";
  output.WriteLine(s.ToUpper());
} }
""",
    ),
    "init and required": (
        "",
        "x 3 True\n",
        """\
using System;
using System.Collections.Generic;
public class Node { public required string Name { get; init; } public int V { get; set; } = 3; public Node? Next { get; set; } public List<int> L { get; } = new(); }
public static class P { public static void Main() { var n = new Node { Name = "x" }; Node? m = n.Next; if (m is null) Console.WriteLine($"{n.Name} {n.V} {n.L.Count == 0}"); } }
""",
    ),
    "await at the top level": (
        "",
        "3\n",
        """\
using System.Threading.Tasks;
var r = await F(2);
Console.WriteLine(r);
async Task<int> F(int x) { await Task.Delay(1); return x + 1; }
""",
    ),
    "a class behind the statements": (
        "",
        "7\n",
        """\
var t = new Tree();
foreach (var x in new[] { 3, 4 }) t.Add(x);
Console.WriteLine(t.Sum);
class Tree
{
    int sum;
    public int Sum => sum;
    public void Add(int x) => sum += x;
}
""",
    ),
    "a newer library": (
        "",
        "b\n1,2|3\n1a\n1\n",
        """\
using System; using System.Linq;
class P { static void Main() { Console.WriteLine(new[] { "a", "b" }.MaxBy(x => x)); Console.WriteLine(string.Join("|", new[] { 1, 2, 3 }.Chunk(2).Select(c => string.Join(",", c)))); foreach (var (n, c) in new[] { 1 }.Zip(new[] { "a" })) Console.WriteLine($"{n}{c}"); Console.WriteLine(new[] { 3, 1 }.Order().First()); } }
""",
    ),
    "not": (
        "",
        "2\n",
        """\
using System;
class P { static void Main() { bool ok = true; if (!ok) return; int x = !ok ? 1 : 2; Console.WriteLine(x); object? o = null; if (o is not string) { } } }
""",
    ),
    "async Main": (
        "",
        "3\n",
        """\
using System;using System.Threading.Tasks;
class P{static async Task<int> F(){await Task.Delay(1);return 3;} static async Task Main(string[] args){Console.WriteLine(await F());}}
""",
    ),
    "tuples": (
        "",
        "3 4\n2\n",
        """\
using System;
class P { static (int, int) F() => (3, 4); static void Main() { (int, int) x = F(); (int a, int b) = F(); Console.WriteLine($"{a} {x.Item2}"); (int dr, int dc)[] dirs = { (0, 1), (1, 0) }; int n = 0; foreach (var (dr, dc) in dirs) n += dr + dc; Console.WriteLine(n); } }
""",
    ),
    "new() of an item": (
        "",
        "1\n5\n",
        """\
using System; using System.Collections.Generic;
class P { static void Main() { var adj = new List<int>[3]; for (int i = 0; i < 3; i++) adj[i] = new(); adj[0].Add(1); Dictionary<int, List<string>> d = new(); if (!d.ContainsKey(1)) d[1] = new(); d[1].Add("x"); Console.WriteLine(adj[0].Count); int[] a = null; a ??= new int[5]; Console.WriteLine(a.Length); } }
""",
    ),
    "statements of every kind": (
        "6\n",
        "7\n",
        """\
using System;
int x = int.Parse(Console.ReadLine()!);
if (x > 5)
{
    Console.WriteLine(Plus(x));
}
else if (x == 3)
    Console.WriteLine("three");
else
{
    Console.WriteLine("no");
}
do { x--; } while (x > 0);
try { Boom(); } catch (Exception e) when (e.Message == "b") { } finally { x = 0; }
switch (x) { case 0: break; default: Console.WriteLine("bad"); break; }
return;
int Plus(int y) => y + 1;
void Boom() => throw new Exception("b");
""",
    ),
    "properties, an enum, what the null analysis reads": (
        "abc",
        "B 3\n",
        """\
#nullable enable
using System;
enum E { A, B }
static class P
{
    static string N(this E e) => e switch { E.A => "A", E.B => "B", _ => throw new Exception() };
    static void Main() { string? s = Console.ReadLine(); if (s is { Length: > 2 }) Console.WriteLine($"{E.B.N()} {s!.Length}"); }
}
""",
    ),
}
WRONG = {
    "a wrong type at the top level": 'int n = "x";\nConsole.WriteLine(n);',
    "an unknown name in a local function": "using System;\nclass P { static void Main() { int F(int x) => y; Console.WriteLine(F(1)); } }",
    "a local function with too few arguments": "int Add(int a, int b) => a + b;\nConsole.WriteLine(Add(1));",
    "no program": "((((( [ { using var switch => ??= ^^ ..",
    "a property that is not there": "record P(int X);\nclass Q { static void Main() { System.Console.WriteLine(new P(1).Y); } }",
}
