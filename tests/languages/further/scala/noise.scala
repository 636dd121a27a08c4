object Main { def main(a: Array[String]) { while (true) Console.err.println("no" * 500) } }
