func f(_ n: Int) -> Int { let a = [n, 1]; return f(n + 1) + a[n % 2] }
print(f(0))
