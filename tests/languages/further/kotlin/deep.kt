fun depth(n: Int): Int = if (n == 0) 0 else 1 + depth(n - 1)
fun main() = println(depth(readln().trim().toInt()))
