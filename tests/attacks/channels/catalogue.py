"""Ways to pass a bit from one program to another that shares a box, a user or a machine with it.

Each is two pieces of Python: `send` runs where the bit is 1 (`unsend`, if any, where it is 0), `read` leaves an integer
in `found`. What `hold` keeps stays as it is until the reading is over, as far as the sender lives that long.
`prepare` is the reader's, before the sender acts.
"""

from __future__ import annotations

from dataclasses import dataclass

COMMON = """
import ctypes, errno, fcntl, mmap, os, re, resource, select, signal, socket, struct, sys, time
libc = ctypes.CDLL(None, use_errno=True)
hold = []
def tried(function, *arguments, default=-1, **named):
    try:
        return function(*arguments, **named)
    except (OSError, ValueError, AttributeError):
        return default
def text(path):
    try:
        with open(path, errors="replace") as file:
            return file.read(1 << 20)
    except OSError:
        return ""
def numbers(*paths):
    return sum(int(n) for path in paths for n in re.findall(r"(?<![\\w.])\\d+(?![\\w.])", text(path)))
def call(number, *arguments):
    return libc.syscall(number, *[ctypes.c_long(a) if isinstance(a, int) else a for a in arguments])
SHARED = os.path.realpath(sys.executable if os.path.isfile(sys.executable or "") else "/usr/bin/python3")
LIBRARY = os.path.dirname(os.__file__)
SELDOM_READ = [LIBRARY + "/" + name for name in ("this.py", "antigravity.py", "__phello__", "wsgiref")]
NODES = ["/dev/" + name for name in ("null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts/ptmx")]
SETTINGS = ["/proc/sys/" + name for name in ("kernel/shmmax", "net/ipv4/ip_default_ttl", "fs/mqueue/msg_max")]
FOLDERS = ["/", "/tmp", "/var/tmp", "/dev", "/dev/shm", "/dev/pts", "/dev/mqueue", "/run", "/run/lock", "/scratch",
           "/home", "/root", "/opt", "/mnt", "/srv", "/var", "/etc", "/usr/lib", "/workspace"]
def stats(paths):
    return [found for found in (tried(os.stat, path, default=None) for path in paths) if found]
"""


ONE_CPU = "tried(os.sched_setaffinity, 0, {min(os.sched_getaffinity(0))})\n"
"""Each CPU hands out numbers from a stock of its own."""


@dataclass(frozen=True, slots=True)
class Channel:
    """One way; see above."""

    send: str
    read: str
    unsend: str = ""
    prepare: str = ""


def _of_text(path: str) -> str:
    return f"found = numbers({path!r})"


CHANNELS = {
    # -- files and their attributes
    "times of device nodes": Channel(
        "for path in NODES:\n tried(os.utime, path)\n tried(os.utime, path, ns=(time.time_ns(), 7))",
        "found = sum(s.st_mtime_ns + s.st_atime_ns for s in stats(NODES))",
    ),
    "modes and attributes of device nodes": Channel(
        "for path in NODES:\n tried(os.chmod, path, 0o602)\n tried(os.setxattr, path, 'user.bit', b'1')",
        "found = sum(s.st_mode for s in stats(NODES)) + sum(len(tried(os.listxattr, p, default=[])) for p in NODES)",
        "for path in NODES:\n tried(os.chmod, path, 0o666)\n tried(os.removexattr, path, 'user.bit')",
    ),
    "files left in any folder": Channel(
        "for folder in FOLDERS:\n tried(lambda: open(folder + '/left', 'x').close())",
        "found = sum(os.path.lexists(folder + '/left') for folder in FOLDERS)",
        "for folder in FOLDERS:\n tried(os.unlink, folder + '/left')",
    ),
    "times and sizes of folders": Channel(
        "for folder in FOLDERS:\n tried(lambda: (open(folder + '/gone', 'x').close(), os.unlink(folder + '/gone')))",
        "found = sum(s.st_mtime_ns + s.st_atime_ns + s.st_size + s.st_nlink for s in stats(FOLDERS))",
    ),
    "attributes of folders": Channel(
        "for folder in FOLDERS:\n tried(os.setxattr, folder, 'user.bit', b'1')",
        "found = sum(len(tried(os.listxattr, folder, default=[])) for folder in FOLDERS)",
        "for folder in FOLDERS:\n tried(os.removexattr, folder, 'user.bit')",
    ),
    "access times of shared files": Channel(
        "for path in SELDOM_READ:\n"
        " text(path); tried(os.listdir, path); tried(os.utime, path)",
        "found = sum(s.st_atime_ns for s in stats(SELDOM_READ))",
    ),
    "names of open shared memory": Channel(
        "import _posixshmem\nhold.append(tried(_posixshmem.shm_open, '/bit', os.O_CREAT | os.O_RDWR, mode=0o666))",
        "import _posixshmem\nfound = int(tried(_posixshmem.shm_open, '/bit', os.O_RDWR, mode=0o666) >= 0)",
    ),
    # -- locks, watches and what is in memory of files that several boxes read
    "flock on a shared file": Channel(
        "fd = os.open(SHARED, os.O_RDONLY); tried(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB); hold.append(fd)",
        "fd = os.open(SHARED, os.O_RDONLY); found = tried(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB) is None\n"
        "os.close(fd)",
    ),
    "flock on the file of this process": Channel(
        "fd = os.open('/proc/self/exe', os.O_RDONLY)\n"
        "tried(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB); hold.append(fd)",
        "fd = os.open('/proc/self/exe', os.O_RDONLY)\n"
        "found = tried(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB) is None; os.close(fd)",
    ),
    "flock on a file of /etc": Channel(
        "fd = os.open('/etc/ld.so.cache', os.O_RDONLY)\n"
        "tried(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB); hold.append(fd)",
        "fd = os.open('/etc/ld.so.cache', os.O_RDONLY)\n"
        "found = tried(fcntl.flock, fd, fcntl.LOCK_EX | fcntl.LOCK_NB) is None\nos.close(fd)",
    ),
    "record locks on a shared file": Channel(
        "fd = os.open(SHARED, os.O_RDONLY); tried(fcntl.lockf, fd, fcntl.LOCK_SH | fcntl.LOCK_NB); hold.append(fd)",
        "fd = os.open(SHARED, os.O_RDONLY)\n"
        "asked = struct.pack('hhqqi4x', fcntl.F_WRLCK, 0, 0, 0, 0)\n"
        "found = struct.unpack('hhqqi4x', fcntl.fcntl(fd, fcntl.F_GETLK, asked))[0]\nos.close(fd)",
    ),
    "leases on a shared file": Channel(
        "fd = os.open(SHARED, os.O_RDONLY); tried(fcntl.fcntl, fd, fcntl.F_SETLEASE, fcntl.F_RDLCK); hold.append(fd)",
        "fd = os.open(SHARED, os.O_RDONLY); found = fcntl.fcntl(fd, fcntl.F_GETLEASE); os.close(fd)",
    ),
    "the list of locks": Channel(
        "fd = os.open('mine', os.O_RDWR | os.O_CREAT); tried(fcntl.flock, fd, fcntl.LOCK_EX); hold.append(fd)",
        "found = len(text('/proc/locks'))",
    ),
    "watches on a shared folder": Channel(
        "for name in ('this.py', 'abc.py'):\n text(LIBRARY + '/' + name)",
        "found = len(tried(os.read, watch, 65536, default=b''))",
        prepare="watch = libc.inotify_init1(os.O_NONBLOCK)\n"
        "libc.inotify_add_watch(watch, LIBRARY.encode(), ctypes.c_uint32(0x21))",
    ),
    "pages of shared files in memory, by preadv2": Channel(
        "text(LIBRARY + '/antigravity.py')",
        "fd = os.open(LIBRARY + '/antigravity.py', os.O_RDONLY)\n"
        "found = tried(os.preadv, fd, [bytearray(64)], 0, getattr(os, 'RWF_NOWAIT', 8)) > 0\nos.close(fd)",
        "fd = os.open(LIBRARY + '/antigravity.py', os.O_RDONLY); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "os.close(fd)",
    ),
    "pages of shared files in memory, by cachestat": Channel(
        "text(LIBRARY + '/antigravity.py')",
        "fd = os.open(LIBRARY + '/antigravity.py', os.O_RDONLY); out = (ctypes.c_uint64 * 5)()\n"
        "call(451, fd, (ctypes.c_uint64 * 2)(0, 4096), out, 0); found = out[0]; os.close(fd)",
        "fd = os.open(LIBRARY + '/antigravity.py', os.O_RDONLY); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "os.close(fd)",
    ),
    "pages of shared files in memory, by mincore": Channel(
        "text(LIBRARY + '/antigravity.py')",
        "fd = os.open(LIBRARY + '/antigravity.py', os.O_RDONLY); out = ctypes.create_string_buffer(1)\n"
        "libc.mmap.restype = ctypes.c_void_p\n"
        "where = libc.mmap(None, ctypes.c_size_t(4096), 1, 1, fd, ctypes.c_long(0)); os.close(fd)\n"
        "libc.mincore(ctypes.c_void_p(where), ctypes.c_size_t(4096), out); found = out.raw[0] & 1",
        "fd = os.open(LIBRARY + '/antigravity.py', os.O_RDONLY); os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)\n"
        "os.close(fd)",
    ),
    # -- the network
    "packets of the loopback": Channel(
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(50): tried(s.sendto, b'x', ('127.0.0.1', 9))",
        "found = sum(int(n) for line in text('/proc/net/dev').split('\\n')[2:] for n in line.split()[1:])",
    ),
    "counters of protocols": Channel(
        "for _ in range(50):\n s = socket.socket(); s.settimeout(1); tried(s.connect, ('10.9.8.7', 9)); s.close()",
        "found = numbers('/proc/net/snmp', '/proc/net/netstat', '/proc/net/snmp6')",
    ),
    "ports in their last minute": Channel(
        "s = socket.create_server(('127.0.0.1', 8080)); c = socket.create_connection(s.getsockname())\n"
        "a, _ = s.accept(); a.close(); c.recv(1); c.close(); s.close()",
        "found = sum(int(n) for n in re.findall(r' tw (\\d+)', text('/proc/net/sockstat')))",
    ),
    "ports that the kernel chooses": Channel(
        "s = socket.create_server(('127.0.0.1', 9090), backlog=2000)\n"
        "for _ in range(400):\n c = socket.socket(); tried(c.connect, s.getsockname()); c.close()",
        "s = socket.create_server(('127.0.0.1', 9090)); c = socket.create_connection(s.getsockname())\n"
        "found = c.getsockname()[1]; CYCLE = 28232; s.close(); c.close()",
    ),
    "ports that are taken": Channel(
        "s = socket.socket(); tried(s.bind, ('127.0.0.1', 7070)); tried(s.listen); hold.append(s)",
        "s = socket.socket(); found = tried(s.bind, ('127.0.0.1', 7070)) is None; s.close()",
    ),
    "abstract names of sockets": Channel(
        "s = socket.socket(socket.AF_UNIX); tried(s.bind, '\\0bit'); hold.append(s)",
        "s = socket.socket(socket.AF_UNIX); found = tried(s.bind, '\\0bit') is None; s.close()",
    ),
    "abstract names that the kernel chooses": Channel(
        "for _ in range(200):\n s = socket.socket(socket.AF_UNIX); tried(s.bind, ''); s.close()",
        "s = socket.socket(socket.AF_UNIX); s.bind(''); found = int(s.getsockname()[1:], 16)",
    ),
    "list of sockets": Channel(
        "hold += [socket.socket(socket.AF_UNIX) for _ in range(40)]",
        "found = len(text('/proc/net/unix')) + sum(map(int, re.findall(r'used (\\d+)', text('/proc/net/sockstat'))))",
    ),
    "flow labels": Channel(
        "s = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)\n"
        "asked = bytes(15) + b'\\1' + b'\\0\\1' + os.urandom(2) + bytes((0, 1, 1, 0, 60, 0, 60, 0, 0, 0, 0, 0))\n"
        "tried(s.setsockopt, 41, 32, asked); s.close()",
        "found = len(text('/proc/net/ip6_flowlabel'))",
    ),
    # -- the kernel's other objects
    "times that anybody synced": Channel("for _ in range(9): os.sync()", "found = numbers('/proc/sys/fs/quota/syncs')"),
    "keyrings": Channel(
        "for ring in (-3, -4, -5): call(248, b'user', b'bit', b'1', 1, ring)",
        "found = sum(call(250, 10, ring, b'user', b'bit', 0) > 0 for ring in (-3, -4, -5)) + len(text('/proc/keys'))",
        "for ring in (-3, -4, -5): call(250, 7, ring)",
    ),
    "System V shared memory": Channel("call(29, 0x5eed, 4096, 0o1666)", "found = call(29, 0x5eed, 4096, 0o666) >= 0"),
    "POSIX queues": Channel(
        "hold.append(call(240, b'bit', 0o102, 0o666, None)); tried(lambda: open('/dev/mqueue/bit', 'x'))",
        "found = (call(240, b'bit', 2, 0, None) >= 0) + os.path.exists('/dev/mqueue/bit')",
        "call(241, b'bit'); tried(os.unlink, '/dev/mqueue/bit')",
    ),
    "terminals": Channel(
        "hold += [tried(os.openpty) for _ in range(5)]",
        "found, ends = 0, tried(os.openpty, default=())\n"
        "for end in ends[1:]: found = int(re.sub(r'\\D', '', os.ttyname(end)))\n"
        "for end in ends: os.close(end)",
    ),
    "processes that stay": Channel(
        "if os.fork() == 0:\n os.setsid(); [os.close(fd) for fd in (0, 1, 2)]; time.sleep(3); os._exit(0)",
        "found = sum(tried(os.stat, '/proc/' + n, default=os.stat('/')).st_uid == os.getuid()"
        " for n in os.listdir('/proc') if n.isdigit())",
    ),
    "how the init is scheduled": Channel(
        "for who in (1, os.getppid()):\n"
        " tried(os.setpriority, os.PRIO_PROCESS, who, 5); tried(os.sched_setaffinity, who, {0})\n"
        " tried(os.sched_setscheduler, who, os.SCHED_BATCH, os.sched_param(0)); call(251, 1, who, (2 << 13) | 6)\n"
        "tried(os.setpriority, os.PRIO_USER, os.getuid(), 5); call(251, 3, os.getuid(), (2 << 13) | 6)",
        "found = os.nice(0) + 100 * len(os.sched_getaffinity(0)) + 1000 * os.sched_getscheduler(0)\n"
        "found += 10000 * call(252, 1, 0)",
    ),
    "limits, masks and environment": Channel(
        "os.umask(0o77); os.environ['BIT'] = '1'; libc.setenv(b'BIT', b'1', 1); tried(resource.setrlimit,"
        " resource.RLIMIT_CORE, (0, 0)); libc.prctl(29, 5000000); libc.personality(0x40000)\n"
        "tried(lambda: open('/proc/self/oom_score_adj', 'w').write('1000'))\n"
        "tried(lambda: open('/proc/%d/oom_score_adj' % os.getppid(), 'w').write('1000'))",
        "found = os.umask(0); os.umask(found)\n"
        "found += len(os.environ) + sum(sum(resource.getrlimit(n)) for n in range(16))\n"
        "found += libc.prctl(30) + libc.personality(0xffffffff) + numbers('/proc/self/oom_score_adj')",
    ),
    "the host's name": Channel(
        "tried(socket.sethostname, 'bit'); libc.setdomainname(b'bit', 3)",
        "found = len(socket.gethostname()) + len(text('/proc/sys/kernel/domainname'))",
    ),
    "settings of the kernel": Channel(
        "for path in SETTINGS + ['/proc/sys/kernel/ns_last_pid']:\n tried(lambda: open(path, 'w').write('77'))",
        "found = numbers(*SETTINGS)",
    ),
    "watches that a user may have": Channel(
        "hold += [libc.inotify_init1(0) for _ in range(200)]",
        "fd = libc.inotify_init1(0); found = fd >= 0; tried(os.close, fd)",
    ),
    "pages in pipes that a user may have": Channel(
        "for _ in range(40):\n r, w = os.pipe(); tried(fcntl.fcntl, w, 1031, 1 << 20); hold.append(w)",
        "r, w = os.pipe(); found = fcntl.fcntl(w, 1032); os.close(r); os.close(w)",
    ),
    # -- counters
    "process numbers": Channel(
        "for _ in range(60):\n pid = os.fork()\n if pid == 0: os._exit(0)\n os.waitpid(pid, 0)", "found = os.getpid()"
    ),
    "inode numbers of pipes": Channel(
        ONE_CPU + "for _ in range(8000):\n r, w = os.pipe(); os.close(r); os.close(w)",
        ONE_CPU + "r, w = os.pipe(); found = os.fstat(r).st_ino; os.close(r); os.close(w)",
    ),
    "inode numbers of own files": Channel(
        "for _ in range(300):\n for folder in ('.', '/tmp', '/dev/shm'):\n"
        "  tried(lambda: (open(folder + '/n', 'x').close(), os.unlink(folder + '/n')))",
        "found = 0\nfor n, folder in enumerate(('.', '/tmp', '/dev/shm')):\n"
        " tried(lambda: open(folder + '/m', 'x').close())\n"
        " found += sum(s.st_ino for s in stats([folder + '/m'])); tried(os.unlink, folder + '/m')",
    ),
    "inode numbers of memory files": Channel(
        ONE_CPU + "for _ in range(8000): os.close(os.memfd_create('n'))",
        ONE_CPU + "fd = os.memfd_create('n'); found = os.fstat(fd).st_ino; os.close(fd)",
    ),
    "packets of the whole machine": Channel(
        "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        "for _ in range(4000): tried(s.sendto, b'x', ('127.0.0.1', 9))",
        "found = sum(int(line.split()[0], 16) for line in text('/proc/net/softnet_stat').splitlines())",
    ),
    "terminals of the whole machine": Channel(
        "hold += [tried(os.openpty) for _ in range(20)]", _of_text("/proc/sys/kernel/pty/nr")
    ),
    "open files of the whole machine": Channel(
        "hold += [open('/dev/null') for _ in range(900)]", _of_text("/proc/sys/fs/file-nr")
    ),
    "inodes of the whole machine": Channel(
        "hold += [os.memfd_create('n') for _ in range(900)]", _of_text("/proc/sys/fs/inode-nr")
    ),
    "names looked up on the whole machine": Channel(
        "for n in range(4000): os.path.exists('/usr/none%d.%d' % (n, os.getpid()))",
        "found = numbers('/proc/sys/fs/dentry-state')",
    ),
    "faults of the whole machine": Channel(
        "m = mmap.mmap(-1, 64 << 20)\nfor n in range(0, 64 << 20, 4096): m[n] = 1",
        "found = int((re.findall(r'pgfault (\\d+)', text('/proc/vmstat')) or ['0'])[0])",
    ),
    "caps and counters of control groups": Channel(
        "until = time.process_time() + 0.2\nwhile time.process_time() < until: pass",
        "found = sum(int(n) for top in ('/cgroup', '/sys/fs/cgroup')"
        " for n in re.findall(r'^\\d+$', text(top + '/cpuacct/cpuacct.usage'), re.M))\n"
        "found += sum(1000 * int(n) for n in re.findall(r'usage_usec (\\d+)', text('/sys/fs/cgroup/cpu.stat')))\n"
        "found //= 50_000_000",
    ),
    "accounts of the guest's processes": Channel(
        "for _ in range(10):\n pid = os.fork()\n if pid == 0:\n"
        "  until = time.process_time() + 0.02\n  while time.process_time() < until: pass\n  os._exit(0)\n"
        " os.waitpid(pid, 0)",
        "found = 0\nfor name in os.listdir('/proc'):\n"
        " fields = text('/proc/%s/stat' % name).rpartition(')')[2].split() if name.isdigit() else []\n"
        " if fields and int(name) != os.getpid(): found += sum(map(int, fields[11:15]))\nfound //= 10",
    ),
}  # fmt: skip
