import scala.io.Source
object Main {
  def main(args: Array[String]): Unit = {
    val lines = Source.stdin.getLines()
    val n = lines.next().toInt
    val p = lines.take(n).map(_.split(" ").map(_.toDouble)).toVector
    println(f"${p.zip(p.tail).map { case (a, b) => math.hypot(b(0) - a(0), b(1) - a(1)) }.sum}%.6f")
  }
}
