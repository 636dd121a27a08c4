"""What the kernel says of the box: OOM kills, CPU time, who is alive. Read from cgroup v2, v1, or /proc."""

import os

_TICK = os.sysconf("SC_CLK_TCK")


def _read(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def _field(text, name):
    for line in text.split("\n"):
        key, _space, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return None


def _open(root, paths, field):
    """A descriptor of the first file that is there, and holds `field` where one is named; -1 for none. It is kept:
    each run reads it anew."""
    for path in paths:
        text = _read(os.path.join(root, path))
        if text and (not field or _field(text, field) is not None):
            return os.open(os.path.join(root, path), os.O_RDONLY | os.O_CLOEXEC)
    return -1


def _again(fd):
    return os.pread(fd, 4096, 0).decode("ascii", "replace")


class Evidence:
    """Counters under `root`: either one v2 group, or a folder of v1 controllers; absent files are absent evidence."""

    def __init__(self, root, trusted):
        self._trusted = set(trusted)
        self._oom = _open(root, ("memory.events", "memory/memory.oom_control"), "oom_kill")
        self._cpu = _open(root, ("cpu.stat", "cpuacct/cpuacct.usage", "cpu,cpuacct/cpuacct.usage"), "")
        self.has_memory_cgroup = self._oom >= 0

    def oom_kills(self):
        return (_field(_again(self._oom), "oom_kill") or 0) if self._oom >= 0 else 0

    def cpu_s(self):
        """CPU seconds of the whole box so far, this supervisor's own left out."""
        if self._cpu < 0:
            return self._cpu_from_proc()
        text = _again(self._cpu)
        micros = _field(text, "usage_usec")
        total = micros / 1e6 if micros is not None else int(text or 0) / 1e9
        used = os.times()
        return total - used.user - used.system

    def _cpu_from_proc(self):
        total = 0
        for pid in self.strangers():
            # the command name may hold spaces and parentheses: fields are counted from the last one
            fields = _read("/proc/%d/stat" % pid).rpartition(")")[2].split()
            if len(fields) > 14:
                total += sum(int(x) for x in fields[11:15])
        return total / _TICK

    def strangers(self):
        """PIDs in the box that are not of the guest itself."""
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        return sorted(pids - self._trusted)

    def connections(self):
        """TCP sockets of the box's network, those that outlive their process (TIME_WAIT) too; 0 if none can tell."""
        found = 0
        for path in ("/proc/self/net/sockstat", "/proc/self/net/sockstat6"):
            for line in _read(path).split("\n"):
                fields = line.split()
                if fields[:1] in (["TCP:"], ["TCP6:"]):
                    told = dict(zip(fields[1::2], fields[2::2]))
                    found += int(told.get("inuse", 0)) + int(told.get("tw", 0))
        return found
