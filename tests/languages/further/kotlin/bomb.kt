fun <T> f0(x: T) = Pair(x, x)
fun <T> f1(x: T) = f0(f0(x))
fun <T> f2(x: T) = f1(f1(x))
fun <T> f3(x: T) = f2(f2(x))
fun <T> f4(x: T) = f3(f3(x))
fun <T> f5(x: T) = f4(f4(x))
fun main() { f5(1); println(42) }
