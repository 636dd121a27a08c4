e <- new.env(); i <- 0
repeat { i <- i + 1; assign(paste0('k', i), runif(10000), e) }
