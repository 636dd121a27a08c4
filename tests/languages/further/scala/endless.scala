object Main { def f(n: Int): Int = 1 + f(n + 1)
 def main(a: Array[String]) { println(f(0)) } }
