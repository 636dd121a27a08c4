"""What the kernel counts of the box: memory, processes, CPU time, network. From cgroup v2 or v1, or from /proc."""

import os
import stat
import time

from .starvation import read

NEAR_CAP = 1 << 20
"""Bytes by which a peak may stay below the memory limit that it reached: the CPUs charge memory ahead."""
KEPT_BY_NETWORK = ("dev", "snmp", "snmp6", "netstat", "ip6_flowlabel")
"""Files of /proc/net that show what a program's use of a network leaves in it. Flow labels stay for up to a minute."""
_TICK = os.sysconf("SC_CLK_TCK")


def _field(text, name):
    for line in text.split("\n"):
        key, _space, value = line.partition(" ")
        if key == name and value.strip().isdigit():
            return int(value)
    return None


def _number(text):
    text = text.strip()
    return int(text) if text.isdigit() else 0


def _above(root):
    folder = os.path.join(os.path.dirname(root), "above")
    return [os.path.join(folder, name) for name in sorted(os.listdir(folder))] if os.path.isdir(folder) else []


def _open(root, paths, field):
    """A descriptor of the first file that exists, and holds `field` where one is named; -1 for none. It stays open, and
    every run reads it anew."""
    for path in paths:
        text = read(os.path.join(root, path))
        if text and (not field or _field(text, field) is not None):
            return os.open(os.path.join(root, path), os.O_RDONLY | os.O_CLOEXEC)
    return -1


def _reread(fd):
    return os.pread(fd, 4096, 0).decode("ascii", "replace")


def world_writable(dirs):
    """`dirs` and the entries of /dev that any user may write to: a program can set their times, which outlive its
    run."""
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
    """Counters under `root`: one v2 group, or a folder of v1 controllers; a missing file is missing evidence. The v2
    groups above it, where visible, are the folders of `above` beside it. `trusted`: the guest's PIDs, live."""

    def __init__(self, root, trusted):
        self._trusted = trusted
        self._oom = _open(root, ("memory.events", "memory/memory.oom_control"), "oom_kill")
        self._full = _open(root, ("memory.events",), "oom")
        v1 = (_open(root, ("memory/memory.%sfailcnt" % kind,), "") for kind in ("", "memsw."))
        self._failures = [fd for fd in v1 if fd >= 0]
        self._peak = _open(root, ("memory/memory.max_usage_in_bytes",), "")
        self._cap = _open(root, ("memory/memory.limit_in_bytes",), "")
        self._forks = _open(root, ("pids.events", "pids/pids.events"), "max")
        self._above = [_open(folder, ("pids.events.local",), "max") for folder in _above(root)]
        self._most = _open(root, ("pids.peak", "pids/pids.peak"), "")
        self._processes_max = _open(root, ("pids.max", "pids/pids.max"), "")
        self._cpu = _open(root, ("cpu.stat", "cpuacct/cpuacct.usage", "cpu,cpuacct/cpuacct.usage"), "")
        self.has_memory_cgroup = self._oom >= 0

    def oom_kills(self):
        return (_field(_reread(self._oom), "oom_kill") or 0) if self._oom >= 0 else 0

    def counters(self):
        """(OOM kills in the box, times that the box was at its own memory limit, forks refused by the box's process cap
        or by one above it, forks refused by one above it)."""
        above = sum(self._counted(fd, "max") for fd in self._above)
        return self.oom_kills(), self._times_full(), self._counted(self._forks, "max") + above, above

    def _times_full(self):
        """v2 counts it; v1 counts charges over its limit, also those for which memory was then reclaimed."""
        if self._full >= 0:
            return self._counted(self._full, "oom")
        return sum(_number(_reread(fd)) for fd in self._failures)

    def memory_full(self, times_before):
        """Whether the box was at its own memory limit since then. Where v1 of a new kernel leaves its counts at 0, its
        peak decides, which covers the box's whole task."""
        if self._times_full() > times_before:
            return True
        known = self._full < 0 and self._peak >= 0 and self._cap >= 0
        return known and _number(_reread(self._peak)) >= _number(_reread(self._cap)) - NEAR_CAP

    def _counted(self, fd, field):
        return (_field(_reread(fd), field) or 0) if fd >= 0 else 0

    def processes_full(self, above):
        """Whether the box's own process cap refused a process; `above` were refused by a cap above it. v1, and v2
        before Linux 6.11, count both in the box's group: there the group's peak decides (Linux 6.5 on), and without a
        peak the box's own cap counts as the cause."""
        if above or self._most < 0 or self._processes_max < 0:
            return not above
        cap = _reread(self._processes_max).strip()
        return cap.isdigit() and _number(_reread(self._most)) >= int(cap)

    @property
    def has_cpu_cgroup(self):
        return self._cpu >= 0

    def begin(self):
        """A run was given to its init: `used_s` counts from now on."""
        self._last_seen = {}
        self._reaped = 0
        self._before = self.reading()

    def go_on(self, reading):
        """A run was given to a process that exists already: `used_s` counts from that `reading` on."""
        self._before = reading

    def reading(self):
        """What was used until now, for `go_on` and `used_s`."""
        if self.has_cpu_cgroup:
            return self._group_s()
        self._look()
        return dict(self._last_seen), self._reaped

    def used_s(self, since=None, until=None):
        """CPU seconds of the box since `begin` or that reading, without the supervisor's, whichever process reaped them
        or none did. Without a cgroup also without the zygote's and the init's, and without processes that began and
        ended unreaped between two readings. `until`: a reading that was taken just now."""
        before = self._before if since is None else since
        if self.has_cpu_cgroup:
            return (self._group_s() if until is None else until) - before
        self._look()
        seen, reaped = before
        own = sum(self._last_seen.values()) - sum(seen.values())
        living = self._living - sum(seen.values()) + self._reaped - reaped
        return max(own, living) / _TICK

    def _group_s(self):
        text = _reread(self._cpu)
        micros = _field(text, "usage_usec")
        total = micros / 1e6 if micros is not None else int(text or 0) / 1e9
        return total - time.process_time()

    def _look(self):
        """Record each process's own time, which stays when it has ended, and what living processes reaped. Both may
        count the same process: `used_s` takes the larger sum."""
        self._reaped = self._living = 0
        for pid in self.program_pids():
            # the command name may hold spaces and parentheses: fields are counted from the last one
            fields = read("/proc/%d/stat" % pid).rpartition(")")[2].split()
            if len(fields) > 19:
                self._reaped += int(fields[13]) + int(fields[14])
                if int(fields[1]) not in self._trusted:  # else it is an init, the zygote's child
                    own = int(fields[11]) + int(fields[12])
                    self._last_seen[pid, fields[19]] = own
                    self._living += own

    def program_pids(self):
        """PIDs in the box that are not the guest's own."""
        pids = {int(name) for name in os.listdir("/proc") if name.isdigit()}
        return sorted(pids - self._trusted)

    def connections(self):
        """TCP sockets of the box's network, those in TIME_WAIT included; 0 where the kernel does not say."""
        found = 0
        for path in ("/proc/self/net/sockstat", "/proc/self/net/sockstat6"):
            for line in read(path).split("\n"):
                fields = line.split()
                if fields[:1] in (["TCP:"], ["TCP6:"]):
                    counts = dict(zip(fields[1::2], fields[2::2]))
                    found += int(counts.get("inuse", 0)) + int(counts.get("tw", 0))
        return found

    def network(self):
        """The counters of the box's network, and its `connections`."""
        return [self.connections(), *(read("/proc/self/net/" + name) for name in KEPT_BY_NETWORK)]
