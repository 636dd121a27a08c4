object Main { def main(args: Array[String]) { val c = readInt; println(42); sys.exit(c) }
  def readInt: Int = scala.io.StdIn.readInt() }
