fun main() { println(twice(21)) }
