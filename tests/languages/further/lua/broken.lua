print(twice(io.read()))
