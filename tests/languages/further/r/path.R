d <- as.matrix(read.table(file("stdin"), skip = 1))
cat(sprintf("%.6f\n", sum(sqrt(rowSums(diff(d)^2)))))
