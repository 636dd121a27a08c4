"""What a test may ask of an answer's objects, so that no answer decides its own verdict. Lives on the test's end alone.

An object that only the answer's end can hold is never asked whether it equals something, what it hashes to, whether it
is true, or which class it is of. What else it is asked depends on how the test came by it (`rank`): the row's text says
which of the answer's names are classes and whether the test uses results as objects.

CONSTRUCTED: the test called one of the row's classes. Methods, operators and comparisons are the row's own questions.
OPERATED: what an operator, an iteration or a method of one of those gave, itself again included. Where the test expects
a number of its own there (`abs(a @ b - 3.0) < 0.01`), the object would learn which: that wants one process.
RESULT: what a function gave. Its attributes are asked for where the row uses objects at all.
DERIVED: what an attribute or a method gave: under the name of a value's method (`startswith`, `get`) nothing is asked,
for there the test expects a value of its own, and would tell the object which one.
"""

from . import class_making, proxies
from .kinds import CannotCross
from .remote import Facts, facts_of

CONSTRUCTED, OPERATED, RESULT, DERIVED = 3, 2, 1, 0
_ARRAY = "all any argmax argmin astype cumsum dot fill flatten item max mean min nonzero prod ravel repeat"
_ANY = (object, BaseException, Exception)
_STEPS = ("next", "send", "throw", "anext", "close", "iter")
_TELLING = frozenset("sub rsub lt le gt ge contains".split())
"""Of what an object gave, a test asks these where it expects a number of its own."""
_VALUE_TYPES = (
    str, bytes, bytearray, int, float, complex, list, tuple, dict, set, frozenset, range, memoryview, slice,
)  # fmt: skip


def _value_names():
    import collections
    import datetime
    import decimal
    import fractions

    kinds = _VALUE_TYPES + (
        collections.deque, collections.Counter, collections.OrderedDict, collections.defaultdict, fractions.Fraction,
        decimal.Decimal, datetime.date, datetime.time, datetime.datetime, datetime.timedelta,
    )  # fmt: skip
    names = set((_ARRAY + " reshape round sort squeeze std sum tobytes tolist trace transpose var").split())
    for kind in kinds:
        names.update(name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name)))
    return names


class NeedsOneProcess(BaseException):
    """The test asks what can't be answered apart."""


class Asking:
    """One dialogue's. `row`: "classes", which of the answer's names are classes; "attributes", groups of names, each
    that the test reads of one thing of the answer's; "of_results", those that it reads of what methods gave;
    "operates", whether its operators have instances as operands; "words", every name in it, for which exceptions it
    knows."""

    def __init__(self, row):
        self._classes, self._words = frozenset(row["classes"]), frozenset(row["words"])
        self._operates, self._of_results = row["operates"], frozenset(row["of_results"])
        attributes = row["attributes"]
        self._values = None
        groups = [group for group in attributes if any(name not in self.value_names for name in group)]
        self._objects = bool(self._classes) or bool(groups)
        self._methods = frozenset(name for group in groups for name in group)
        self.needs = ""
        self.errors, self.failures = [], []
        self.asked = 0

    @property
    def value_names(self):
        if self._values is None:
            self._values = _value_names()
        return self._values

    def names(self, error):
        """Whether the test names the exception's class, or one that it derives from."""
        return any(cls.__name__ in self._words for cls in type(error).__mro__ if cls not in _ANY)

    def need(self, why, whose="row"):
        """Says why the test wants one process, and ends it. `whose`: the row's doing, or only this answer's."""
        self.needs = self.needs or "%s: %s" % (whose, why)
        raise NeedsOneProcess(why)

    def rank_of_class(self, name):
        return CONSTRUCTED if name in self._classes else RESULT

    # -- objects

    def attribute(self, facts, name):
        """Whether the attribute is limited to giving objects. Raises AttributeError for what is not asked for."""
        whose = facts.name or getattr(facts.cls, "__name__", "object")
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError("%s has no attribute %r here" % (whose, name))
        own = facts.rank >= OPERATED or getattr(facts.cls, "__name__", "") in self._classes
        limited = facts.rank < RESULT or (facts.rank == OPERATED and name in self._of_results)
        if self._objects and own and limited and name in self.value_names and whose != "Solution":
            return True
        if facts.rank >= OPERATED and not limited:
            return False
        of_class = facts.told.get("kind") == "class" and facts.name in self._classes
        if of_class and (name not in self.value_names or name in self._methods):
            return False
        asks = name in self._methods if facts.rank >= RESULT else False
        if self._objects and (asks or name not in self.value_names):
            return False
        raise AttributeError("%s: %r is not asked of what the answer returned" % (whose, name))

    def compares(self, facts, other, operator):
        """Whether an operator may be asked with this operand."""
        if isinstance(other, proxies.RemoteObject):
            return self._objects
        if facts.rank < OPERATED or not self._operates:
            return False
        if facts.rank == OPERATED and operator in _TELLING:
            self.need("the test compares what an object of the answer's class %s gave" % _class_name(facts))
        return True

    def takes_for_value(self, facts):
        """Whether the row uses no objects, so that whatever a function gave is a value to it."""
        return not self._objects and facts.rank < OPERATED

    def copied(self):
        """Says that the test copies an object of the answer's, where the row uses objects."""
        if self._objects:
            self.need("the test copies an object of the answer's")

    def equal(self, mine, other):
        if mine is other:
            return True
        if not isinstance(other, proxies.RemoteObject):
            return NotImplemented
        facts, others = facts_of(mine), facts_of(other)
        decides = _defines(facts, "__eq__") or _defines(others, "__eq__")
        if decides and (self._objects or max(facts.rank, others.rank) >= OPERATED):
            whose = "row" if max(facts.rank, others.rank) >= OPERATED else "answer"
            self.need("the test compares objects of the answer's class %s" % _class_name(facts), whose)
        return False

    def hashed(self, remote):
        facts = facts_of(remote)
        if facts.rank >= OPERATED and (_defines(facts, "__hash__") or _defines(facts, "__eq__")):
            self.need("the test hashes objects of the answer's class %s" % _class_name(facts))
        return object.__hash__(remote)

    def true(self, remote):
        facts = facts_of(remote)
        if facts.rank >= OPERATED and (_defines(facts, "__bool__") or _defines(facts, "__len__")):
            self.need("the test asks whether an object of the answer's class %s is true" % _class_name(facts))
        return True

    def class_of(self, cls, default):
        """What __class__ says: a class of the row's own, or the stand-in's."""
        return getattr(cls, "near", None) or default

    def may_suppress(self, error, used):
        """Whether an answer's context manager may end an exception of the body's: not one that the answer raised
        itself, nor one that says that the test failed. `used`: whether the body used what the answer gave, which may
        be what failed; then the test must name the exception."""
        if isinstance(error, (AssertionError, AttributeError, TypeError)) or (used and not self.names(error)):
            return False
        return isinstance(error, Exception) and not any(one is error for one in self.errors)

    def raised(self, error, request):
        """What the test sees of an exception that the answer raised. What ends a loop ends one only where the loop
        asked for the next; elsewhere it would end one of the test's own, and with it its assertions."""
        self.errors = [*self.errors[-999:], error]
        self.failures = [one for one in self.failures if one is not error]
        ends = isinstance(error, (StopIteration, StopAsyncIteration)) and request.get("do") not in _STEPS
        if ends and not self.names(error):
            return RuntimeError("the answer raised %s" % type(error).__name__)
        return error

    def failed_inside(self, error):
        """A function of the test's, called by the answer, raised this: a failed assertion must come back from there."""
        module = type(error).__module__.partition(".")[0]
        if (isinstance(error, AssertionError) or module in ("_pytest", "unittest")) and not self.names(error):
            self.failures = [*self.failures[-999:], error]

    # -- classes

    def made_class(self, view, told, reader):
        """What stands here for a class of the answer's: a class of names and fields, or a RemoteClass."""
        exports, number, what = view.exports, told["n"], told["what"]
        if what == "plain":
            facts = Facts(exports, number, told, None)
            bases = view.bases(told, reader)
            above = {number}.union(*(base.above for base in bases if isinstance(base, proxies.RemoteClass)))
            made = proxies.RemoteClass(facts, above)
            made.__dict__["near"] = view.shared.get(told.get("near"))
            return made
        special = class_making.special_class(told, reader)
        if what == "enum":
            self._give_methods(special, exports, told)
            return special
        body = {"__module__": "solution"}
        if what == "exception":
            body.update(__slots__=("said_there",), __str__=class_making.said_there)
        bases = [special] if special is not None else view.bases(told, reader)
        if what == "exception":
            bases = [base for base in bases if isinstance(base, type) and issubclass(base, BaseException)]
        if not bases:
            raise CannotCross("malformed class")
        made = self._made_there(exports, number, told["name"])(told["name"], tuple(_least(bases)), body)
        self._give_methods(made, exports, told)
        return made

    def _made_there(self, exports, number, named):
        """The metaclass of a class whose instances are made where the class is, and cross by their fields."""
        made = []

        def construct(cls, *args, **kwargs):
            return exports.do(number, "call", args, kwargs, rank=self.rank_of_class(named))

        def derive(meta, name, bases, body, **options):
            if made:
                self.need("the test derives %s from a class of the answer's" % name)
            made.append(name)
            return type.__new__(meta, name, bases, body)

        return type("type", (type,), {"__call__": construct, "__new__": derive})

    def _give_methods(self, cls, exports, told):
        """Methods and properties that run where the class is, under names that no value has."""
        if not self._objects:
            return
        own = told["name"] in self._classes
        for name in (*told["methods"], *told["properties"]):
            hidden = name.startswith("_") or hasattr(cls, name) or (name in self.value_names and not own)
            if hidden:
                continue
            call = class_making.forwarder(exports.method, told["n"], name)
            setattr(cls, name, call if name in told["methods"] else property(call))

    def check_fields(self, cls, fields):
        """Raises CannotCross for fields that would stand in the way of what a class or a value does."""
        for name, value in fields.items():
            if not callable(value):
                continue
            if name in self.value_names or callable(getattr(cls, name, None)) or name.startswith("__"):
                raise CannotCross("a field %r that stands for a method" % name)


def _least(bases):
    """Without those that others of them derive from."""
    return [base for base in bases if not any(other is not base and issubclass(other, base) for other in bases)][:1]


def _defines(facts, name):
    cls = facts.cls
    return isinstance(cls, proxies.RemoteClass) and name in facts_of(cls).told["custom"]


def _class_name(facts):
    return getattr(facts.cls, "__name__", "object")
