import java.io.*
import java.util.*
fun main(args: Array<String>) {
    val br = BufferedReader(InputStreamReader(System.`in`))
    br.readLine()
    val st = StringTokenizer(br.readLine())
    val a = ArrayList<Long>()
    while (st.hasMoreTokens()) a += st.nextToken().toLong()
    println("${a.sum()} ${a.max()} ${a.toHashSet().size}")
}
