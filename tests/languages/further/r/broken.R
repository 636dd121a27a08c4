cat(twice(21))
