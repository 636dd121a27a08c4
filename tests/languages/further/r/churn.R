repeat sort(runif(1000))
