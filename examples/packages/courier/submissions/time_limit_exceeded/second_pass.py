order, what = input().split()
print("b")
while order == "receive":
    pass
