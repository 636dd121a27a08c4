"""The library compares, with the packages that were installed for it."""

import sys

sys.path.insert(0, "/opt/sandbox-gym/site")

from math_verify import parse, verify

assert verify(parse(r"\boxed{\frac{1}{2}}"), parse(r"\boxed{0.5}"))
assert not verify(parse(r"\boxed{\frac{1}{2}}"), parse(r"\boxed{0.6}"))
