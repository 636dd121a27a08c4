"""Inverted tests: variants of a test that must fail where the test passes, so that a pass is known to be able to fail.

Where a test shares its process with the answer nothing in that process can be believed. The same test with an assertion
negated or an expected value changed must fail over the same answer; the answer's code can't tell which of the two it
is running, but by knowing what is right. The idea and its words are mutation testing's (mutmut, cosmic-ray: does the
suite kill the mutant), with the tests mutated in place of the code. Pure; knows no verifier.
"""

from sandbox_gym.verifiers.inversion.doubts import doubted, is_lenient
from sandbox_gym.verifiers.inversion.edits import ByteEdit, Edit, Kind, Variant, byte_edits, edited
from sandbox_gym.verifiers.inversion.frames import Frame, Place, frame_of, said_by
from sandbox_gym.verifiers.inversion.helpers import STRICT
from sandbox_gym.verifiers.inversion.variants import definition, variants_of

__all__ = [
    "SIGNS", "STRICT", "ByteEdit", "Edit", "Frame", "Kind", "Place", "Variant", "byte_edits", "definition", "doubted",
    "edited", "frame_of", "is_lenient", "said_by", "variants_of",
]  # fmt: skip

SIGNS = {
    "inverted_test_survived": "a test that was changed so that it must fail did not fail",
    "inverted_test_ended_otherwise": "a test that was changed so that it must fail ended in another way than it must",
    "inverted_test_disturbed": "a test passed, and failed where others were changed so that they must fail, or"
    " where it doubts objects that equal anything",
}
"""Signs of the inverted run; each costs the reward."""
