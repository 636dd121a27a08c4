fun f(n: Int): Int = 1 + f(n + 1)
fun main() { println(f(0)) }
