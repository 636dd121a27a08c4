def f(x): return [2 * one for one in x]
