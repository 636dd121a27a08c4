object Main { def main(a: Array[String]) { while (true) { (1 to 1000).map(_ * 7 % 13).sorted } } }
