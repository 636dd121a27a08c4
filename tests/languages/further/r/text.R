con <- file("stdin"); open(con)
s <- readLines(con, n = 1, encoding = "UTF-8")
cat(nchar(s), "\n", paste(rev(strsplit(s, "")[[1]]), collapse = ""), "\n", sep = "")
