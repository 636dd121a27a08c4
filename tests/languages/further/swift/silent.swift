_ = readLine()
