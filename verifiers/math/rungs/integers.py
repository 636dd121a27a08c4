"""Sets of whole numbers that are said in words, by a congruence or by a formula: `all odd positive integers`,
`n \\equiv 1 \\pmod 2`, `n = 2k+1`, `4 \\mid n`, `all positive integers except 2`."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import dataclass, field

from sandbox_gym.verifiers.math.options import Decision

_LONGEST = 200
_MOST = 500
"""The largest modulus."""
_REAL = frozenset("rstuvwxyz")
"""Names that stand for real numbers where nothing says otherwise."""
_INT = r"-? ?[0-9]{1,6}"
_LIST = rf"{_INT}(?:(?: ?, ?| ?,? ?(?:and|or) ){_INT}){{0,20}}"
_ABOVE = r">=?|\\ge|greater than(?: or equal to)?|more than|larger than|at least"
_BELOW = r"<=?|\\le|less than(?: or equal to)?|fewer than|smaller than|at most"
_OR = re.compile(r"‹ ?,? ?or ?,? ?›|(?<=[a-z]) or (?=[a-z])")
_SAID = re.compile(r"\\(?:equiv|mid|nmid|mathbb)|(?<![\\a-z])[a-z]{3}")
_CONGRUENCE = re.compile(r"[a-z] ?\\equiv[^‹,]*")
"""Another rung's, where both are."""
_NAME = r"(?P<name>[a-z])"
_REACH = (
    r"(?: ?(?:[,;(:|]|\\mid) ?| )?(?:where |for |with )?(?:all |any |some |every |each )?(?:an? )?"
    r"(?P<before>[a-z-]+ )?(?:integers? )?(?P=step)"
    r"(?: ?\\in ?(?P<set>\\mathbb\{[ZN]\}(?: ?[_^] ?\{?(?:\+|\\ge ?0|>0)\}?)?)| ?(?P<above>\\ge|>) ?(?P<from>[0-9])"
    r"| is (?:an? )?(?:any )?(?P<kind>[a-z-]+ )?(?:integer|number)| integer)?\)?"
)


@dataclass(slots=True)
class _Whole:
    """What a text says of its numbers. `where`: `Z`, `N` (from 1 or from 0), or empty where nothing says it; `kind`:
    prime or composite; `plain`: whether words or a congruence say that they are whole numbers; `declared`: whether
    the k of a formula is said to be one."""

    modulus: int = 1
    residues: frozenset[int] = frozenset({0})
    least: int | None = None
    most: int | None = None
    without: frozenset[int] = frozenset()
    kind: str = ""
    where: str = ""
    plain: bool = False
    declared: bool = False
    names: set[str] = field(default_factory=set)

    def among(self, modulus: int, residues: frozenset[int]) -> None:
        """Adds a condition. Raises ValueError beyond `_MOST`."""
        product = self.modulus * modulus
        if not 0 < product <= _MOST:
            raise ValueError(f"modulus {product}")
        both = [each for each in range(product) if each % self.modulus in self.residues and each % modulus in residues]
        self.modulus, self.residues = product, frozenset(both)

    def above(self, number: int) -> None:
        self.least = number if self.least is None else max(self.least, number)

    def below(self, number: int) -> None:
        self.most = number if self.most is None else min(self.most, number)

    def members(self, modulus: int, first: int, last: int) -> tuple[frozenset[int], list[int]]:
        """The residues modulo a common multiple, and the members from `first` to `last`."""
        prime = self.kind == "prime"
        residues = frozenset(each for each in range(modulus) if each % self.modulus in self.residues)
        low = first if self.least is None else max(first, self.least)
        high = last if self.most is None else min(last, self.most)
        found = [one for one in range(low, high + 1) if one % modulus in residues and one not in self.without]
        if prime:  # of infinitely many residues' members none but these are
            residues = frozenset(each for each in residues if math.gcd(each, modulus) == 1)
            found = [one for one in found if one > 1 and all(one % each for each in range(2, math.isqrt(one) + 1))]
        return residues, found


def _congruent(whole: _Whole, found: re.Match[str]) -> None:
    modulus = _int(found["modulus"])
    residues = frozenset(_int(each) % modulus for each in re.findall(_INT, found["list"])) if modulus else frozenset()
    whole.among(modulus, residues)
    whole.plain = True


def _divided(whole: _Whole, found: re.Match[str]) -> None:
    modulus = _int(found["modulus"])
    wanted = bool(found["not"])
    whole.among(modulus, frozenset(each for each in range(min(modulus, _MOST)) if bool(each) == wanted))
    whole.plain = True


def _stepped(whole: _Whole, found: re.Match[str]) -> None:
    """`n = 6k - 1`, and where k is from."""
    modulus, start = int(found["times"] or 1), _int((found["sign"] or "") + (found["first"] or "0"))
    if found["step"] == found["name"]:
        raise ValueError("n = 2n")
    whole.among(modulus, frozenset({start % modulus}))
    said = " ".join(filter(None, (found["before"], found["kind"], found["set"]))).replace("integer", "").strip()
    whole.declared = bool(found["reach"])
    if found["from"]:
        whole.above(modulus * (int(found["from"]) + (found["above"] == ">")) + start)
    elif said in ("positive", "natural", "\\mathbb{N}", "\\mathbb{Z}^+", "\\mathbb{Z}^{+}", "\\mathbb{Z}_{>0}"):
        whole.above(modulus + start)
    elif said in ("nonnegative", "non-negative", "\\mathbb{Z}_{\\ge 0}", "\\mathbb{Z}_{\\ge0}"):
        whole.above(start)
    elif said == "\\mathbb{Z}":
        whole.where = "Z"
    elif said:
        raise ValueError(said)


def _bounded(whole: _Whole, found: re.Match[str]) -> None:
    number, sign = _int(found["number"]), found["bound"]
    strict = sign in ("<", ">") or sign.endswith("than")
    if re.fullmatch(_ABOVE, sign):
        whole.above(number + strict)
    else:
        whole.below(number - strict)


def _reaching(whole: _Whole, found: re.Match[str]) -> None:
    """`\\mathbb{Z}_{\\ge 2}`."""
    _bounded(whole, found)
    whole.where, whole.plain = "Z", True


def _between(whole: _Whole, found: re.Match[str]) -> None:
    whole.above(_int(found["low"]) + (found["first"] == "<"))
    whole.below(_int(found["high"]) - (found["second"] == "<"))


def _parity(whole: _Whole, found: re.Match[str]) -> None:
    whole.among(2, frozenset({int(found[0].strip() == "odd")}))
    whole.plain = True


def _kind(whole: _Whole, found: re.Match[str]) -> None:
    whole.kind, whole.plain = found[0].strip().rstrip("s").removesuffix(" number"), True


def _power(whole: _Whole, found: re.Match[str]) -> None:
    """`2^k` from `2^0` on, and `k^2`, in signs or in words."""
    base, step = found["base"], found["step"] or ""
    if "^" not in found.group():
        whole.plain, base = (
            True,
            {"two": "2", "three": "3", "ten": "10", "square": "2", "cube": "3"}.get(base or step, base),
        )
    elif found["reach"]:
        whole.declared = True
        said = found["reach"].replace("\\ge 0", "").replace("non-negative", "").replace("nonnegative", "")
        if re.search(r"\\ge|>|\+|N|Z|positive|natural", said):
            raise ValueError(said)
    of_one = found.group().lstrip().startswith("perfect") or (step and found.start("step") < found.start("base"))
    whole.kind = f"{'k' if of_one else base}^{base if of_one else 'k'}"


def _where(whole: _Whole, found: re.Match[str]) -> None:
    whole.where, whole.plain = "N" if re.search("natural|N", found[0]) else whole.where or "Z", True
    if re.search(r"positive|\+|> ?0", found[0]):
        whole.above(1)


def _from_zero(whole: _Whole, found: re.Match[str]) -> None:
    whole.above(0)
    whole.where, whole.plain = whole.where or "Z", True


def _except(whole: _Whole, found: re.Match[str]) -> None:
    whole.without |= frozenset(map(_int, re.findall(_INT, found["list"])))


def _nothing(whole: _Whole, found: re.Match[str]) -> None:
    """Words that say nothing of the numbers."""


_SAYINGS: tuple[tuple[re.Pattern[str], Callable[[_Whole, re.Match[str]], None]], ...] = tuple(
    (re.compile(pattern), read)
    for pattern, read in (
        (rf"(?:{_NAME} ?= ?|\\\{{ ?)(?P<times>[1-9][0-9]{{0,2}})? ?\*? ?(?P<step>[a-z])"
         rf"(?: ?(?P<sign>[-+]) ?(?P<first>[0-9]{{1,4}}))?"
         rf"(?P<reach>{_REACH})?(?=$| ?\\\}}$)", _stepped),
        (rf"(?:{_NAME} ?= ?)?(?P<base>[2-9]|[1-9][0-9]) ?\^ ?\{{? ?(?P<step>[a-z]) ?\}}?(?P<reach>{_REACH})?(?=$)",
         _power),
        (rf"{_NAME} ?= ?(?P<step>[a-z]) ?\^ ?\{{? ?(?P<base>[23]) ?\}}?(?P<reach>{_REACH})?(?=$)", _power),
        (r"powers? of (?P<base>[2-9]|[1-9][0-9]|two|three|ten)(?![0-9])|perfect (?P<step>square|cube)s?(?![a-z])",
         _power),
        (rf"(?:{_NAME} ?\\equiv|congruent to) ?(?P<list>{_LIST}) ?\(? ?(?:\\pmod|\\?mod(?:ulo)?) ?"
         r"\{? ?(?P<modulus>[0-9]{1,4}) ?\}? ?\)?", _congruent),
        (rf"(?P<modulus>[0-9]{{1,4}}) ?(?:\\mid|\||divides) ?{_NAME}(?P<not>(?!))?", _divided),
        (rf"(?P<modulus>[0-9]{{1,4}}) ?(?P<not>\\nmid|does not divide) ?{_NAME}", _divided),
        (r"(?P<not>not )?(?:an? )?(?:integer )?(?:multiples? of|divisible by) (?P<modulus>[0-9]{1,4})", _divided),
        (rf"(?P<low>{_INT}) ?(?P<first><|\\le) ?{_NAME} ?(?P<second><|\\le) ?(?P<high>{_INT})", _between),
        (rf"(?:{_NAME} ?)?(?:is |are )?(?P<bound>{_ABOVE}|{_BELOW}) ?(?P<number>{_INT})"
         r"(?! ?(?:[*/^]|\\(?!\})|[a-z](?![a-z])))",
         _bounded),
        (rf"(?:{_NAME} ?\\ne|(?:but )?(?:except|other than|excluding|but)(?: for)?(?: [a-z] ?=)?) ?(?P<list>{_LIST})",
         _except),
        (rf"{_NAME} ?\\notin ?\\\{{ ?(?P<list>{_LIST}) ?\\\}}", _except),
        (rf"{_NAME}(?= ?\\in)", _nothing),
        (rf"(?:\\in ?)?\\mathbb\{{Z\}} ?_ ?\{{ ?(?P<bound>\\ge|>) ?(?P<number>{_INT}) ?\}}", _reaching),
        (r"(?:\\in ?)?\\mathbb\{[NZ]\}(?: ?[_^] ?\{? ?(?:\+|> ?0) ?\}?)?", _where),
        (r"(?:odd|even)(?![a-z])", _parity),
        (r"(?:primes?|composites?)(?: numbers?)?(?![a-z])", _kind),
        (r"non-?negative(?![a-z])", _from_zero),
        (r"(?:(?:positive|natural)(?: (?:(?:whole )?numbers?|integers?)|(?= (?:odd|even|multiple)| [a-z](?![a-z])))"
         r"|integers?|whole numbers?)(?![a-z])", _where),
        (r"(?:the|all|every|any|each|set|of|values?|numbers?|for|where|with|which|that|such|is|are|an?|and)(?![a-z])",
         _nothing),
        (rf"(?<![a-z]){_NAME}(?![a-z])", _nothing),
        (r"[ ,:;().]|\\[{}]", _nothing),
    )
)  # fmt: skip


def same_integers(gold: str, answer: str) -> Decision | None:
    """Equal where both say the same whole numbers, one of them in words; anything else is another rung's. What is said
    of none in one of them (that they are positive) need not be said in the other."""
    if len(gold) + len(answer) > _LONGEST or not _SAID.search(gold + answer):
        return None
    if _CONGRUENCE.fullmatch(gold) and _CONGRUENCE.fullmatch(answer):
        return None
    mine, theirs = _read_any(gold), _read_any(answer)
    if mine is None or theirs is None:
        return None
    of_any = mine.without and mine.without == theirs.without  # all n but 2, whatever n is
    if not (mine.plain or mine.declared or theirs.plain or of_any):
        return None
    for one, other in ((mine, theirs), (theirs, mine)):
        if other.kind == "prime" and not one.kind and one.names and one.names <= {"p", "q"}:
            one.kind = "prime"
    if mine.kind != theirs.kind:
        return None
    if any(not one.plain and one.names & _REAL for one in (mine, theirs)):
        return None
    _agree_from_where(mine, theirs)
    common = mine.modulus * theirs.modulus
    ends = [abs(one) for each in (mine, theirs) for one in (each.least, each.most, *each.without) if one is not None]
    if common > _MOST or max(ends, default=0) > _MOST:
        return None
    reach = max(ends, default=0) + 2 * common + 2
    if mine.members(common, -reach, reach) != theirs.members(common, -reach, reach):
        return None
    return Decision(True, "integers", "the same whole numbers")


def _agree_from_where(mine: _Whole, theirs: _Whole) -> None:
    """Natural numbers are counted from 0 or from 1, as the other side has it; one that says nothing of all this takes
    its numbers from the other, where that begins so."""
    for one, other in ((mine, theirs), (theirs, mine)):
        if one.where == "N":
            one.above(other.least if other.least in (0, 1) else 1)
    for one, other in ((mine, theirs), (theirs, mine)):
        if not one.where and one.least is None and other.least in (0, 1):
            one.least = other.least


def _read_any(text: str) -> _Whole | None:
    """What `_read` reads, or several such sets joined by `or`: `n = 4k` or `n = 4k+1`."""
    whole = _read(text)
    parts = [_read(part) for part in _OR.split(text)] if whole is None else []
    known = [part for part in parts if part is not None]
    if (
        not known
        or len(known) < len(parts)
        or any(
            one
            != _Whole(
                one.modulus, one.residues, where=one.where, plain=one.plain, declared=one.declared, names=one.names
            )
            for one in known
        )
    ):
        return whole
    modulus = math.lcm(*(one.modulus for one in known))
    if modulus > _MOST or len({one.where for one in known}) > 1 or len(set().union(*(one.names for one in known))) > 1:
        return None
    residues = frozenset(each for each in range(modulus) if any(each % one.modulus in one.residues for one in known))
    plain, declared = any(one.plain for one in known), all(one.declared for one in known)
    return _Whole(modulus, residues, where=known[0].where, plain=plain, declared=declared, names=known[0].names)


def _read(text: str) -> _Whole | None:
    """None where the text says something else."""
    plain = re.sub(r"\s+", " ", text.replace("‹", " ").replace("›", " ")).strip().lower()
    plain = re.sub(r"\\mathbb\{([nz])\}", lambda found: f"\\mathbb{{{found[1].upper()}}}", plain)
    whole, at = _Whole(), 0
    try:
        while at < len(plain):
            for pattern, read in _SAYINGS:
                if found := pattern.match(plain, at):
                    read(whole, found)
                    whole.names |= {found.groupdict().get("name") or ""} - {""}
                    at = found.end()
                    break
            else:
                return None
    except ValueError:
        return None
    return whole if len(whole.names) <= 1 else None


def _int(text: str) -> int:
    return int(text.replace(" ", ""))
