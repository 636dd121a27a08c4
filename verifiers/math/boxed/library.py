"""math-verify as a service: parses gold and answer, compares them, says how far it got. Runs in a box.

A request is JSON `{gold, answer, precision, strict}` (LaTeX texts); the reply `{equal, gold, answer}` with what was
read, as text. Timeouts are the nursery's: the library's own count wall time, which makes a verdict depend on load. Its
exceptions are its own "not equal", but for memory, which is nobody's verdict.
Source of the comparison: math_verify.metric.math_metric, with the extraction targets of NeMo Gym's math_with_judge.
"""

import json
import logging
import os
import sys
import warnings
from functools import lru_cache
from itertools import product

sys.path.insert(0, "/opt/sandbox-gym/site")  # where a local box has packages that its interpreter lacks

import nursery
from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

GOLD = (LatexExtractionConfig(),)
ANSWER = (ExprExtractionConfig(), LatexExtractionConfig())
SHOWN = 2000
WARM_UP = (
    (r"\boxed{\frac{1}{2}}", r"so it is $0.5$, that is \boxed{1/2}"),
    (r"\boxed{x^2+2x+1}", r"\boxed{(x+1)^2}"),
    (r"\boxed{\{1,2\}}", r"\boxed{\{2, 1\}}"),
    (r"\boxed{(0,\infty)}", r"\boxed{x>0}"),
    (r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}", r"\boxed{\begin{pmatrix}1\\2\end{pmatrix}}"),
    (r"\boxed{\sqrt{2}\pi}", r"\boxed{4.44288}"),
)


def handle(body, say):
    request = json.loads(body)
    gold = parsed(request["gold"], True)
    say("gold")
    answer = parsed(request["answer"], False)
    say("answer")
    equal = any(_equal(mine, theirs, request) for mine, theirs in product(gold, answer))
    say("equal" if equal else "unequal")
    reply = {"equal": equal, "gold": [_text(one) for one in gold], "answer": [_text(one) for one in answer]}
    return json.dumps(reply).encode("utf-8")


@lru_cache(maxsize=1024)
def _cached_gold(text):
    return parse(text, GOLD, parsing_timeout=None, raise_on_error=True)


def parsed(text, is_gold):
    try:
        if is_gold:
            return _cached_gold(text)
        return parse(text, ANSWER, parsing_timeout=None, raise_on_error=True)
    except MemoryError:
        raise
    except Exception:
        return []


def _equal(gold, answer, request):
    try:
        return verify(
            gold,
            answer,
            request["precision"],
            strict=request["strict"],
            timeout_seconds=None,
            raise_on_error=True,
        )
    except MemoryError:
        raise
    except Exception:
        return False


def _text(value):
    try:
        return str(value)[:SHOWN]
    except MemoryError:
        raise
    except Exception:
        return ""


if __name__ == "__main__":
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    sys.setrecursionlimit(3000)
    for gold, answer in WARM_UP:
        handle(json.dumps({"gold": gold, "answer": answer, "precision": 6, "strict": True}), lambda phase: None)
    _cached_gold.cache_clear()
    nursery.serve(handle, int(os.environ["WORKERS"]), int(os.environ["WORKER_MEMORY_BYTES"]))
