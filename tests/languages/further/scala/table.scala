object Main {
  def main(a: Array[String]) {
    var m = Map[String, String]()
    var i = 0
    while (true) { m += (i.toString -> i.toString * 500); i += 1 }
  }
}
