"""Programs with patterns, records and what else C# has had since 9, each with its input and what it prints on .NET."""

HEAD = "using System;\nusing System.Collections.Generic;\nusing System.Linq;\n"
LATER = {
    "switch types": (
        "",
        "posintxnull?\n",
        """\
class P { static string F(object o)=> o switch { int n when n>0 => "pos", int => "int", string s => s,
  null => "null", _ => "?" }; static void Main(){ Console.WriteLine(F(1)+F(-1)+F("x")+F(null)+F(1.0)); } }
""",
    ),
    "shapes": (
        "",
        "3.14\n6.00\n10.00\n",
        """\
abstract record Shape;
record Circle(double Radius) : Shape;
record Rectangle(double Width, double Height) : Shape;
record Triangle(double Base, double Height) : Shape;
static class Geo {
    public static double Area(Shape s) => s switch
    {
        Circle c => Math.PI * c.Radius * c.Radius,
        Rectangle { Width: var w, Height: var h } => w * h,
        Triangle(var b, var h) => 0.5 * b * h,
        _ => throw new ArgumentException("unknown", nameof(s)),
    };
}
class Program {
    static void Main() {
        Shape[] shapes = { new Circle(1), new Rectangle(2, 3), new Triangle(4, 5) };
        foreach (var s in shapes) Console.WriteLine($"{Geo.Area(s):F2}");
    }
}
""",
    ),
    "fizz": (
        "",
        "1 2 Fizz 4 Buzz Fizz 7 8 Fizz Buzz 11 Fizz 13 14 FizzBuzz ",
        """\
for (int i = 1; i <= 15; i++) Console.Write((i % 3, i % 5) switch { (0, 0) => "FizzBuzz", (0, _) => "Fizz",
  (_, 0) => "Buzz", _ => i.ToString() } + " ");
""",
    ),
    "case when": (
        "",
        "neg\nint 5\nempty\na:abc\nXYZ\nnull\n1,2\nDouble\n",
        """\
class P {
  static string D(object o) {
    switch (o) {
      case int n when n < 0: return "neg";
      case int n: return $"int {n}";
      case string { Length: 0 }: return "empty";
      case string s when s.StartsWith("a"): return "a:" + s;
      case string s: return s.ToUpper();
      case null: return "null";
      case IEnumerable<int> xs: return string.Join(",", xs);
      default: return o.GetType().Name;
    }
  }
  static void Main() { foreach (var o in new object[] { -1, 5, "", "abc", "xyz", null, new[] { 1, 2 },
  2.5 }) Console.WriteLine(D(o)); }
}
""",
    ),
    "is combos": (
        "",
        "2\nABbadC\n42\nno string\nnulls\nabc\n43\nfive\ndigit\nneither\nTrue\n12\n",
        """\
class P {
  static bool Vowel(char c) => char.ToLower(c) is 'a' or 'e' or 'i' or 'o' or 'u';
  static string Grade(int s) => s switch { >= 90 => "A", >= 80 and < 90 => "B", < 0 or > 100 => "bad", _ =>
  "C" };
  static void Main() {
    Console.WriteLine("hello".Count(Vowel));
    Console.WriteLine(Grade(95) + Grade(85) + Grade(-5) + Grade(50));
    object o = 42; int? m = null; string t = "abc";
    if (o is int n and > 40) Console.WriteLine(n);
    if (o is not string) Console.WriteLine("no string");
    if (m is null && t is not null) Console.WriteLine("nulls");
    if (t is { Length: > 2 } u) Console.WriteLine(u);
    if (o is not int k) return;
    Console.WriteLine(k + 1);
    long big = 5; Console.WriteLine(big is 5 ? "five" : "no");
    int x = 7; if (x is > 0 and < 10) Console.WriteLine("digit");
    if (x is not (1 or 2)) Console.WriteLine("neither");
    DayOfWeek d = DayOfWeek.Sunday;
    Console.WriteLine(d is DayOfWeek.Saturday or DayOfWeek.Sunday);
    if (int.TryParse("12", out var q) && q is >= 10) Console.WriteLine(q);
  }
}
""",
    ),
    "equals": (
        "",
        "True False\n1\n",
        """\
class Pt { public int X; public Pt(int x) { X = x; } public override bool Equals(object? obj) =>
  obj is Pt p && p.X == X; public override int GetHashCode() => X; }
struct V : IEquatable<V> { public int A; public bool Equals(V o) => A == o.A;
  public override bool Equals(object o) { return o is V v && Equals(v); }
  public override int GetHashCode() { return A; } }
class P { static void Main() { Console.WriteLine(new Pt(1).Equals(new Pt(1)) + " " + new V {
  A = 2 }.Equals((object)new V { A = 3 })); var s = new HashSet<Pt> { new Pt(1), new Pt(1) };
  Console.WriteLine(s.Count); } }
""",
    ),
    "enum switch": (
        "",
        "5 -1 6\n",
        """\
enum Op { Add, Sub, Mul }
class P {
  static int Apply(Op op, int a, int b) => op switch { Op.Add => a + b, Op.Sub => a - b, Op.Mul => a * b,
  _ => throw new ArgumentOutOfRangeException(nameof(op)) };
  static void Main() { Console.WriteLine(Apply(Op.Add, 2, 3) + " " + Apply(Op.Sub, 2,
  3) + " " + Apply(Op.Mul, 2, 3)); }
}
""",
    ),
    "side effect subject": (
        "z\n",
        "other z\n1 1\n",
        """\
string r = Console.ReadLine() switch { "a" => "A", "b" => "B", var other => $"other {other}" };
Console.WriteLine(r);
var toks = new Queue<string>(new[] { "+", "1" });
int v = toks.Dequeue() switch { "+" => 1, "-" => 2, _ => 3 };
Console.WriteLine(v + " " + toks.Count);
""",
    ),
    "lists": (
        "",
        "empty\none 5\n1..9\n2+2\n",
        """\
class P {
  static string F(int[] a) => a switch { [] => "empty", [var x] => $"one {x}", [1, .., 9] => "1..9", [var f,
  .. var rest] => $"{f}+{rest.Length}" };
  static void Main() { foreach (var a in new[] { new int[0], new[] { 5 }, new[] { 1, 4, 9 }, new[] { 2, 3,
  4 } }) Console.WriteLine(F(a)); }
}
""",
    ),
    "nested": (
        "",
        "minor\nroman\nosloer\nold friend\nZ homeless\nx\n",
        """\
record Addr(string City); record Person(string Name, int Age, Addr? Home);
class P {
  static string F(Person p) => p switch {
    { Age: < 18 } => "minor",
    { Home: { City: "Rome" } } => "roman",
    { Home.City: "Oslo" } => "osloer",
    { Name: "Bob" or "Al", Age: >= 60 and <= 70 } => "old friend",
    (var n, _, null) => $"{n} homeless",
    _ => "x" };
  static void Main() { foreach (var p in new[] { new Person("A", 3, null), new Person("B", 30,
  new Addr("Rome")), new Person("C", 30, new Addr("Oslo")), new Person("Al", 65, new Addr("X")),
  new Person("Z", 40, null), new Person("Q", 40, new Addr("Y")) }) Console.WriteLine(F(p)); }
}
""",
    ),
    "expr tree": (
        "",
        "2\n",
        """\
abstract class Expr { }
sealed class Num : Expr { public int V { get; init; } }
sealed class Add : Expr { public Expr L { get; init; } public Expr R { get; init; } }
sealed class Neg : Expr { public Expr E { get; init; } }
static class Ev {
  public static int Eval(Expr e) => e switch {
    Num n => n.V,
    Add { L: var l, R: var r } => Eval(l) + Eval(r),
    Neg { E: Num { V: 0 } } => 0,
    Neg n => -Eval(n.E),
    _ => throw new NotSupportedException()
  };
}
class P { static void Main() => Console.WriteLine(Ev.Eval(new Add { L = new Num { V = 3 }, R = new Neg {
  E = new Num { V = 1 } } })); }
""",
    ),
    "switch in loop with break continue": (
        "",
        "1015\n",
        """\
class P { static void Main() {
  int total = 0;
  foreach (object o in new object[] { 1, "skip", 2.5, 7, "stop", 100 }) {
    bool done = false;
    switch (o) {
      case string s when s == "skip": continue;
      case string s when s == "stop": done = true; break;
      case int i when i > 5: for (int k = 0; k < 10; k++) { if (k == 2) break; total += i; } break;
      case int i: total += i; break;
      case double _: total += 1000; break;
    }
    if (done) break;
  }
  Console.WriteLine(total);
} }
""",
    ),
    "target typed result": (
        "",
        "ABTrue\n",
        """\
abstract class S { } class A : S { } class B : S { } class P { static S Make(int n) => n switch { 0 =>
  new A(), 1 => new B(), _ => null }; static void Main() { S s = 1 switch { 1 => new B(), _ => new A() };
  int? q = 3 switch { > 2 => null, _ => 5 };
  Console.WriteLine(Make(0).GetType().Name + s.GetType().Name + (q is null)); } }
""",
    ),
    "return switch target typed": (
        "",
        "AB2.5\n",
        """\
abstract class S { } class A : S { } class B : S { } class P { static S Make(int n) { return n switch { 0 =>
  new A(), 1 => new B(), _ => null }; } static double D(int n) { return n switch { 0 => 1, 1 => 2.5, _ =>
  0 }; } static void Main() { Console.WriteLine(Make(0).GetType().Name + Make(1).GetType().Name + D(1)); } }
""",
    ),
    "exceptions when": (
        "",
        "x\n",
        """\
try { throw new InvalidOperationException("x"); }
  catch (Exception e) when (e is InvalidOperationException or ArgumentException) {
  Console.WriteLine(e.Message); }
""",
    ),
    "raw string": (
        "",
        '{"a": 1}\n  b\nx2"y" \n',
        """\
var s = \"\"\"
    {"a": 1}
      b
    \"\"\";
Console.WriteLine(s);
int n = 2; Console.WriteLine($\"\"\"x{n}"y" \"\"\");
""",
    ),
    "primary ctor": (
        "",
        "Al1521\n",
        """\
class Acc(string name, decimal bal) { public string Name { get; } = name; private readonly List<decimal>
  log = new(); public decimal Bal => bal; public void Dep(decimal d) { bal += d; log.Add(d); } }
class Sav(string n, decimal b, decimal r) : Acc(n, b) { public decimal Rate => r; }
struct Pt(int x, int y) { public int X = x; public int Y { get; } = y; }
class P { static void Main() { var a = new Sav("Al", 10, 2); a.Dep(5);
  Console.WriteLine(a.Name + a.Bal + a.Rate + new Pt(1, 2).X); } }
""",
    ),
    "generic local": (
        "",
        "5c\n2 1\n",
        """\
T Max<T>(IEnumerable<T> xs) where T : IComparable<T> { var it = xs.First();
  foreach (var x in xs) if (x.CompareTo(it) > 0) it = x; return it; }
Console.WriteLine(Max(new[] { 1, 5, 2 }) + Max(new[] { "a", "c" }));
void Swap(ref int a, ref int b) { var t = a; a = b; b = t; }
int p = 1, q = 2; Swap(ref p, ref q); Console.WriteLine(p + " " + q);
""",
    ),
    "local ref": (
        "",
        "6\n16\n",
        """\
class P { static void Main() { int c = 0; bool Try(string s, out int v) { c++; return int.TryParse(s,
  out v); } if (Try("5", out var x)) Console.WriteLine(x + c); static int Sq(int n) => n * n;
  Console.WriteLine(Sq(4)); } }
""",
    ),
    "spread": (
        "",
        "1,2,30\n5",
        """\
int[] a = [1, 2]; List<int> b = [..a, 3]; int[] e = []; Console.WriteLine(string.Join(",", b) + e.Length);
  int[] Two(int i) { return [i, i + 1]; } Console.Write(Two(4)[1]);
""",
    ),
    "record features": (
        "",
        "Point { X = 3, Y = 4 } Point { X = 0, Y = 4 } 345True0\nPoint3 { X = 1, Y = 2, Z = 3 }\nPr { K = k, V = 1 }\n",
        """\
public record Point(int X, int Y) { public int Sum => X + Y; public static Point Origin { get; } = new(0,
  0); public virtual double Len() => Math.Sqrt(X * X + Y * Y); }
public record Point3(int X, int Y, int Z) : Point(X, Y);
public readonly record struct Pr(string K, int V);
class P { static void Main() { var p = new Point(3, 4); var (x, y) = p;
  Console.WriteLine(p + " " + (p with { X = 0 }) + " " + x + y + p.Len() + (p == new Point(3,
  4)) + Point.Origin.Sum); Console.WriteLine(new Point3(1, 2, 3)); Console.WriteLine(new Pr("k", 1)); } }
""",
    ),
    "dfs default": (
        "",
        "6\n",
        """\
var g = new Dictionary<int, List<int>> { [0] = new() { 1, 2 }, [1] = new() { 0 }, [2] = new() { 0 } };
int count = 0;
void Dfs(int u, int parent = -1) { count++; foreach (var v in g[u]) if (v != parent) Dfs(v, u); }
Dfs(0);
int Sum(params int[] xs) => xs.Sum();
Console.WriteLine(count + Sum(1, 2));
""",
    ),
    "target new everywhere": (
        "",
        "E { To = 1, W = 5 } 710\n6\n5\n3\n1\n9big7\n45\n",
        """\
record E(int To, int W); class H<T> { T? f; public T? Get(T? x) { f = x; return f; } }
struct M { public long V; public M(long v) { V = v; } public static implicit operator M(long v) => new(v);
  public static explicit operator M(int v) { return new(v); } }
class G { readonly Dictionary<int, List<E>> adj = new(); public void Add(int a, int b, int w) {
  if (!adj.ContainsKey(a)) adj[a] = new(); adj[a].Add(new(b, w)); } public E First(int a) {
  return adj[a][0]; } public static E Make() => new(7, 8); public static E Make2() { return new(9, 10); } }
class P { static void Main() { var g = new G(); g.Add(0, 1, 5);
  Console.WriteLine(g.First(0) + " " + G.Make().To + G.Make2().W); var xs = new List<E> { new(1, 2), new(3,
  4) }; Console.WriteLine(xs.Sum(e => e.W)); var q = new Queue<E>(); q.Enqueue(new(5, 6));
  Console.WriteLine(q.Peek().To); E[] arr = { new(1, 1) }; var d = new Dictionary<string, List<int>> {
  ["a"] = new() { 1, 2 }, ["b"] = new() }; Console.WriteLine(d["a"].Count + arr.Length);
  var pq = new PriorityQueue<(int, int), int>(); pq.Enqueue((1, 2), 3); Console.WriteLine(pq.Count);
  Console.WriteLine((new E(1, 2) with { W = 9 }).W + (new E(1, 2) switch { { To: 0 } => "none", _ => "big" })
  + new List<int>(new[] { 3, 7 })[^1]); M m = 4L; Console.WriteLine(m.V + "" + new H<int>().Get((int)((M)5).V)); } }
""",
    ),
    "its own type": (
        "",
        "203nonenegzeropos\n1\n3\n3\n",
        """\
class P { static int F(int n) => n switch { int k when k > 5 => 2 * k, var m => m };
  static string G(int? v) => v is int x ? $"{x}" : "none"; static string H(int n) { switch (n) {
  case int k when k < 0: return "neg"; case 0: return "zero"; default: return "pos"; } }
  static void Main() { Console.WriteLine(F(2) + F(9) + G(3) + G(null) + H(-1) + H(0) + H(1));
  var os = new object[] { 1, "a", 3 }; Console.WriteLine(os.Where(o => o is int n && n > 1).Count());
  while (os[0] is int z && z < 3) os[0] = z + 1; Console.WriteLine(os[0]); List<object>
  nest = new List<object> { 1, new List<object> { 2, "x" } }; Console.WriteLine(Sum(nest)); }
  static int Sum(IEnumerable<object> xs) { int t = 0; foreach (var x in xs) { if (x is int i) t += i;
  else if (x is List<object> l) t += Sum(l); } return t; } }
""",
    ),
}
