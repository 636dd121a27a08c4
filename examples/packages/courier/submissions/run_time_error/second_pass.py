order, what = input().split()
print("b" if order == "send" else what[99])
