"""The forms of values on the wire of a dialogue, and its bounds. The writer makes them, the reader reads them.

A form is null, a boolean, a string or a small integer for itself, else a tagged list:
["i", hex], ["f", hex], ["c", re, im], ["b", base64] numbers and bytes; ["t"|"fs", [forms]] tuple, frozenset;
["r", a, b, c] range; ["v", kind, [forms]] a value of an immutable kind (kinds.py); ["np", dtype, shape, base64] a numpy
scalar; ["@", n] the shared object n; ["h", owner, n] a handle, owner 0 the sender, 1 the receiver; ["k", ...] a class
(classes.py); ["ty", name] a builtin type; ["nt", class, [forms]] a namedtuple; ["e", class, name] an enum's member;
["ov", class, form, fields] an instance of a class derived from an immutable builtin.
"""

MAX_DEPTH = 1000
"""Of immutable values within each other; mutable ones nest without limit."""
MAX_ONCE = 4096
"""Longer texts come back as equal ones, not as the same."""
SCALARS = frozenset(("i", "f", "b", "c"))
IMMUTABLE = frozenset(("t", "fs", "f", "r", "v", "np", "nt", "ov"))
TUPLES = (tuple, frozenset)
MAX_SHARED = 2000
"""Shared objects beyond this are forgotten, the longest unused first."""
FIXED = "fixed"
"""The tag of an immutable value that is shared for its identity."""
INSTANCE = ()
"""What is kept as the tag of an instance that the other end made."""
SMALL = 1 << 53
BASES = (list, dict, set, bytearray)
NO_FIELDS = ("__weakref__", "__dict__", "said_there")
FIXED_BASES = (int, float, str, tuple, bytes, frozenset, complex)
