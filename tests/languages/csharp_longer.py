"""Longer programs of today's C#, each with its input and what it prints on .NET."""

LONGER = {
    "bank": (
        "",
        "Error: Insufficient funds\nAnn: 1500.00 1 True\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

public enum TransactionType { Deposit, Withdrawal, Transfer }

public sealed record Transaction(Guid Id, TransactionType Type, decimal Amount, DateTime When)
{
    public bool IsLarge => Amount >= 1000m;
}

public interface IAccount
{
    string Owner { get; }
    decimal Balance { get; }
    void Apply(Transaction t);
}

public class Account : IAccount
{
    private readonly List<Transaction> _history = new();
    public required string Owner { get; init; }
    public decimal Balance { get; private set; }
    public IReadOnlyList<Transaction> History => _history;

    public void Apply(Transaction t)
    {
        Balance += t.Type switch
        {
            TransactionType.Deposit => t.Amount,
            TransactionType.Withdrawal when t.Amount > Balance =>
  throw new InvalidOperationException("Insufficient funds"),
            TransactionType.Withdrawal => -t.Amount,
            _ => 0m,
        };
        _history.Add(t);
    }
}

public static class Program
{
    public static void Main()
    {
        var acc = new Account { Owner = "Ann" };
        acc.Apply(new(Guid.Empty, TransactionType.Deposit, 1500m, DateTime.MinValue));
        try { acc.Apply(new(Guid.Empty, TransactionType.Withdrawal, 2000m, DateTime.MinValue)); }
        catch (InvalidOperationException ex) { Console.WriteLine($"Error: {ex.Message}"); }
        Console.WriteLine($"{acc.Owner}: {acc.Balance:F2} {acc.History.Count} {acc.History[0].IsLarge}");
    }
}
""",
    ),
    "grid bfs": (
        "3 3\n..#\n#..\n#..\n",
        "4\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

var dims = Console.ReadLine()!.Split().Select(int.Parse).ToArray();
(int rows, int cols) = (dims[0], dims[1]);
var grid = Enumerable.Range(0, rows).Select(_ => Console.ReadLine()!.ToCharArray()).ToArray();
(int dr, int dc)[] dirs = [(0, 1), (1, 0), (0, -1), (-1, 0)];
var seen = new bool[rows, cols];
var queue = new Queue<(int r, int c, int d)>();
queue.Enqueue((0, 0, 0));
seen[0, 0] = true;
int answer = -1;
while (queue.TryDequeue(out var cur))
{
    var (r, c, d) = cur;
    if (r == rows - 1 && c == cols - 1) { answer = d; break; }
    foreach (var (dr, dc) in dirs)
    {
        var (nr, nc) = (r + dr, c + dc);
        if (nr < 0 || nr >= rows || nc < 0 || nc >= cols || seen[nr, nc] || grid[nr][nc] is '#') continue;
        seen[nr, nc] = true;
        queue.Enqueue((nr, nc, d + 1));
    }
}
Console.WriteLine(answer);
""",
    ),
    "tokenizer": (
        "",
        "12\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

abstract record Token;
record Number(double Value) : Token;
record Operator(char Symbol) : Token
{
    public int Precedence => Symbol switch { '+' or '-' => 1, '*' or '/' => 2, _ =>
  throw new ArgumentException($"Unknown operator: {Symbol}") };
}
record Paren(bool IsOpen) : Token;

static class Calculator
{
    static IEnumerable<Token> Tokenize(string s)
    {
        for (int i = 0; i < s.Length;)
        {
            switch (s[i])
            {
                case ' ': i++; break;
                case '(' or ')': yield return new Paren(s[i++] == '('); break;
                case >= '0' and <= '9':
                    int start = i;
                    while (i < s.Length && (char.IsDigit(s[i]) || s[i] == '.')) i++;
                    yield return new Number(double.Parse(s[start..i]));
                    break;
                default: yield return new Operator(s[i++]); break;
            }
        }
    }

    public static double Evaluate(string s)
    {
        Stack<double> values = new();
        Stack<Token> ops = new();
        void ApplyTop()
        {
            var (b, a) = (values.Pop(), values.Pop());
            values.Push(((Operator)ops.Pop()).Symbol switch { '+' => a + b, '-' => a - b, '*' => a * b,
  '/' => a / b, _ => double.NaN });
        }
        foreach (var token in Tokenize(s))
        {
            switch (token)
            {
                case Number { Value: var v }: values.Push(v); break;
                case Paren { IsOpen: true } p: ops.Push(p); break;
                case Paren:
                    while (ops.Peek() is Operator) ApplyTop();
                    ops.Pop();
                    break;
                case Operator op:
                    while (ops.Count > 0 && ops.Peek() is Operator top && top.Precedence >= op.Precedence) ApplyTop();
                    ops.Push(op);
                    break;
            }
        }
        while (ops.Count > 0) ApplyTop();
        return values.Pop();
    }
}
class Program { static void Main() => Console.WriteLine(Calculator.Evaluate("2 * (3 + 4) - 6 / 3")); }
""",
    ),
    "generics": (
        "",
        "3: 2 5 8\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

public class Node<T> where T : IComparable<T>
{
    public T Value { get; }
    public Node<T>? Left { get; set; }
    public Node<T>? Right { get; set; }
    public Node(T value) => Value = value;
}
public class Bst<T> where T : IComparable<T>
{
    private Node<T>? _root;
    public int Count { get; private set; }
    public bool Add(T v)
    {
        if (_root is null) { _root = new(v); Count++; return true; }
        var cur = _root;
        while (true)
        {
            switch (v.CompareTo(cur.Value))
            {
                case 0: return false;
                case < 0:
                    if (cur.Left is null) { cur.Left = new(v); Count++; return true; }
                    cur = cur.Left;
                    break;
                default:
                    if (cur.Right is null) { cur.Right = new Node<T>(v); Count++; return true; }
                    cur = cur.Right;
                    break;
            }
        }
    }
    public IEnumerable<T> InOrder()
    {
        static IEnumerable<T> Walk(Node<T>? n)
        {
            if (n is null) yield break;
            foreach (var x in Walk(n.Left)) yield return x;
            yield return n.Value;
            foreach (var x in Walk(n.Right)) yield return x;
        }
        return Walk(_root);
    }
}
class P { static void Main() { var t = new Bst<int>(); foreach (var x in new[] { 5, 2, 8, 2 }) t.Add(x);
  Console.WriteLine(t.Count + ": " + string.Join(" ", t.InOrder())); } }
""",
    ),
    "result": (
        "",
        "ok 1\nbad: x\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

public abstract record Result<T>
{
    public sealed record Ok(T Value) : Result<T>;
    public sealed record Err(string Message) : Result<T>;
}
class P {
  static Result<int> Parse(string s) => int.TryParse(s,
  out var n) ? new Result<int>.Ok(n) : new Result<int>.Err($"bad: {s}");
  static void Main() {
    foreach (var s in new[] { "1", "x" })
      Console.WriteLine(Parse(s) switch { Result<int>.Ok(var v) => $"ok {v}", Result<int>.Err {
  Message: var m } => m, _ => "?" });
  }
}
""",
    ),
    "span stack sb": (
        "",
        "0,1,2\noelhel\n8\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

using System.Text;
var sb = new StringBuilder();
for (var i = 0; i < 3; i++) sb.Append(i).Append(i < 2 ? "," : "");
Console.WriteLine(sb);
string s = "hello";
Console.WriteLine(s[^1] + s[1..3] + s[..^2]);
Span<int> sp = stackalloc int[3];
sp[0] = 5; Console.WriteLine(sp[0] + sp.Length);
""",
    ),
    "matrix ops": (
        "",
        "210345902\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

readonly struct Matrix
{
    private readonly long[,] _m;
    public Matrix(long[,] m) => _m = m;
    public static Matrix Identity => new(new long[,] { { 1, 0 }, { 0, 1 } });
    public static Matrix operator *(Matrix a, Matrix b)
    {
        var r = new long[2, 2];
        for (int i = 0; i < 2; i++) for (int j = 0; j < 2; j++) for (int k = 0; k < 2; k++) r[i, j] = (r[i,
  j] + a._m[i, k] * b._m[k, j]) % 1_000_000_007;
        return new(r);
    }
    public Matrix Pow(long n) { var (result, b) = (Identity, this); for (; n > 0; n >>= 1) {
  if ((n & 1) == 1) result *= b; b *= b; } return result; }
    public long this[int i, int j] => _m[i, j];
}
class P { static void Main() { var f = new Matrix(new long[,] { { 1, 1 }, { 1, 0 } });
  Console.WriteLine(f.Pow(90)[0, 1]); } }
""",
    ),
    "events": (
        "",
        "v=1\nv=2\n3\nx\n-1\nset\nTrue\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

public delegate void Changed(object sender, int v);
class Counter { public event Changed? OnChange; int _v; public int V { get => _v; set {
  if (_v == value) return; _v = value; OnChange?.Invoke(this, value); } } }
class P { static void Main() { var c = new Counter(); c.OnChange += (_, v) => Console.WriteLine("v=" + v);
  c.V = 1; c.V = 1; c.V = 2; Func<int, Func<int, int>> add = a => b => a + b; Console.WriteLine(add(1)(2));
  Action<string> log = Console.WriteLine; log?.Invoke("x"); string? n = null;
  Console.WriteLine(n?.Length ?? -1); n ??= "set"; Console.WriteLine(n); int[]? arr = null;
  Console.WriteLine(arr?[0] is null); } }
""",
    ),
    "indexers tuple swap": (
        "",
        "2 1 3\n2 3\n6\nBob3\n7 12\n5\na 1 5\n",
        """\
using System;
using System.Collections.Generic;
using System.Linq;

int[] a = { 3, 1, 2 };
(a[0], a[2]) = (a[2], a[0]);
Console.WriteLine(string.Join(" ", a));
int x = 1, y = 2; (x, y) = (y, x + y); Console.WriteLine($"{x} {y}");
var dict = new Dictionary<string, (int Min, int Max)>();
dict["a"] = (1, 5);
var (mn, mx) = dict["a"]; Console.WriteLine(mn + mx);
(string Name, int Age) person = ("Bob", 3);
Console.WriteLine(person.Name + person.Age);
static (int Sum, int Prod) Both(int p, int q) => (p + q, p * q);
var r = Both(3, 4); Console.WriteLine(r.Sum + " " + r.Prod);
if (dict.TryGetValue("a", out var t) && t is (1, var hi)) Console.WriteLine(hi);
foreach (var (k, (lo, h)) in dict) Console.WriteLine($"{k} {lo} {h}");
""",
    ),
    "new() within new()": (
        "",
        "1 2 3 0\n2 4\n3\n",
        """\
Dictionary<string, List<int>> d = new() { ["a"] = new() { 1 }, ["b"] = new() { 1, 2 } };
var e = new Dictionary<string, List<int>> { { "c", new() { 1, 2, 3 } }, { "d", new() } };
Dictionary<int, Dictionary<int, int[]>> g = new() { { 1, new() { { 2, [3, 4] } } } };
List<List<int>> rows = new() { new() { 1, 2 }, new() };
List<List<int>> F() { return new() { new() { 1 }, new() { 2 }, new() }; }
Console.WriteLine($"{d["a"].Count} {d["b"].Count} {e["c"].Count} {e["d"].Count}");
Console.WriteLine($"{rows[0].Count} {g[1][2][1]}"); Console.WriteLine(F().Count);
""",
    ),
    "file types": (
        "",
        "4 1\n",
        """\
Func<int, int> f = static x => x + 1; Console.WriteLine(f(3) + " " + new A().V + S.Text);
file sealed class A { public int V => 1; }
file static class S { public const string Text = ""; }
""",
    ),
}
