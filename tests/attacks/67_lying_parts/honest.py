from fractions import Fraction
from decimal import Decimal
def f(x): return Fraction(1, 3) if x == 1 else Decimal('0.5')
