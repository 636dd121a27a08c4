object Main extends App { println(twice(21)) }
