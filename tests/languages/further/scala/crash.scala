object Main extends App { println(42); println(Array(1)(3)) }
