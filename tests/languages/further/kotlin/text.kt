fun main() { val s = readln(); println(s.codePointCount(0, s.length)); println(s.reversed().let { StringBuilder(s).reverse() }) }
