"""Real generators, coroutines and functions that forward every step and call to the other end."""

import inspect

_OMITTED = object()


def generator(facts):
    """A real generator that drives a generator of the other end."""
    do = facts.do
    try:
        value = do("next")
        while True:
            try:
                sent = yield value
            except GeneratorExit:
                do("close")
                raise
            except BaseException as error:
                value = do("throw", (error,))
            else:
                value = do("next") if sent is None else do("send", (sent,))
    except StopIteration as end:
        return end.value


async def coroutine(facts):
    return facts.do("await", rank=1)


async def asyncgen(facts):
    while True:
        try:
            value = facts.do("anext", rank=1)
        except StopAsyncIteration:
            return
        yield value


def function(facts):
    """A real function with the signature of the other end's, for an answer that inspects it."""
    call = facts.do

    def forward(*args, **kwargs):
        return call("call", args, kwargs)

    async def forward_async(*args, **kwargs):
        return await call("call", args, kwargs)

    made = forward_async if facts.description.get("async") else forward
    params = facts.description.get("params")
    if params is not None:
        try:
            made = _with_signature(made, facts.name, params)
        except (SyntaxError, ValueError):
            pass  # a signature that is no Python source, as of some builtins
    made.__name__ = made.__qualname__ = facts.name
    made.__doc__ = facts.description.get("doc")
    return made


def _with_signature(forward, name, params):
    """`forward` behind a written-out signature, so that `__code__.co_argcount` is right."""
    head, passed, star = [], [], False
    kinds = [kind for _, kind, _ in params]
    for index, (param, kind, optional) in enumerate(params):
        default = "=_OMITTED" if optional else ""
        if kind == inspect.Parameter.VAR_POSITIONAL:
            head.append("*" + param)
            passed.append("*" + param)
            star = True
        elif kind == inspect.Parameter.VAR_KEYWORD:
            head.append("**" + param)
            passed.append("**" + param)
        elif kind == inspect.Parameter.KEYWORD_ONLY:
            head += [] if star else ["*"]
            star = True
            head.append(param + default)
            passed.append("**_given(%r, %s)" % (param, param))
        else:
            head.append(param + default)
            passed.append("*_given(None, %s)" % param)
            if kind == 0 and (index + 1 == len(params) or kinds[index + 1] != 0):
                head.append("/")
    source = "def made(%s):\n    return _forward(%s)\n" % (", ".join(head), ", ".join(passed))
    if inspect.iscoroutinefunction(forward):
        source = "async " + source.replace("return ", "return await ")
    space = {"_OMITTED": _OMITTED, "_given": _given, "_forward": forward}
    exec(compile(source, "<callback>", "exec"), space)
    return space["made"]


def _given(name, value):
    if value is _OMITTED:
        return () if name is None else {}
    return (value,) if name is None else {name: value}
