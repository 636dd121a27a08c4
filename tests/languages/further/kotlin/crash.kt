fun main() { println(42); println(listOf(1)[3]) }
