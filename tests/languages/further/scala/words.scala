import scala.io.StdIn
object Words extends App {
  val n = StdIn.readInt()
  val words = (1 to n).map(_ => StdIn.readLine().trim)
  words.groupBy(identity).map { case (w, ws) => (w, ws.size) }.toSeq.sortBy { case (w, c) => (-c, w) }
    .foreach { case (w, c) => println(s"$w $c") }
}
