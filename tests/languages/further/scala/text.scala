object Main extends App {
  val s = scala.io.StdIn.readLine()
  println(s.codePointCount(0, s.length)); println(new StringBuilder(s).reverse)
}
