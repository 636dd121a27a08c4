fun main() {
    val n = readLine()!!.trim().toInt()
    val count = sortedMapOf<String, Int>()
    repeat(n) { count.merge(readln().trim(), 1, Int::plus) }
    count.entries.sortedByDescending { it.value }.forEach { (w, c) -> println("$w $c") }
}
