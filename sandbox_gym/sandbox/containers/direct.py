"""A container's channel as one socket: two processes of its engine would copy all that its standard streams carry.

The guest's interpreter listens in its container, and this process connects through /proc before any program runs there.
"""

from __future__ import annotations

import contextlib
import socket
from typing import Final

import anyio
from anyio.abc import ByteStream

from sandbox_gym.sandbox.channel.bundle import BOOTSTRAP
from sandbox_gym.sandbox.channel.guest_channel import HANDSHAKE_S
from sandbox_gym.sandbox.channel.socket_stream import RawSocketStream

MEETING: Final = f"""import os,socket,sys
s=socket.socket(socket.AF_UNIX);s.bind(sys.argv[3]);s.listen(1);os.write(1,b'.')
if os.read(0,1)==b'd':
 c=s.accept()[0]
 for a in c.recvmsg(1,64)[1]:
  os.close(int.from_bytes(a[2][:4],sys.byteorder));os.dup2(c.fileno(),0);os.dup2(c.fileno(),1);os.write(1,b'.')
 c.close()
s.close();os.unlink(sys.argv[3])
{BOOTSTRAP}"""
"""`python3 -I -c MEETING 0 1 <path>`: as BOOTSTRAP, over a connection to that path if it is told so and descriptors can
come over it, which some kernels' rules refuse a container."""


async def direct(streams: ByteStream, pid: int, path: str) -> ByteStream:
    """A connection to the guest that MEETING starts at `path`, which no other container has; its standard streams where
    it is on another machine, in gVisor, or not ours to see. `pid`: the engine's, of the container's first process."""
    raw = socket.socket(socket.AF_UNIX)
    with contextlib.ExitStack() as undo:
        undo.callback(raw.close)
        stream = RawSocketStream(raw)
        with anyio.move_on_after(HANDSHAKE_S), contextlib.suppress(anyio.EndOfStream, anyio.BrokenResourceError):
            await streams.receive(1)
            with contextlib.suppress(OSError):
                raw.connect(f"/proc/{pid}/root{path}")
                await stream.send(b".", [raw.fileno()])
                await streams.send(b"d")
                await stream.receive(1)
                undo.pop_all()
                return stream
            await streams.send(b"s")
    return streams
