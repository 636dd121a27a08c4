fun main() { readLine() }
