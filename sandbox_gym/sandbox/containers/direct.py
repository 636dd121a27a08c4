"""A container's channel as one socket: its standard streams are copied by two processes of its engine.

The guest's interpreter listens in its container, and this process connects through /proc before any program runs there.
"""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Awaitable, Callable
from typing import Final

import anyio
from anyio.abc import ByteStream

from sandbox_gym.errors import ProviderDown
from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.guest_channel import HANDSHAKE_S
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream

MEETING: Final = (
    "import os,socket,sys\n"
    "s=socket.socket(socket.AF_UNIX)\n"
    "s.bind(sys.argv[3])\n"
    "s.listen(1)\n"
    "os.write(1,b'.')\n"
    "if os.read(0,1)==b'd':\n"
    " c=s.accept()[0]\n"
    " for a in c.recvmsg(1,64)[1]:\n"
    "  os.close(int.from_bytes(a[2][:4],sys.byteorder))\n"
    "  os.dup2(c.fileno(),0)\n"
    "  os.dup2(c.fileno(),1)\n"
    "  os.write(1,b'.')\n"
    " c.close()\n"
    "s.close()\n"
    "os.unlink(sys.argv[3])\n"
) + BOOTSTRAP
"""`python3 -I -c MEETING 0 1 <path>`: as BOOTSTRAP, over a connection to that path if it is told so and descriptors can
come over it."""


async def direct(attached: ByteStream, pid: Callable[[], Awaitable[int]], path: str) -> RawSocketStream | None:
    """A connection to the guest that MEETING starts. None where its standard streams are to be used: it is on another
    machine or in gVisor, or we may not look into its container. `path`: one that no other container has. `pid`: of its
    first process here; raises ProviderDown."""
    stream = None
    try:
        with anyio.move_on_after(HANDSHAKE_S):
            await attached.receive(1)
            stream = await _connected(pid, path)
            await attached.send(b"d" if stream is not None else b"s")
            if stream is not None and await stream.receive(1):
                made, stream = stream, None
                return made
    except (OSError, anyio.EndOfStream, anyio.BrokenResourceError):
        pass  # what the container said on its standard streams tells why
    finally:
        if stream is not None:
            await stream.aclose()
    return None


async def _connected(pid: Callable[[], Awaitable[int]], path: str) -> RawSocketStream | None:
    """A connection over which a descriptor was sent: some kernels' rules let a container have none of ours."""
    with contextlib.ExitStack() as undo:
        raw = undo.enter_context(socket.socket(socket.AF_UNIX))
        try:
            raw.connect(f"/proc/{await pid()}/root{path}")
            with socket.socket(socket.AF_UNIX) as other:
                socket.send_fds(raw, [b"."], [other.fileno()])
        except (OSError, ProviderDown):
            return None
        undo.pop_all()
        return RawSocketStream(raw)
