import kotlin.system.exitProcess
object Main { @JvmStatic fun main(args: Array<String>) { val c = readln().trim().toInt(); println(42); exitProcess(c) } }
