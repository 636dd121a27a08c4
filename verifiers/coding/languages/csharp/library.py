"""What C# programs of today call that Mono's library lacks, and the helpers of lowering.py; in C#."""

from typing import Final

LIBRARY: Final = r"""
using System; using System.Collections; using System.Collections.Generic; using System.Linq;
namespace SandboxGym {
    public interface IParts<A, B> { A Item1 { get; } B Item2 { get; } }
    public interface IParts<A, B, C> { A Item1 { get; } B Item2 { get; } C Item3 { get; } }
    public interface IParts<A, B, C, D> { A Item1 { get; } B Item2 { get; } C Item3 { get; } D Item4 { get; } }
    public struct Zipped<A, B> : IParts<A, B> {
        public A First; public B Second;
        public A Item1 { get { return First; } }
        public B Item2 { get { return Second; } }
        public static implicit operator ValueTuple<A, B>(Zipped<A, B> z) {
            return new ValueTuple<A, B>(z.First, z.Second);
        }
    }
    public static class Later {
        public static A Item1<A, B>(IParts<A, B> r) { return r.Item1; }
        public static B Item2<A, B>(IParts<A, B> r) { return r.Item2; }
        public static A Item1<A, B, C>(IParts<A, B, C> r) { return r.Item1; }
        public static B Item2<A, B, C>(IParts<A, B, C> r) { return r.Item2; }
        public static C Item3<A, B, C>(IParts<A, B, C> r) { return r.Item3; }
        public static A Item1<A, B, C, D>(IParts<A, B, C, D> r) { return r.Item1; }
        public static B Item2<A, B, C, D>(IParts<A, B, C, D> r) { return r.Item2; }
        public static C Item3<A, B, C, D>(IParts<A, B, C, D> r) { return r.Item3; }
        public static D Item4<A, B, C, D>(IParts<A, B, C, D> r) { return r.Item4; }
        public static int Count(string s) { return s.Length; }
        public static int Count<T>(ICollection<T> s) { return s.Count; }
        public static Func<R> Of<R>(Func<R> f) { return f; }
        public static Action Of(Action f) { return f; }
        public static Func<A, R> Of<A, R>(Func<A, R> f) { return f; }
        public static Action<A> Of<A>(Action<A> f) { return f; }
        public static Func<A, B, R> Of<A, B, R>(Func<A, B, R> f) { return f; }
        public static Action<A, B> Of<A, B>(Action<A, B> f) { return f; }
        public static Func<A, B, C, R> Of<A, B, C, R>(Func<A, B, C, R> f) { return f; }
        public static Action<A, B, C> Of<A, B, C>(Action<A, B, C> f) { return f; }
        public static readonly Random Shared = new Random();
        public static T[] GetValues<T>() { return (T[])Enum.GetValues(typeof(T)); }
        public static Array GetValues(Type type) { return Enum.GetValues(type); }
        public static string[] GetNames<T>() { return Enum.GetNames(typeof(T)); }
        public static string[] GetNames(Type type) { return Enum.GetNames(type); }
        public static string ToHexString(byte[] s) { return BitConverter.ToString(s).Replace("-", ""); }
        public static double Log2(double x) { return Math.Log(x, 2); }
        public static ValueTuple<int, int> DivRem(int a, int b) { return new ValueTuple<int, int>(a / b, a % b); }
        public static ValueTuple<long, long> DivRem(long a, long b) { return new ValueTuple<long, long>(a / b, a % b); }
        public static int DivRem(int a, int b, out int rest) { return Math.DivRem(a, b, out rest); }
        public static long DivRem(long a, long b, out long rest) { return Math.DivRem(a, b, out rest); }
        public static void ThrowIfNull(object o, string name = null) {
            if (o == null) throw new ArgumentNullException(name);
        }
        public static bool IsAsciiDigit(char c) { return c >= '0' && c <= '9'; }
        public static bool IsAsciiLetter(char c) { return c < 128 && char.IsLetter(c); }
        public static bool IsAsciiLetterOrDigit(char c) { return c < 128 && char.IsLetterOrDigit(c); }
        public static string Create(IFormatProvider of, string s) { return s; }
        public struct Place {
            public int At; public bool IsEnd;
            public static implicit operator Place(int at) { return new Place { At = at }; }
            public int In(int count) { return IsEnd ? count - At : At; }
        }
        public static Place End(int at) { return new Place { At = at, IsEnd = true }; }
        public static char At(string s, Place at) { return s[at.In(s.Length)]; }
        public static T At<T>(IList<T> s, Place at) { return s[at.In(s.Count)]; }
        public static string Part(string s, Place from, Place to) {
            return s.Substring(from.In(s.Length), to.In(s.Length) - from.In(s.Length));
        }
        public static T[] Part<T>(T[] s, Place from, Place to) {
            int start = from.In(s.Length), count = to.In(s.Length) - start;
            if (count < 0) throw new ArgumentOutOfRangeException();
            var part = new T[count]; Array.Copy(s, start, part, 0, count); return part;
        }
        public static List<T> Part<T>(List<T> s, Place from, Place to) {
            return s.GetRange(from.In(s.Count), to.In(s.Count) - from.In(s.Count));
        }
        public static bool Same<T>(T value, T other) { return EqualityComparer<T>.Default.Equals(value, other); }
        public static bool Bind<T>(T value, out T name) { name = value; return true; }
        public static bool As<T>(object value, out T name) {
            bool has = value is T; name = has ? (T)value : default(T); return has;
        }
        public static R Let<T, R>(T value, Func<T, R> then) { return then(value); }
        public static A Item1<A, B>(KeyValuePair<A, B> p) { return p.Key; }
        public static B Item2<A, B>(KeyValuePair<A, B> p) { return p.Value; }
        public static A Item1<A, B>(ValueTuple<A, B> t) { return t.Item1; }
        public static B Item2<A, B>(ValueTuple<A, B> t) { return t.Item2; }
        public static A Item1<A, B, C>(ValueTuple<A, B, C> t) { return t.Item1; }
        public static B Item2<A, B, C>(ValueTuple<A, B, C> t) { return t.Item2; }
        public static C Item3<A, B, C>(ValueTuple<A, B, C> t) { return t.Item3; }
        public static A Item1<A, B, C, D>(ValueTuple<A, B, C, D> t) { return t.Item1; }
        public static B Item2<A, B, C, D>(ValueTuple<A, B, C, D> t) { return t.Item2; }
        public static C Item3<A, B, C, D>(ValueTuple<A, B, C, D> t) { return t.Item3; }
        public static D Item4<A, B, C, D>(ValueTuple<A, B, C, D> t) { return t.Item4; }
    }
}
namespace System.Collections.Generic {
    public class PriorityQueue<TElement, TPriority> {
        readonly List<KeyValuePair<TPriority, TElement>> heap = new List<KeyValuePair<TPriority, TElement>>();
        readonly IComparer<TPriority> order;
        public PriorityQueue() : this((IComparer<TPriority>)null) { }
        public PriorityQueue(int capacity) : this((IComparer<TPriority>)null) { }
        public PriorityQueue(IComparer<TPriority> comparer) { order = comparer ?? Comparer<TPriority>.Default; }
        public PriorityQueue(int capacity, IComparer<TPriority> comparer) : this(comparer) { }
        public PriorityQueue(IEnumerable<ValueTuple<TElement, TPriority>> items) : this() { EnqueueRange(items); }
        public int Count { get { return heap.Count; } }
        public IComparer<TPriority> Comparer { get { return order; } }
        public void Clear() { heap.Clear(); }
        public void EnqueueRange(IEnumerable<ValueTuple<TElement, TPriority>> items) {
            foreach (var item in items) Enqueue(item.Item1, item.Item2);
        }
        public IEnumerable<ValueTuple<TElement, TPriority>> UnorderedItems {
            get { return heap.Select(pair => new ValueTuple<TElement, TPriority>(pair.Value, pair.Key)); }
        }
        public void Enqueue(TElement element, TPriority priority) {
            var item = new KeyValuePair<TPriority, TElement>(priority, element);
            heap.Add(item);
            int at = heap.Count - 1;
            while (at > 0 && order.Compare(priority, heap[(at - 1) / 2].Key) < 0) {
                heap[at] = heap[(at - 1) / 2]; at = (at - 1) / 2;
            }
            heap[at] = item;
        }
        public TElement Peek() {
            if (heap.Count == 0) throw new InvalidOperationException("Queue empty.");
            return heap[0].Value;
        }
        public TElement Dequeue() {
            var first = Peek();
            var item = heap[heap.Count - 1];
            heap.RemoveAt(heap.Count - 1);
            int at = 0, child = 1;
            while (child < heap.Count) {
                if (child + 1 < heap.Count && order.Compare(heap[child + 1].Key, heap[child].Key) < 0) child++;
                if (order.Compare(item.Key, heap[child].Key) <= 0) break;
                heap[at] = heap[child]; at = child; child = 2 * at + 1;
            }
            if (heap.Count > 0) heap[at] = item;
            return first;
        }
        public TElement EnqueueDequeue(TElement element, TPriority priority) {
            Enqueue(element, priority);
            return Dequeue();
        }
        public bool TryPeek(out TElement element, out TPriority priority) {
            element = heap.Count > 0 ? heap[0].Value : default(TElement);
            priority = heap.Count > 0 ? heap[0].Key : default(TPriority);
            return heap.Count > 0;
        }
        public bool TryDequeue(out TElement element, out TPriority priority) {
            bool found = TryPeek(out element, out priority);
            if (found) Dequeue();
            return found;
        }
    }
}
namespace System.Linq {
    public static class LaterEnumerable {
        public static string[] SplitTrimmed(this string s, char at, StringSplitOptions o) {
            return Trimmed(s.Split(at), o);
        }
        public static string[] SplitTrimmed(this string s, string at, StringSplitOptions o) {
            return Trimmed(s.Split(new[] { at }, StringSplitOptions.None), o);
        }
        public static string[] SplitTrimmed(this string s, char[] at, StringSplitOptions o) {
            return Trimmed(s.Split(at), o);
        }
        static string[] Trimmed(string[] parts, StringSplitOptions o) {
            var all = parts.Select(part => part.Trim());
            return all.Where(part => part != "" || o == StringSplitOptions.None).ToArray();
        }
        public static T MaxBy<T, K>(this IEnumerable<T> s, Func<T, K> key) { return Best(s, key, 1); }
        public static T MinBy<T, K>(this IEnumerable<T> s, Func<T, K> key) { return Best(s, key, -1); }
        static T Best<T, K>(IEnumerable<T> s, Func<T, K> key, int sign) {
            T best = default(T); K most = default(K); bool any = false;
            foreach (var item in s) {
                var k = key(item);
                if (!any || sign * Comparer<K>.Default.Compare(k, most) > 0) { best = item; most = k; }
                any = true;
            }
            if (!any && default(T) != null) throw new InvalidOperationException("Sequence contains no elements");
            return best;
        }
        public static IEnumerable<T[]> Chunk<T>(this IEnumerable<T> s, int size) {
            var part = new List<T>();
            foreach (var item in s) {
                part.Add(item);
                if (part.Count == size) { yield return part.ToArray(); part.Clear(); }
            }
            if (part.Count > 0) yield return part.ToArray();
        }
        public static IEnumerable<T> DistinctBy<T, K>(this IEnumerable<T> s, Func<T, K> key) {
            var seen = new HashSet<K>();
            return s.Where(item => seen.Add(key(item)));
        }
        public static IEnumerable<SandboxGym.Zipped<A, B>> Zip<A, B>(this IEnumerable<A> s, IEnumerable<B> other) {
            return s.Zip(other, (a, b) => new SandboxGym.Zipped<A, B> { First = a, Second = b });
        }
        public static T FirstOrDefault<T>(this IEnumerable<T> s, Func<T, bool> has, T other) {
            foreach (var item in s) if (has(item)) return item;
            return other;
        }
        public static T FirstOrDefault<T>(this IEnumerable<T> s, T other) { return s.FirstOrDefault(_ => true, other); }
        public static IEnumerable<KeyValuePair<K, int>> CountBy<T, K>(this IEnumerable<T> s, Func<T, K> key) {
            return s.GroupBy(key).Select(g => new KeyValuePair<K, int>(g.Key, g.Count()));
        }
        public static IEnumerable<ValueTuple<int, T>> Index<T>(this IEnumerable<T> s) {
            return s.Select((item, at) => new ValueTuple<int, T>(at, item));
        }
        public static IOrderedEnumerable<T> Order<T>(this IEnumerable<T> s) { return s.OrderBy(item => item); }
        public static IOrderedEnumerable<T> OrderDescending<T>(this IEnumerable<T> s) {
            return s.OrderByDescending(item => item);
        }
    }
}
namespace System.Numerics {
    public static class BitOperations {
        public static int PopCount(ulong x) { int n = 0; for (; x != 0; x &= x - 1) n++; return n; }
        public static int TrailingZeroCount(long x) { return TrailingZeroCount((ulong)x); }
        public static int TrailingZeroCount(ulong x) {
            int n = 0;
            while (n < 64 && (x >> n & 1) == 0) n++;
            return n;
        }
        public static int TrailingZeroCount(int x) { return x == 0 ? 32 : TrailingZeroCount((ulong)(uint)x); }
        public static int TrailingZeroCount(uint x) { return x == 0 ? 32 : TrailingZeroCount((ulong)x); }
        public static int LeadingZeroCount(ulong x) {
            int n = 0;
            while (n < 64 && (x >> (63 - n) & 1) == 0) n++;
            return n;
        }
        public static int LeadingZeroCount(uint x) { return LeadingZeroCount((ulong)x) - 32; }
        public static int Log2(ulong x) { return x == 0 ? 0 : 63 - LeadingZeroCount(x); }
        public static bool IsPow2(long x) { return x > 0 && (x & x - 1) == 0; }
    }
}
"""
