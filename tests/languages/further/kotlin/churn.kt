fun main() { while (true) { (1..1000).map { it * 7 % 13 }.sorted() } }
