"""What the kernel says of the box: OOM kills, CPU time, who is alive. Read from cgroup v2, v1, or /proc."""

import os
import stat
import time

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


def touchable(dirs):
    """`dirs`, and of /dev what any user may write to: programs can set the times of these, and they outlive a run."""
    found = list(dirs)
    for folder in ("/dev", "/dev/pts", "/dev/mqueue"):
        if not os.path.isdir(folder):
            continue
        names = os.listdir(folder)
        for path in [folder] + [os.path.join(folder, name) for name in names]:
            about = os.lstat(path)
            if about.st_mode & 0o002 and not stat.S_ISLNK(about.st_mode) and path not in found:
                found.append(path)
    return found


class Evidence:
    """Counters under `root`: either one v2 group, or a folder of v1 controllers; absent files are absent evidence."""

    def __init__(self, root, trusted):
        self._trusted = set(trusted)
        self._oom = _open(root, ("memory.events", "memory/memory.oom_control"), "oom_kill")
        self._cpu = _open(root, ("cpu.stat", "cpuacct/cpuacct.usage", "cpu,cpuacct/cpuacct.usage"), "")
        self.has_memory_cgroup = self._oom >= 0

    def oom_kills(self):
        return (_field(_again(self._oom), "oom_kill") or 0) if self._oom >= 0 else 0

    @property
    def has_cpu_cgroup(self):
        return self._cpu >= 0

    def begin(self):
        """A run has been given to its init: `used_s` is the CPU time since now."""
        self._last_seen = {}
        self._reaped = 0
        self._before_s = self._group_s() if self.has_cpu_cgroup else 0.0
        if not self.has_cpu_cgroup:
            self._look()
            self._before = dict(self._last_seen), self._reaped

    def used_s(self):
        """CPU seconds of the box since `begin`, this supervisor's own left out, who reaped what or nobody did. Without
        a cgroup the zygote's and the init's are left out too, and so is what started and ended between two looks and
        nobody reaped."""
        if self.has_cpu_cgroup:
            return self._group_s() - self._before_s
        self._look()
        seen, reaped = self._before
        own = sum(self._last_seen.values()) - sum(seen.values())
        living = self._living - sum(seen.values()) + self._reaped - reaped
        return max(own, living) / _TICK

    def _group_s(self):
        text = _again(self._cpu)
        micros = _field(text, "usage_usec")
        total = micros / 1e6 if micros is not None else int(text or 0) / 1e9
        return total - time.process_time()

    def _look(self):
        """Note each process's own time, which stays when it is gone, and what the living reaped, which may be the same
        of others: the larger of the two sums counts."""
        self._reaped = self._living = 0
        for pid in self.strangers():
            # the command name may hold spaces and parentheses: fields are counted from the last one
            fields = _read("/proc/%d/stat" % pid).rpartition(")")[2].split()
            if len(fields) > 19:
                self._reaped += int(fields[13]) + int(fields[14])
                if int(fields[1]) not in self._trusted:  # else it is an init, the zygote's child
                    own = int(fields[11]) + int(fields[12])
                    self._last_seen[pid, fields[19]] = own
                    self._living += own

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

    def network(self):
        """What the box's network has counted, and the sockets above."""
        counted = [_read("/proc/self/net/" + name) for name in ("dev", "snmp", "snmp6", "netstat")]
        return [self.connections(), *counted]
