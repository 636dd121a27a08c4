"""The system call filter of programs: denies what no answer needs and what kernel exploits and side channels use.

Classic BPF as in seccomp(2); numbers from the kernel's tables for x86_64 and aarch64. Denied calls give EPERM, clone3
gives ENOSYS so that libc falls back to clone, whose flags a filter can read; so does io_setup, as without CONFIG_AIO. A
program that lowers its own priority gets success and no effect: starvation.py measures how long a program waited for a
CPU, which must not be a wait that the program chose.
"""

import ctypes
import os
import struct

from .. import kernel

_NAMED = ("clone", "prlimit64", "socket", "preadv2", "io_setup", "setpriority", "setscheduler", "setattr")
# of each machine: its number, calls that are denied, those of _NAMED
_X86_64 = (
    0xC000003E,
    [101, 310, 311, 312, 248, 249, 250, 321, 298, 323, 165, 166, 155, 308, 272, 175, 313, 176, 246, 320, 169, 167, 168]
    + [163, 179, 443, 451, 425, 426, 427, 304, 303, 300, 161, 29, 30, 31, 67, 64, 65, 66, 220, 68, 69, 70, 71, 240, 241]
    + [428, 429, 430, 431, 432, 433, 438, 442, 440, 172, 173, 164, 227, 159, 305, 170, 171, 103, 153, 279, 256, 447],
    (56, 302, 41, 327, 206, 141, 144, 314),
)
_AARCH64 = (
    0xC00000B7,
    [117, 270, 271, 272, 217, 218, 219, 280, 241, 282, 40, 39, 41, 268, 97, 105, 273, 106, 104, 294, 142, 224, 225]
    + [89, 60, 443, 425, 426, 427, 265, 264, 262, 51, 194, 195, 196, 197, 190, 191, 192, 193, 186, 187, 188, 189, 180]
    + [181, 428, 429, 430, 431, 432, 433, 438, 442, 440, 170, 112, 171, 266, 161, 162, 116, 58, 239, 238, 447, 451],
    (220, 261, 198, 286, 0, 140, 119, 274),
)
_SECCOMP = {"x86_64": 317, "aarch64": 277}
_SET_MODE_FILTER, _NEW_LISTENER = 1, 8
_CLONE3 = 435
_NAMESPACE_FLAGS = 0x7E020080  # every CLONE_NEW*
_RWF_NOWAIT = 8
_LOW_POLICIES = (3, 5)  # SCHED_BATCH, SCHED_IDLE
_RESET_ON_FORK = 0x40000000
_ALLOWED_FAMILIES = (1, 2, 10, 16)  # unix, inet, inet6, netlink

_LD_ABS, _AND, _JA, _JEQ, _JGE, _JSET, _RET = 0x20, 0x54, 0x05, 0x15, 0x35, 0x45, 0x06
_ALLOW, _ERRNO, _NOTIFY = 0x7FFF0000, 0x00050000, 0x7FC00000
_NOTIFIED = {
    "x86_64": {101: "ptrace", 310: "process_vm_readv", 311: "process_vm_writev", 438: "pidfd_getfd"},
    "aarch64": {117: "ptrace", 270: "process_vm_readv", 271: "process_vm_writev", 438: "pidfd_getfd"},
}
_EPERM, _ENOSYS, _EOPNOTSUPP = 1, 38, 95


def notified():
    """The denied calls of which init is notified, by number: they reach into another process."""
    return _NOTIFIED[os.uname().machine]


def _assemble(notifying):
    tables = {"x86_64": _X86_64, "aarch64": _AARCH64}
    machine = os.uname().machine
    if machine not in tables:
        raise OSError(_ENOSYS, "no system call filter for machine %s" % machine)
    arch, denied, numbers = tables[machine]
    named = dict(zip(_NAMED, numbers))
    op = lambda code, k, yes=0, no=0: struct.pack("HBBI", code, yes, no, k & 0xFFFFFFFF)  # noqa: E731
    notify = op(_RET, _NOTIFY)
    deny, nosys, allow = op(_RET, _ERRNO | _EPERM), op(_RET, _ERRNO | _ENOSYS), op(_RET, _ALLOW)
    ignore = op(_RET, _ERRNO)  # an errno of 0: success
    code = [op(_LD_ABS, 4), op(_JEQ, arch, 1, 0), nosys, op(_LD_ABS, 0), op(_JGE, 0x40000000, 0, 1), nosys]
    # the kernel counts contexts of asynchronous I/O for the whole machine
    for number in (_CLONE3, named["io_setup"], named["setattr"]):
        code += [op(_JEQ, number, 0, 1), nosys]
    for number in denied:
        code += [op(_JEQ, number, 0, 1), notify if notifying and number in notified() else deny]
    code += [op(_JEQ, named["clone"], 0, 3), op(_LD_ABS, 16), op(_JSET, _NAMESPACE_FLAGS, 0, 1), deny]
    # after the clone test the accumulator may hold an argument: load the number again
    code += [op(_LD_ABS, 0), op(_JEQ, named["prlimit64"], 0, 7)]
    # prlimit64 on another process may read (new_limit null, both halves), not set
    code += [op(_LD_ABS, 16), op(_JEQ, 0, 5, 0), op(_LD_ABS, 32), op(_JEQ, 0, 0, 2), op(_LD_ABS, 36)]
    code += [op(_JEQ, 0, 1, 0), deny]
    # RWF_NOWAIT would tell whether a page of a file that all boxes share is in memory
    code += [op(_LD_ABS, 0), op(_JEQ, named["preadv2"], 0, 3), op(_LD_ABS, 56), op(_JSET, _RWF_NOWAIT, 0, 1)]
    code += [op(_RET, _ERRNO | _EOPNOTSUPP)]
    # a niceness above 0 and the policies BATCH and IDLE: ignored
    code += [op(_LD_ABS, 0), op(_JEQ, named["setpriority"], 0, 4), op(_LD_ABS, 32), op(_JEQ, 0, 2, 0)]
    code += [op(_JGE, 0x80000000, 1, 0), ignore]
    code += [op(_LD_ABS, 0), op(_JEQ, named["setscheduler"], 0, 4 + len(_LOW_POLICIES)), op(_LD_ABS, 24)]
    code += [op(_AND, ~_RESET_ON_FORK)]
    code += [op(_JEQ, policy, len(_LOW_POLICIES) - at, 0) for at, policy in enumerate(_LOW_POLICIES)]
    code += [op(_JA, 1), ignore]
    code += [op(_LD_ABS, 0), op(_JEQ, named["socket"], 0, 2 + len(_ALLOWED_FAMILIES)), op(_LD_ABS, 16)]
    left = len(_ALLOWED_FAMILIES)
    for family in _ALLOWED_FAMILIES:
        code.append(op(_JEQ, family, left, 0))
        left -= 1
    code += [deny, allow]
    return b"".join(code), len(code)


class _Program(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def prepare():
    """The filter for `install`, assembled once per box: one that notifies init, and one that only denies."""
    made = []
    for notifying in (True, False):
        code, length = _assemble(notifying)
        buffer = ctypes.create_string_buffer(code, len(code))
        made.append((_Program(length, ctypes.cast(buffer, ctypes.c_void_p)), buffer))
    return made


def install(prepared):
    """Filter this thread and all it starts from here on; the listener's fd, or -1. Needs no_new_privs."""
    number = _SECCOMP[os.uname().machine]
    listener = kernel.libc.syscall(number, _SET_MODE_FILTER, _NEW_LISTENER, ctypes.byref(prepared[0][0]))
    if listener < 0:  # this kernel has no notifications
        kernel.prctl(22, 2, ctypes.addressof(prepared[1][0]))
    return listener
