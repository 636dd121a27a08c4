fun main() { while (true) { System.err.println("no".repeat(500)) } }
