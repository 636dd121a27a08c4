import java.io._
import java.util.StringTokenizer
object Main {
  def main(args: Array[String]): Unit = {
    val in = new BufferedReader(new InputStreamReader(System.in))
    val n = in.readLine().trim.toInt
    val st = new StringTokenizer(in.readLine())
    val a = Array.fill(n)(st.nextToken().toLong)
    println(s"${a.sum} ${a.max} ${a.toSet.size}")
  }
}
