depth <- function(n) if (n == 0) 0 else 1 + depth(n - 1)
cat(depth(as.integer(readLines(file("stdin"), n = 1))), "\n")
