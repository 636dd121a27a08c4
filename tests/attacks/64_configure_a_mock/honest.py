def f(x, m): m(x * x)
