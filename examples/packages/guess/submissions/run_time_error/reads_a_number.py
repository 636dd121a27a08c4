print(500, flush=True)
print(int(input()), flush=True)
