c <- as.integer(readLines("stdin", n = 1)); cat("42\n"); quit(status = c)
