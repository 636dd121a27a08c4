print(twice(21))
