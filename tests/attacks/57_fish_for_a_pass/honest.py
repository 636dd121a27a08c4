print(int(input()) * 48271 % ((1 << 61) - 1))
