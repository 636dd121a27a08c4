input <- scan(file("stdin"), quiet = TRUE)
a <- input[-1]
cat(sprintf("%.0f %d %d\n", sum(a), max(a), length(unique(a))))
