"""Programs of today's C# whose rewriting must keep what they mean: texts with expressions in them, what is asked once,
and types that an expression has by its place. Each with its input and what it prints on .NET."""

MEANING = {
    "hole index": (
        "",
        "3 002",
        r"""
var a = new[]{1,2,3}; Console.WriteLine($"{a[^1]} {a[^2]:D3}");
""",
    ),
    "hole range": (
        "",
        "ello|hell|   el|",
        r"""
string s="hello"; Console.WriteLine($"{s[1..]}|{s[..^1]}|{s[1..3],5}|");
""",
    ),
    "hole switch": (
        "",
        "v=two!",
        r"""
int x=2; Console.WriteLine($"v={(x switch { 1 => "one", 2 => "two", _ => "many" })}!");
""",
    ),
    "hole sep num": (
        "",
        "0",
        r"""
long x=2_000_000_014; Console.WriteLine($"{x % 1_000_000_007}");
""",
    ),
    "hole sep num only": (
        "",
        "5000",
        r"""
class A { static void Main() { long x=5; Console.WriteLine($"{x * 1_000}"); } }
""",
    ),
    "hole nested interp": (
        "",
        "a<1>,<2>b True",
        r"""
int x=1; var xs=new List<int>{1,2};
Console.WriteLine($"a{string.Join(",", xs.Select(q => $"<{q}>"))}b {x is > 0 and < 3}");
""",
    ),
    "hole is pattern": (
        "",
        "big",
        r"""
object o=5; Console.WriteLine($"{(o is int n and > 3 ? "big" : "small")}");
""",
    ),
    "hole new obj": (
        "",
        "P { X = 5, Y = 2 }",
        r"""
record P(int X,int Y); class A{ static void Main(){ var p=new P(1,2); Console.WriteLine($"{p with {
X = 5 }}"); } }
""",
    ),
    "hole verbatim": (
        "",
        'C:\\2\\"q" 1',
        r"""
var a=new[]{1,2}; Console.WriteLine($@"C:\{a[^1]}\""q"" {a[0]}");
""",
    ),
    "raw interp": (
        "",
        '3 "q" 2\n  in',
        r'''
int x=3; var a=new[]{1,2}; Console.WriteLine($"""
  {x} "q" {a[^1]}
    in
  """);
''',
    ),
    "raw json": (
        "",
        '{ "a": 3 }',
        r'''
int x=3; Console.WriteLine($$"""
  { "a": {{x}} }
  """);
''',
    ),
    "verbatim nullable2": (
        "",
        "a\n#nullable enable\n",
        r"""
class A { static void Main(){ string? s = @"a
#nullable enable"; System.Console.WriteLine(s); } }
""",
    ),
    "const interp": (
        "",
        "xy",
        r"""
const string A="x"; const string B=$"{A}y"; Console.WriteLine(B);
""",
    ),
    "hole multi line": (
        "",
        "p 9",
        r"""
int a=1; var z=new[]{9}; Console.WriteLine($"{(a > 0
   ? "p"
   : "n")} {z[^1]}");
""",
    ),
    "invariant": (
        "",
        "1.50\n{0}x",
        r"""
var a=new[]{1.5}; Console.WriteLine(FormattableString.Invariant($"{a[^1]:F2}"));
FormattableString f=$"{a[0]}x"; Console.WriteLine(f.Format);
""",
    ),
    "readline range": (
        "9 2 3\nnext\n",
        "5\nnext",
        r"""
var xs = Console.ReadLine()!.Split(' ')[1..].Select(int.Parse).ToList(); Console.WriteLine(xs.Sum());
Console.WriteLine(Console.ReadLine());
""",
    ),
    "readline from end": (
        "abc\nx y z\n",
        "c\nz",
        r"""
Console.WriteLine(Console.ReadLine()![^1]); Console.WriteLine(Console.ReadLine()!.Split()[^1]);
""",
    ),
    "dequeue from end": (
        "",
        "2\n1",
        r"""
var q=new Queue<int[]>(); q.Enqueue(new[]{1,2}); q.Enqueue(new[]{3,4});
Console.WriteLine(q.Dequeue()[^1]); Console.WriteLine(q.Count);
""",
    ),
    "from end lvalue": (
        "",
        "6,3,9\n7\n6",
        r"""
var l=new List<int>{1,2,3}; l[^1] = 9; l[^2]++; l[^3] += 5; Console.WriteLine(string.Join(",",l));
int[][] g=[[1,2],[3,4]]; g[^1][^1]=7; Console.WriteLine(g[1][1]); Console.WriteLine(l[^(l.Count)]);
""",
    ),
    "where new": (
        "",
        "5",
        r"""

class Pool<T> where T : new() { readonly List<T> items = new(); public T Take() {
if (items.Count == 0) return new T(); var t = items[^1]; items.RemoveAt(items.Count - 1); return t; }
public void Give(T t) { items.Add(t); } }
class A { public int V; static void Main() { var p = new Pool<A>(); var a = p.Take(); a.V = 5;
p.Give(a); Console.WriteLine(p.Take().V); } }
""",
    ),
    "coalescing index": (
        "",
        "1 5\n1",
        r"""
int?[] a=new int?[3]; int i=0; a[i] ??= 5; i++; Console.WriteLine(i+" "+a[0]);
Dictionary<string,List<int>> d=new(); List<int>? l=null; l ??= new(); l.Add(1);
Console.WriteLine(l.Count);
""",
    ),
    "region": (
        "",
        "3\nnone",
        r"""
#region A
int Add(int a, int b) => a + b;
#endregion
#region B
string Name(string? s) { return s ?? "none"; }
#endregion
Console.WriteLine(Add(1, 2));
Console.WriteLine(Name(null));
""",
    ),
    "comment in args": (
        "",
        "4\nTrue\nsome",
        r"""

static int F(int a, /* the b */ int b = 3 // default
) => a + b;
Console.WriteLine(F(1 // one
));
int[] xs = [ // first
 1, // one
 2, /* two */ ];
Console.WriteLine(xs is [1, /* x */ 2]);
var y = xs.Length switch { // sw
  0 => "none", // zero
  > 0 => "some", // more
  _ => "?" };
Console.WriteLine(y);
""",
    ),
    "record struct": (
        "",
        "Point { X = 3, Y = 4 } Point { X = 0, Y = 4 } 5 True Point { X = 3, Y = 8 }\n1\n12",
        r"""
readonly record struct Point(int X, int Y) { public double Len => Math.Sqrt(X*X+Y*Y);
public static Point operator +(Point a, Point b) => new(a.X+b.X, a.Y+b.Y); } class A {
static void Main() { var p = new Point(3,4);
var q = p with { X = 0 }; Console.WriteLine($"{p} {q} {p.Len} {p == new Point(3,4)} {p + q}");
var s = new HashSet<Point>{p, new(3,4)};
Console.WriteLine(s.Count); var (x, y) = p; Console.WriteLine(x * y); } }
""",
    ),
    "record class list": (
        "",
        "Person { Name = Al, Age = 3, Tags =  }\nPerson { Name = Al, Age = 4, Tags =  }\nA:2\nB:2\n{ Key = 2, C = 2 }",
        r"""
record Person(string Name, int Age, List<string>? Tags = null) { public string Upper => Name.ToUpper();
public void Deconstruct(out string n) { n = Name; } } class A { static void Main() {
var p = new Person("Al", 3); Console.WriteLine(p); Console.WriteLine(p with { Age = 4 });
var people = new[]{ new Person("B",2), new Person("A",2)};
foreach (var (n, a, _) in people.OrderBy(q => q.Name)) Console.WriteLine($"{n}:{a}");
Console.WriteLine(people.GroupBy(x => x.Age).Select(g => new { g.Key, C = g.Count() }).First()); } }
""",
    ),
    "nested ternary in collection": (
        "",
        "1,2,3,4,2,3\n3\nTrue\n2\n0\n2\n3",
        r"""
int[] a = [1, 2, 3]; List<int> b = [..a, 4, ..a.Where(x => x > 1)];
Console.WriteLine(string.Join(",", b)); int[][] g = [[1], [2, 3]]; Console.WriteLine(g[1][1]);
char[] v = ['a', 'e']; Console.WriteLine(v.Contains('e')); HashSet<int> hs = [1, 1, 2];
Console.WriteLine(hs.Count); string[] e = []; Console.WriteLine(e.Length);
Dictionary<int, int[]> d = new() { [1] = [1, 2] }; Console.WriteLine(d[1].Length);
IEnumerable<int> ie = [1, 2]; Console.WriteLine(ie.Sum());
""",
    ),
    "collection as arg": (
        "",
        "6\n2",
        r"""
static int Sum(int[] a) => a.Sum(); Console.WriteLine(Sum([1,2,3])); var l = new List<int[]>();
l.Add([1,2]); Console.WriteLine(l[0].Length);
""",
    ),
    "init required": (
        "",
        "x31",
        r"""
class Cfg { public required string Name { get; init; } public int N { get; init; } = 3;
public List<int> L { get; } = []; } class A { static void Main() { var c = new Cfg { Name = "x" };
c.L.Add(1); Console.WriteLine($"{c.Name}{c.N}{c.L.Count}"); } }
""",
    ),
    "main args top": (
        "",
        "run",
        r"""
if (args.Length > 0) Console.WriteLine("args"); return Run(); static int Run() {
Console.WriteLine("run"); return 0; }
""",
    ),
    "tuple swap side": (
        "",
        "5,6,02",
        r"""
int i=0; var a=new int[3]; (a[i++], a[i++]) = (5,6); Console.WriteLine(string.Join(",",a)+i);
""",
    ),
    "nested class generic": (
        "",
        "1 2 5 8",
        r"""
var t = new Tree<int>(); foreach (var x in new[]{5,2,8,1}) t.Add(x);
Console.WriteLine(string.Join(" ", t)); public class Tree<T> : IEnumerable<T> where T : IComparable<T> {
private class Node { public T Val; public Node? L, R; public Node(T v) => Val = v; } private Node? root;
public void Add(T v) { root = Ins(root, v); } private static Node Ins(Node? n, T v) {
if (n is null) return new Node(v); if (v.CompareTo(n.Val) < 0) n.L = Ins(n.L, v);
else n.R = Ins(n.R, v); return n; } public IEnumerator<T> GetEnumerator() {
return Walk(root).GetEnumerator(); static IEnumerable<T> Walk(Node? n) { if (n == null) yield break;
foreach (var x in Walk(n.L)) yield return x; yield return n.Val;
foreach (var x in Walk(n.R)) yield return x; } }
System.Collections.IEnumerator System.Collections.IEnumerable.GetEnumerator() => GetEnumerator(); }
""",
    ),
    "lambda": (
        "",
        "8\n3\nz\na1\n3\n2",
        r"""
var f = (int x) => x * 2; Console.WriteLine(f(4)); Func<int,int,int> g = static (a, b) => a + b;
Console.WriteLine(g(1,2)); var h = () => "z"; Console.WriteLine(h()); var log = (string s, int n) => {
Console.WriteLine(s + n); }; log("a", 1); var w = async (int x) => { await Task.Delay(1); return x + 1;
}; Console.WriteLine(await w(2)); static (int, int) Two() => (1, 2); Console.WriteLine(Two().Item2);
""",
    ),
    "members": (
        "",
        "3\nRedGreen2\n32\nTrue\n0AFF",
        r"""
Console.WriteLine(Random.Shared.Next(3,4)); foreach (var c in Enum.GetValues<Color>()) Console.Write(c);
Console.WriteLine(Enum.GetNames(typeof(Color)).Length); var (q, r) = Math.DivRem(17, 5);
Console.WriteLine(q * 10 + r); ArgumentNullException.ThrowIfNull("x");
Console.WriteLine(char.IsAsciiDigit('7')); Console.WriteLine(Convert.ToHexString(new byte[]{10,255}));
enum Color { Red, Green }
""",
    ),
    "trim": (
        " a, , b c ,\n",
        "a|b c\n3\n1",
        r"""
Console.WriteLine(string.Join("|", Console.ReadLine()!.Split(',',
  StringSplitOptions.RemoveEmptyEntries | StringSplitOptions.TrimEntries)));
Console.WriteLine("a , ,b".Split(",", StringSplitOptions.TrimEntries).Length);
Console.WriteLine("x".Split(new[]{' '}, StringSplitOptions.RemoveEmptyEntries).Length);
""",
    ),
    "linq": (
        "",
        "-1\n0a1b a2 b1 c1",
        r"""
Console.WriteLine(new[]{1}.FirstOrDefault(x => x > 3, -1));
foreach (var (i, s) in new[]{"a","b"}.Index()) Console.Write(i + s);
foreach (var (k, n) in "abca".CountBy(c => c)) Console.Write($" {k}{n}");
""",
    ),
    "let with": (
        "",
        "R { A = 1, B = 7 } S { X = 1, Y = 2 } S { X = 1, Y = 9 } R { A = 5, B = 7 }",
        r"""
public record R(int A, int B = 7); public record struct S(int X, int Y); class P { static void Main() {
var r = new R(1); var s = new S(1,2); var t = s with { Y = 9 }; var u = r with { A = 5 };
Console.WriteLine($"{r} {s} {t} {u}"); } }
""",
    ),
    "create": (
        "",
        "1.500/1",
        r"""
double x = 1.5; int[] a = [1];
Console.WriteLine(string.Create(System.Globalization.CultureInfo.InvariantCulture, $"{x:F3}/{a[^1]}"));
""",
    ),
}
