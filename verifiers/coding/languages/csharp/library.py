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
        public static string Part(string s, int from, int to) { return s.Substring(from, to - from); }
        public static T[] Part<T>(T[] s, int from, int to) {
            if (to < from) throw new ArgumentOutOfRangeException();
            var part = new T[to - from]; Array.Copy(s, from, part, 0, part.Length); return part;
        }
        public static List<T> Part<T>(List<T> s, int from, int to) { return s.GetRange(from, to - from); }
        public static bool Same<T>(T value, T other) { return EqualityComparer<T>.Default.Equals(value, other); }
        public static bool Bind<T>(T value, out T name) { name = value; return true; }
        public static bool As<T>(object value, out T name) {
            bool has = value is T; name = has ? (T)value : default(T); return has;
        }
        public static R Let<T, R>(T value, Func<T, R> then) { return then(value); }
        public static T With<T>(T copy, Action<T> set) { set(copy); return copy; }
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
