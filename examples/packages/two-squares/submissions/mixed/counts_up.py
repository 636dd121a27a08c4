# @EXPECTED_RESULTS@: TIMELIMIT, WRONG-ANSWER
n = int(input())
for a in range(n + 1):
    for b in range(a, n + 1):
        if a * a + b * b == n:
            print(a, b)
            raise SystemExit
print("impossible")
