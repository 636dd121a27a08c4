"""One end of a dialogue: sends requests, and serves the other end's requests while it waits for a reply.

A message is a u32 length and strict JSON. Requests: {"op": "do", "h", "do"} (one of exports.DO with a handle), {"op":
"method", "h", "do"} (a method of a class), and the names in an end's `services`, each with "args" and "kwargs" as forms
(forms.py). Replies: {"value"}, {"error"} or {"cannot": why}. Every message may carry "told" (new handles and classes),
"contents" (new and changed shared objects) and "drop" (shared objects that the sender dropped).
"""

import json
import os
import struct
from _thread import RLock

from ..interpreter import CHANNEL_FD
from . import classes, exports, graph
from .kinds import CannotCross, TooMuch

_LENGTH = struct.Struct("!I")
MAX_MESSAGE = 16 << 20
MAX_TALK = 64 << 20
"""Bytes that cross each way in one dialogue."""
# a program may replace what the modules hold
_getpid, _leave, _write, _read_from, _dumps, _loads = os.getpid, os._exit, os.write, os.read, json.dumps, json.loads
_crossed = {"sent": 0, "received": 0}


class CandidateError(Exception):
    """The answer's process broke the protocol, returned what can't cross, or ended."""


class Ended(Exception):
    """The other end has closed the channel."""


def send(message):
    data = _dumps(message, separators=(",", ":")).encode("ascii")
    if len(data) > MAX_MESSAGE:
        raise CannotCross("a message of %d bytes is over the bound" % len(data))
    view = memoryview(_LENGTH.pack(len(data)) + data)
    while view:
        view = view[_write(CHANNEL_FD, view) :]
    _crossed["sent"] += len(data) + _LENGTH.size


def _read(size):
    pieces = []
    while size:
        try:
            piece = _read_from(CHANNEL_FD, min(size, 1 << 20))
        except ConnectionResetError:  # the other end left without reading all that was sent
            return None
        if not piece:
            return None
        pieces.append(piece)
        size -= len(piece)
    return b"".join(pieces)


def receive():
    """The next message; None at the end of the channel. Raises CandidateError for a malformed one."""
    head = _read(_LENGTH.size)
    if head is None:
        return None
    size = _LENGTH.unpack(head)[0]
    if size > MAX_MESSAGE:
        raise CandidateError("a message of %d bytes is over the bound" % size)
    data = _read(size)
    if data is None:
        return None
    _crossed["received"] += size + _LENGTH.size
    try:
        message = _loads(data.decode("utf-8"))
    except (ValueError, RecursionError):
        raise CandidateError("a message is no JSON") from None
    if type(message) is not dict:
        raise CandidateError("a message is no object")
    return message


class Peer:
    """`module`: the name of this end's module of the row. `asking`: what the test's end may ask; None on the answer's.

    `services`: functions for further requests, by their op.
    """

    def __init__(self, module, asking=None):
        self.asking, self.wary = asking, asking is not None
        self.exports = exports.Exports(module, asking, self.request)
        self.classes = self.exports.classes = classes.Classes(self.exports, module, self.wary)
        self.graph = graph.Graph(self.classes, self.exports, 0 if self.wary else 1, self.wary)
        self.services = {}
        self._loop = None
        self._broken = ""
        self._pid = os.getpid()
        self._turn = RLock()
        """Held by the thread whose request is on its way: threads of an answer may call the test's functions."""

    # -- asking

    def request(self, op, fields, args, kwargs, rank):
        """The value of a request. Raises the exception that the other end raised."""
        if self._broken:
            raise CandidateError(self._broken)
        message = {"op": op, **fields}
        if self.wary:
            self.asking.asked += 1
        with self._turn:
            try:
                self.graph.pack(message, {"args": tuple(args), "kwargs": tuple(kwargs.items())})
            except CannotCross as error:
                if self.wary and not isinstance(error, TooMuch):
                    self.asking.need("the test passes what can't cross: %s" % error)
                raise TypeError("this can't cross to the test's process: %s" % error) from None
            return self._answer(message, rank)

    def _answer(self, message, rank):
        reply = self._exchange(message)
        self.exports.rank = rank
        if "cannot" in reply:
            raise CandidateError("bad value: %s" % str(reply["cannot"])[:2000])
        name = "error" if "error" in reply else "value"
        if name not in reply:
            raise self._break("malformed reply")
        try:
            (value,) = self.graph.unpack(reply, [name])
        except CannotCross as error:
            raise self._break("malformed reply: %s" % error) from None
        finally:
            self.exports.rank = 0
        if name == "value":
            return value
        if not isinstance(value, BaseException):
            raise self._break("an error that is none")
        raise self.asking.raised(value, message) if self.wary else value

    def _break(self, why):
        self._broken = why
        return CandidateError(why)

    def _left(self):
        """What to raise when the other end has closed the channel."""
        return self._break("the candidate ended before it answered") if self.wary else Ended()

    def _exchange(self, message):
        """Send a request and serve the other end's requests until the reply."""
        try:
            message["drop"] = self.graph.drops()
            send(message)
            while True:
                reply = receive()
                if reply is None:
                    raise self._left()
                if self.wary and type(reply.get("flat")) is str:
                    self.asking.suspect("an object of its class %s is more than a value" % reply["flat"][:100])
                if self.wary and max(_crossed.values()) > MAX_TALK:
                    self.asking.flooded = True
                    raise self._break("more than %d bytes crossed" % MAX_TALK)
                if "op" not in reply:
                    return reply
                self.serve(reply)
        except ConnectionError:
            raise self._left() from None
        except OSError as error:
            if self.wary:
                self.asking.shortage = error
            raise self._break("the channel failed: %s" % error) from None
        except CandidateError as error:
            self._broken = self._broken or str(error)
            raise

    # -- serving

    def serve(self, message):
        """Serve one request of the other end and reply."""
        reply = {}
        try:
            try:
                args, kwargs = self.graph.unpack(message, ["args", "kwargs"])
                value = self._served(message, args, dict(kwargs))
                del args, kwargs
            except Ended:
                raise
            except BaseException as error:
                if self.wary and self.asking.needs:  # it ends the test, and passes through the answer's frames
                    raise
                if self.wary:
                    self.asking.failed_inside(error)
                self._pack_error(reply, error)
            else:
                self.graph.pack(reply, {"value": value})
                del value
        except CannotCross as error:
            reply = {"cannot": str(error)[:2000]}
        self._reply(reply)

    def _reply(self, reply):
        if _getpid() != self._pid:
            _leave(0)  # a child that the call forked; its parent replies
        reply["drop"] = self.graph.drops()
        try:
            send(reply)
        except CannotCross as error:  # too long: the descriptions in it are lost, so the dialogue is over
            if self.wary:
                raise
            send({"cannot": str(error)[:2000]})

    def _pack_error(self, reply, error):
        while error.__traceback__ is not None and error.__traceback__.tb_frame.f_code.co_filename == __file_here__:
            error.__traceback__ = error.__traceback__.tb_next
        error.__traceback__ = None if not self.wary else error.__traceback__
        error.__context__ = None if not self.wary else error.__context__
        self.graph.pack(reply, {"error": error})

    def _served(self, message, args, kwargs):
        op = message["op"]
        if op in self.services:
            return self.services[op](*args, **kwargs)
        if op not in ("do", "method"):
            raise CannotCross("no such request")
        if op == "do" and message["do"] in ("await", "anext") and not self.wary:
            return self._run_async(self.exports.mine(message["h"]), message["do"])
        return self.exports.served(message, args, kwargs)

    def _run_async(self, target, what):
        """Run a coroutine, or the next step of an asynchronous generator, to its end on this end's event loop."""
        import asyncio

        if self._loop is None:
            self._loop = asyncio.new_event_loop()
        asyncio.set_event_loop(self._loop)

        async def whole():
            return await (target if what == "await" else target.__anext__())

        return self._loop.run_until_complete(whole())


__file_here__ = Peer.serve.__code__.co_filename
