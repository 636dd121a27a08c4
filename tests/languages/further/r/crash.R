cat(42, '\n'); x <- list(1)[[3]]
