fun main() {
    val m = HashMap<String, String>()
    var i = 0
    while (true) { m["k$i"] = "v$i".repeat(500); i++ }
}
