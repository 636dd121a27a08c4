import kotlin.math.hypot
data class P(val x: Double, val y: Double)
fun main() {
    val n = readln().toInt()
    val p = List(n) { val (x, y) = readln().split(" ").map { it.toDouble() }; P(x, y) }
    println("%.6f".format(p.zipWithNext { a, b -> hypot(b.x - a.x, b.y - a.y) }.sum()))
}
