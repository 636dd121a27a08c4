"""Which operations a test may send to an answer's objects, so that no answer decides its own verdict.

Runs on the test's end alone.

An object that stays on the answer's end is never asked for equality, hash, truth or class. Which other operations are
sent depends on how the test got the object (its rank). The row's text says which of the answer's names are classes and
whether the test uses results as objects.

CONSTRUCTED: the test called one of the row's classes. All methods, operators and comparisons are sent.
OPERATED: the result of an operator, an iteration or a method of a constructed object, the object itself included. Where
the test compares it with a number of its own (`abs(a @ b - 3.0) < 0.01`), the object would learn the expected number:
such a test needs one process.
RESULT: the result of a function. Its attributes are requested where the row uses objects at all.
DERIVED: the value of an attribute or a method. Names of methods of values (`startswith`, `get`) are not requested: the
test expects a value there, and the request would tell the object which one.
"""

from . import class_making, proxies
from .kinds import CannotCross
from .remote import Facts, facts_of

CONSTRUCTED, OPERATED, RESULT, DERIVED = 3, 2, 1, 0
_ARRAY = (
    "all any argmax argmin astype cumsum dot fill flatten item max mean min nonzero prod ravel repeat reshape round"
    " squeeze std sum trace transpose var"
)
_ARRAY_NAMES = frozenset(_ARRAY.split())
"""Methods of arrays that no builtin value has."""
_ANY = (object, BaseException, Exception)
_STEPS = ("next", "send", "throw", "anext", "close", "iter")
_REVEALING = frozenset("sub rsub isub lt le gt ge contains".split())
"""On an OPERATED object a test uses these where it expects a number of its own."""
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
    names = {"sort", "tobytes", "tolist", *_ARRAY_NAMES}
    for kind in kinds:
        names.update(name for name in dir(kind) if not name.startswith("_") and callable(getattr(kind, name)))
    return names


class NeedsOneProcess(BaseException):
    """The test needs to run in one process with the answer."""


class Asking:
    """The rules of one dialogue. `row`: "classes", which of the answer's names are classes; "attributes", groups of
    names that the test reads of one object of the answer; "of_results", the names that it reads of results of methods;
    "of_classes", those that it reads of classes by their names; "operates", whether its operators have instances as
    operands; "vacuous", whether it may hold for a value without items; "words", every name in it, to know which
    exceptions it names; "suspected", what it does that one process may show otherwise."""

    def __init__(self, row):
        self._classes, self._words = frozenset(row["classes"]), frozenset(row["words"])
        self.knows_half = not self._words.isdisjoint(("float16", "half", "dtype", "finfo"))
        self._operates, self._of_results = row["operates"], frozenset(row["of_results"])
        self._of_classes = frozenset(row.get("of_classes", ()))
        attributes = row["attributes"]
        self._values, self._vacuous = None, row.get("vacuous", False)
        groups = [group for group in attributes if any(name not in self.value_names for name in group)]
        self._objects = bool(self._classes) or bool(groups)
        self._methods = frozenset(name for group in groups for name in group)
        self.needs, self.suspected = "", row.get("suspected", "")
        self.errors, self.failures = [], []
        self.asked, self.gave = 0, set()
        """`gave`: the iterators of the answer's that gave something."""
        self.unproven = ""
        """Why a pass needs one process, where tests that must fail can show that it can fail."""
        self.flooded = False
        """Whether more crossed than may."""
        self.shortage = None
        """What the channel failed of, where the answer did not close it."""

    @property
    def value_names(self):
        if self._values is None:
            self._values = _value_names()
        return self._values

    def names(self, error):
        """Whether the test names the exception's class, or one that it derives from."""
        return any(cls.__name__ in self._words for cls in type(error).__mro__ if cls not in _ANY)

    def need(self, why, whose="row"):
        """Record why the test needs one process, and end it. `whose`: "row" where every answer to the row needs it,
        "answer" where this one does."""
        self.needs = self.needs or "%s: %s" % (whose, why)
        raise NeedsOneProcess(why)

    def suspect(self, why):
        """Record what one process would show otherwise, where the row uses objects: why the test is run in one, should
        it fail."""
        self.suspected = self.suspected or ("answer: %s" % why if self._objects else "")

    def reordered(self):
        """Record that a set has another order on the other end than here, which a test or an answer may go through."""
        self.suspected = self.suspected or "answer: the order of a set that crossed is known in one process only"

    def given_nothing(self, array=False):
        """Record that the answer gave an array, a text or a container without items, where the test may hold for it
        whatever is expected (`numpy.allclose([], 3.0)`, and of an array `not x != 3`): a pass is no proof then."""
        if self._vacuous or array:
            self.unproven = "answer: it gave a value without items, for which the test may hold whatever is expected"

    def rank_of_class(self, name):
        return CONSTRUCTED if name in self._classes else RESULT

    # -- objects

    def attribute(self, facts, name):
        """Whether the attribute may return objects only. Raises AttributeError for an attribute that is not
        requested."""
        whose = facts.name or getattr(facts.cls, "__name__", "object")
        if name.startswith("__") and name.endswith("__"):
            raise AttributeError("%s has no attribute %r here" % (whose, name))
        own = facts.rank >= OPERATED or getattr(facts.cls, "__name__", "") in self._classes
        limited = facts.rank < RESULT or (facts.rank == OPERATED and name in self._of_results)
        if self._objects and own and limited and name in self.value_names and whose != "Solution":
            return True
        if facts.rank >= OPERATED and not limited:
            return False
        of_class = facts.description.get("kind") == "class" and facts.name in self._classes
        if of_class and (name not in self.value_names or name in self._methods or name in self._of_classes):
            return False
        asks = name in self._methods if facts.rank >= RESULT else False
        # a row that knows no numpy has no arrays that an object of its own class could stand for
        named = own and facts.rank >= RESULT and name in _ARRAY_NAMES and self._words.isdisjoint(("numpy", "np"))
        if self._objects and (asks or named or name not in self.value_names):
            return False
        raise AttributeError("%s: %r is not asked of what the answer returned" % (whose, name))

    def compares(self, facts, other, operator):
        """Whether an operator may be sent with this operand."""
        if isinstance(other, proxies.RemoteObject):
            return self._objects
        if facts.rank < OPERATED or not self._operates:
            return False
        if facts.rank == OPERATED and operator in _REVEALING:
            self.need("the test compares what an object of the answer's class %s gave" % _class_name(facts))
        return True

    def takes_for_value(self, facts):
        """Whether the row uses no objects, so that it takes the result of a function as a value."""
        return not self._objects and facts.rank < OPERATED

    def copied(self):
        """Record that the test copies an object of the answer, where the row uses objects."""
        if self._objects:
            self.need("the test copies an object of the answer's")

    def equal(self, mine, other):
        if mine is other:
            return True
        facts = facts_of(mine)
        if not isinstance(other, proxies.RemoteObject):
            if facts.rank >= OPERATED and _defines(facts, "__eq__"):
                self.suspect("the test compares an object of the class %s with a value" % _class_name(facts))
            return NotImplemented
        others = facts_of(other)
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
        """The value of __class__: a class that the row shares, or `default`."""
        return getattr(cls, "near", None) or default

    def may_suppress(self, error, used):
        """Whether an answer's context manager may suppress an exception of the body: not one that the answer raised,
        nor one that means that the test failed. `used`: whether the body used a value of the answer, which may have
        raised it; then the test must name the exception."""
        if isinstance(error, (AssertionError, AttributeError, TypeError)) or (used and not self.names(error)):
            return False
        return isinstance(error, Exception) and not any(one is error for one in self.errors)

    def raised(self, error, request):
        """The exception that the test sees where the answer raised one. A StopIteration counts only as the reply to a
        `next`; elsewhere it would end a loop of the test, and with it its assertions."""
        self.errors = [*self.errors[-999:], error]
        self.failures = [one for one in self.failures if one is not error]
        ends = isinstance(error, (StopIteration, StopAsyncIteration)) and request.get("do") not in _STEPS
        if request.get("do") == "next" and request["h"] not in self.gave:
            self.given_nothing()
        if ends and not self.names(error):
            return RuntimeError("the answer raised %s" % type(error).__name__)
        return error

    def failed_inside(self, error):
        """Record the exception of a test's function that the answer called: a failed assertion must reach the test."""
        module = type(error).__module__.partition(".")[0]
        if (isinstance(error, AssertionError) or module in ("_pytest", "unittest")) and not self.names(error):
            self.failures = [*self.failures[-999:], error]

    # -- classes

    def made_class(self, view, description, reader):
        """The class that stands here for one of the answer: made from names and fields, or a RemoteClass."""
        exports, number, what = view.exports, description["n"], description["what"]
        if what == "plain":
            facts = Facts(exports, number, description, None)
            bases = view.bases(description, reader)
            above = {number}.union(*(base.above for base in bases if isinstance(base, proxies.RemoteClass)))
            made = proxies.RemoteClass(facts, above)
            made.__dict__["near"] = view.shared.get(description.get("near"))
            return made
        special = class_making.special_class(description, reader)
        if what == "enum":
            self._give_methods(special, exports, description)
            return special
        body = {"__module__": "solution"}
        if what == "exception":
            body.update(__slots__=("remote_text",), __str__=class_making.remote_text)
        bases = [special] if special is not None else view.bases(description, reader)
        if what == "exception":
            bases = [base for base in bases if isinstance(base, type) and issubclass(base, BaseException)]
        if not bases:
            raise CannotCross("malformed class")
        least = _least(bases)
        made = self._made_there(exports, number, description["name"], type(least[0]))
        made = made(description["name"], tuple(least), body)
        self._give_methods(made, exports, description)
        for name, value in class_making.constants_of(made, description, reader).items():
            setattr(made, name, value)
        return made

    def _made_there(self, exports, number, named, above):
        """The metaclass of a class whose instances are made on the answer's end and cross by their fields. `above`:
        that of its base."""
        made = []

        def construct(cls, *args, **kwargs):
            return exports.do(number, "call", args, kwargs, rank=self.rank_of_class(named))

        def derive(meta, name, bases, body, **options):
            if made:
                self.need("the test derives %s from a class of the answer's" % name)
            made.append(name)
            return type.__new__(meta, name, bases, body)

        return type("type", (above,), {"__call__": construct, "__new__": derive})

    def _give_methods(self, cls, exports, description):
        """Add methods and properties that run on the answer's end, under names that no value has."""
        if not self._objects:
            return
        own = description["name"] in self._classes
        for name in (*description["methods"], *description["properties"]):
            hidden = name.startswith("_") or hasattr(cls, name) or (name in self.value_names and not own)
            if hidden:
                continue
            call = class_making.forwarder(exports.method, description["n"], name)
            setattr(cls, name, call if name in description["methods"] else property(call))

    def check_fields(self, cls, fields):
        """Raises CannotCross for callable fields that would hide a method of a class or of a value."""
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
    return isinstance(cls, proxies.RemoteClass) and name in facts_of(cls).description["custom"]


def _class_name(facts):
    return getattr(facts.cls, "__name__", "object")
