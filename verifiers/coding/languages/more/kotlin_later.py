r"""What Kotlin's library got after 1.3, the version that Debian has, for the programs that name it: in Kotlin, in the
packages where it is. What is in a program's own file or imported by it goes before."""

import re
from typing import Final

COLLECTIONS: Final = r"""
package kotlin.collections

import java.math.BigDecimal
import java.math.BigInteger

class ArrayDeque<E>(capacity: Int = 16) : AbstractMutableList<E>() {
    private var items = arrayOfNulls<Any?>(maxOf(capacity, 1))
    private var head = 0
    override var size = 0
        private set
    constructor(elements: Collection<E>) : this(elements.size) { addAll(elements) }
    private fun at(index: Int) = (head + index).let { if (it >= items.size) it - items.size else it }
    private fun check(index: Int, end: Int) {
        if (index < 0 || index >= end) throw IndexOutOfBoundsException("index: $index, size: $size")
    }
    private fun grow() {
        if (size < items.size) return
        items = Array(items.size * 2) { if (it < size) items[at(it)] else null }
        head = 0
    }
    @Suppress("UNCHECKED_CAST") private fun item(index: Int) = items[at(index)] as E
    override fun get(index: Int): E { check(index, size); return item(index) }
    override fun set(index: Int, element: E): E { val old = get(index); items[at(index)] = element; return old }
    override fun add(index: Int, element: E) {
        check(index, size + 1)
        grow()
        if (index == 0) { head = if (head == 0) items.size - 1 else head - 1; size++ }
        else { size++; for (i in size - 1 downTo index + 1) items[at(i)] = items[at(i - 1)] }
        items[at(index)] = element
    }
    override fun removeAt(index: Int): E {
        val old = get(index)
        if (index == 0) { items[head] = null; head = at(1) }
        else { for (i in index until size - 1) items[at(i)] = items[at(i + 1)]; items[at(size - 1)] = null }
        size--
        return old
    }
    fun addFirst(element: E) = add(0, element)
    fun addLast(element: E) = add(size, element)
    private fun some(index: Int): Int {
        if (size == 0) throw NoSuchElementException("ArrayDeque is empty.")
        return index
    }
    fun first(): E = get(some(0))
    fun last(): E = get(some(size - 1))
    fun firstOrNull(): E? = if (size == 0) null else get(0)
    fun lastOrNull(): E? = if (size == 0) null else get(size - 1)
    fun removeFirst(): E = removeAt(some(0))
    fun removeLast(): E = removeAt(some(size - 1))
    fun removeFirstOrNull(): E? = if (size == 0) null else removeAt(0)
    fun removeLastOrNull(): E? = if (size == 0) null else removeAt(size - 1)
}
fun <T : Comparable<T>> Iterable<T>.maxOrNull(): T? = max()
fun <T : Comparable<T>> Iterable<T>.minOrNull(): T? = min()
fun <T : Comparable<T>> Array<out T>.maxOrNull(): T? = max()
fun <T : Comparable<T>> Array<out T>.minOrNull(): T? = min()
fun IntArray.maxOrNull(): Int? = max()
fun IntArray.minOrNull(): Int? = min()
fun LongArray.maxOrNull(): Long? = max()
fun LongArray.minOrNull(): Long? = min()
fun DoubleArray.maxOrNull(): Double? = max()
fun DoubleArray.minOrNull(): Double? = min()
inline fun <T, R : Comparable<R>> Iterable<T>.maxByOrNull(selector: (T) -> R): T? = maxBy(selector)
inline fun <T, R : Comparable<R>> Iterable<T>.minByOrNull(selector: (T) -> R): T? = minBy(selector)
inline fun <K, V, R : Comparable<R>> Map<K, V>.maxByOrNull(selector: (Map.Entry<K, V>) -> R) = entries.maxBy(selector)
inline fun <K, V, R : Comparable<R>> Map<K, V>.minByOrNull(selector: (Map.Entry<K, V>) -> R) = entries.minBy(selector)
inline fun <T, R : Comparable<R>> Iterable<T>.maxOf(selector: (T) -> R): R =
    maxOfOrNull(selector) ?: throw NoSuchElementException()
inline fun <T, R : Comparable<R>> Iterable<T>.minOf(selector: (T) -> R): R =
    minOfOrNull(selector) ?: throw NoSuchElementException()
inline fun <T, R : Comparable<R>> Iterable<T>.maxOfOrNull(selector: (T) -> R): R? = map(selector).max()
inline fun <T, R : Comparable<R>> Iterable<T>.minOfOrNull(selector: (T) -> R): R? = map(selector).min()
inline fun <R : Comparable<R>> IntArray.maxOf(selector: (Int) -> R): R = asList().maxOf(selector)
inline fun <R : Comparable<R>> IntArray.minOf(selector: (Int) -> R): R = asList().minOf(selector)
inline fun <T, R : Comparable<R>> Array<out T>.maxOf(selector: (T) -> R): R = asList().maxOf(selector)
inline fun <T, R : Comparable<R>> Array<out T>.minOf(selector: (T) -> R): R = asList().minOf(selector)
@PublishedApi @Suppress("UNCHECKED_CAST") internal fun <R> sumAs(values: List<Any?>, kind: Any): R = when (kind) {
    Int::class -> (values as List<Int>).sum()
    Long::class -> (values as List<Long>).sum()
    Double::class -> (values as List<Double>).sum()
    BigInteger::class -> (values as List<BigInteger>).fold(BigInteger.ZERO) { a, b -> a.add(b) }
    else -> (values as List<BigDecimal>).fold(BigDecimal.ZERO) { a, b -> a.add(b) }
} as R
inline fun <T, reified R : Number> Iterable<T>.sumOf(selector: (T) -> R): R = sumAs(map(selector), R::class)
inline fun <T, reified R : Number> Array<out T>.sumOf(selector: (T) -> R): R = sumAs(map(selector), R::class)
inline fun <reified R : Number> IntArray.sumOf(selector: (Int) -> R): R = sumAs(map(selector), R::class)
inline fun <reified R : Number> LongArray.sumOf(selector: (Long) -> R): R = sumAs(map(selector), R::class)
inline fun <reified R : Number> CharSequence.sumOf(selector: (Char) -> R): R = sumAs(map(selector), R::class)
inline fun <T, R : Any> Iterable<T>.firstNotNullOfOrNull(transform: (T) -> R?): R? {
    for (one in this) { val found = transform(one); if (found != null) return found }
    return null
}
inline fun <T, R : Any> Iterable<T>.firstNotNullOf(transform: (T) -> R?): R =
    firstNotNullOfOrNull(transform) ?: throw NoSuchElementException()
inline fun <T, R> Iterable<T>.runningFold(initial: R, operation: (R, T) -> R): List<R> {
    val found = mutableListOf(initial)
    for (one in this) found.add(operation(found[found.size - 1], one))
    return found
}
inline fun <T, R> Iterable<T>.scan(initial: R, operation: (R, T) -> R): List<R> = runningFold(initial, operation)
inline fun <S, T : S> Iterable<T>.runningReduce(operation: (S, T) -> S): List<S> {
    val found = mutableListOf<S>()
    for (one in this) found.add(if (found.isEmpty()) one else operation(found[found.size - 1], one))
    return found
}
inline fun <S, T : S> Iterable<T>.reduceOrNull(operation: (S, T) -> S): S? = if (none()) null else reduce(operation)
fun <T> MutableList<T>.removeLastOrNull(): T? = if (isEmpty()) null else removeAt(size - 1)
fun <T> MutableList<T>.removeFirstOrNull(): T? = if (isEmpty()) null else removeAt(0)
inline fun <E> buildList(action: MutableList<E>.() -> Unit): List<E> = ArrayList<E>().apply(action)
inline fun <E> buildSet(action: MutableSet<E>.() -> Unit): Set<E> = LinkedHashSet<E>().apply(action)
inline fun <K, V> buildMap(action: MutableMap<K, V>.() -> Unit): Map<K, V> = LinkedHashMap<K, V>().apply(action)
"""
TEXT: Final = r"""
package kotlin.text

fun readln(): String = kotlin.io.readLine() ?: throw RuntimeException("EOF has already been reached")
fun readlnOrNull(): String? = kotlin.io.readLine()
fun String.lowercase(): String = (this as java.lang.String).toLowerCase(java.util.Locale.ROOT)
fun String.uppercase(): String = (this as java.lang.String).toUpperCase(java.util.Locale.ROOT)
fun Char.lowercaseChar(): Char = Character.toLowerCase(this)
fun Char.uppercaseChar(): Char = Character.toUpperCase(this)
fun Char.lowercase(): String = toString().lowercase()
fun Char.uppercase(): String = toString().uppercase()
fun Char.digitToIntOrNull(radix: Int = 10): Int? = Character.digit(this, radix).takeIf { it >= 0 }
fun Char.digitToInt(radix: Int = 10): Int =
    digitToIntOrNull(radix) ?: throw IllegalArgumentException("Char $this is not a digit in the given radix=$radix")
fun Int.digitToChar(radix: Int = 10): Char = Character.toUpperCase(Character.forDigit(this, radix))
val Char.code: Int get() = this.toInt()
fun Char(code: Int): Char = code.toChar()
inline fun String.replaceFirstChar(transform: (Char) -> Any): String =
    if (isEmpty()) this else transform(this[0]).toString() + substring(1)
fun Int.floorDiv(other: Int): Int = Math.floorDiv(this, other)
fun Long.floorDiv(other: Long): Long = Math.floorDiv(this, other)
"""
_MADE: Final = re.compile(r"^(?:inline )?(?:fun|class|val)\b.*?\b(\w+)(?:<E>)?(?:\(|: Int get)", re.MULTILINE)
NAMES: Final = tuple(sorted(set(_MADE.findall(COLLECTIONS + TEXT)) - {"Char"}))
"""What a program that needs it names; every program names `Char`."""
