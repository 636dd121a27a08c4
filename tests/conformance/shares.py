"""Programs that take what the kernel counts per user or per machine: `HOG` keeps all that it gets, `PROBE` says how
much it could get and lets it go. Both run inside of a sandbox and know nothing of ours."""

_TAKE = r"""
import ctypes, errno, fcntl, json, os, signal, socket, sys, time
libc = ctypes.CDLL(None, use_errno=True)
held = []

def many(take, most):
    count = 0
    try:
        while count < most:
            held.append(take())
            count += 1
    except OSError:
        pass
    return count

def checked(result):
    if result < 0:
        raise OSError(ctypes.get_errno(), "")
    return result

def pty():
    return os.open("/dev/ptmx", os.O_RDWR | os.O_NOCTTY)

def inotify():
    return checked(libc.inotify_init1(0))

def in_flight():
    if not held or held[-1][2] >= 100:  # a socket's queue is bounded, too
        held.append([*socket.socketpair(), 0])
    held[-1][2] += 1
    socket.send_fds(held[-1][0], [b"."], [0])
    return held.pop()

def pipe_mib():
    ends = os.pipe()
    held.append(ends)
    fcntl.fcntl(ends[0], 1031, 1 << 20)
    return ends

def pending():
    return checked(libc.sigqueue(os.getpid(), signal.SIGRTMIN + 1, ctypes.c_void_p(0)))

def aio():
    context = ctypes.c_ulong(0)
    checked(libc.syscall(206 if os.uname().machine == "x86_64" else 0, 1024, ctypes.byref(context)))
    return context

signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGRTMIN + 1])
KINDS = [(pty, 200), (inotify, 200), (in_flight, 240), (pipe_mib, 100), (pending, MOST_SIGNALS), (aio, 100)]
"""

PROBE = f"""{_TAKE.replace("MOST_SIGNALS", "5_000")}
found = {{}}
for take, most in KINDS:
    read, write = os.pipe()
    if os.fork() == 0:
        os.write(write, str(many(take, most)).encode())
        os._exit(0)
    os.wait()
    found[take.__name__] = int(os.read(read, 20))
    os.close(read)
    os.close(write)
children = []
try:
    while len(children) < 20:
        child = os.fork()
        if child == 0:
            signal.pause()
        children.append(child)
except OSError:
    pass
found["processes"] = len(children)
for child in children:
    os.kill(child, signal.SIGKILL)
    os.wait()
print(json.dumps(found))
"""

HOG = f"""{_TAKE.replace("MOST_SIGNALS", "1_000_000")}
os.setsid()
ready, told = os.pipe()
for take, most in KINDS * 2:
    if os.fork() == 0:
        many(take, most)
        os.write(told, b".")
        signal.pause()
for _ in KINDS * 2:
    os.read(ready, 1)
many(lambda: os.close(os.open("/workspace/f%d" % len(held), os.O_CREAT, 0o600)), 20000)
while True:  # until the last process that may be is
    try:
        if os.fork() == 0:
            many(lambda: os.open("/dev/null", 0), 250)
            signal.pause()
    except OSError:
        break
print("taken", flush=True)
signal.pause()
"""
