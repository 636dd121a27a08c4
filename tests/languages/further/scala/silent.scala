object Main extends App { scala.io.StdIn.readLine() }
