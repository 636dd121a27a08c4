f <- function(n) 1 + f(n + 1)
cat(f(0))
