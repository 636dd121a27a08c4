print(pow(2, int(input()) - 1, 10**9 + 7) + 1)
