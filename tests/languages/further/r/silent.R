invisible(readLines(file('stdin'), 1))
