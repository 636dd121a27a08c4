order, what = input().split()
if order == "send":
    print(format(int(what), "b").replace("0", "a").replace("1", "b"))
else:
    print(int(what[::-1].replace("a", "0").replace("b", "1"), 2))
