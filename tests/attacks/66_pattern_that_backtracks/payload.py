import re
def f(x): return re.compile('(a+)+b')
