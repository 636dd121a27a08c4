n = int(input('n? '))
print(sum(map(int, input().split())))
