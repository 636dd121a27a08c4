io.read()
