def f():
    got = 0
    while True: got = yield got
