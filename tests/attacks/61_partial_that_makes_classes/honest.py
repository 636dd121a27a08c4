def f(): return 4
