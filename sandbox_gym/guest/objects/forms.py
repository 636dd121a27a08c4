"""The wire forms of values in a dialogue, and their bounds. graph_writer.py makes them, graph_reader.py reads them.

A form is null, a boolean, a string or a small integer for itself, else a tagged list:
["i", hex], ["f", hex], ["c", re, im], ["b", base64] numbers and bytes; ["t"|"fs", [forms]] tuple, frozenset;
["r", a, b, c] range; ["v", kind, [forms]] a value of an immutable kind (kinds.py); ["np", dtype, shape, base64] a numpy
scalar; ["@", n] the shared object n; ["h", owner, n] a handle, owner 0 the sender, 1 the receiver; ["k", ...] a class
(classes.py); ["ty", name] a builtin type; ["nt", class, [forms]] a namedtuple; ["e", class, name] an enum's member;
["ov", class, form, fields] an instance of a class derived from an immutable builtin.
"""

MAX_DEPTH = 1000
"""Of nested immutable values; mutable values nest without limit."""
MAX_INTERNED = 4096
"""A longer text comes back as an equal one, not as the same object."""
SCALARS = frozenset(("i", "f", "b", "c"))
IMMUTABLE = frozenset(("t", "fs", "f", "r", "v", "np", "nt", "ov"))
TUPLES = (tuple, frozenset)
MAX_SHARED = 2000
"""Shared objects beyond this are dropped, the least recently used first."""
FIXED = "fixed"
"""The tag of an immutable value that is shared for its identity."""
INSTANCE = ()
"""The tag that this end stores for an instance that the other end made."""
SMALL = 1 << 53
BASES = (list, dict, set, bytearray)
NO_FIELDS = ("__weakref__", "__dict__", "said_there")
FIXED_BASES = (int, float, str, tuple, bytes, frozenset, complex)
