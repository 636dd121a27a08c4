def solve(n):
    raise ValueError("\ud800\udfff\x00\u2028\x1b[2J\u202e" + "\udcff" * 100)
