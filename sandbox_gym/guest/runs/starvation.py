"""CPU time that other processes took from a run: how long its threads waited in the kernel's run queues.

/proc/PID/task/TID/schedstat has for each thread its CPU time, its wait in the run queue, and its number of slices. A
thread that sleeps, is stopped or waits for a disk is in no queue. From a thread's wait this module subtracts the CPU
time of the run's own threads and the time for which the run's own CPU quota throttled it. The rest is a lower bound of
what others took, which a program can't raise by threads, forks, sleeps or signals, nor by its niceness (seccomp.py).
Imports no other module of the guest: a service's program has this one alone.
"""

import os
import time

SLICE_S = 1e-4
"""Subtracted from each wait: the time in which an idle CPU wakes up."""
_LOOKS = 64
"""Readings in a run's wall time, or more; threads that live between two of them are not seen."""
_PAUSE_S = (0.1, 1.0)
"""Of a long run's programs, one after the other, each may have a time limit of its own."""
_FIRST_S = 0.05
"""Runs shorter than this are not measured, at no cost."""
_COST = 50
"""A reading's CPU time is at most 1/50 of the time until the next."""
_CPUS = os.cpu_count() or 1
_TICK = os.sysconf("SC_CLK_TCK")
_QUOTAS = ("cpu.stat", "cpu/cpu.stat", "cpu,cpuacct/cpu.stat")


def read(path):
    """A file's text; empty where there is none."""
    try:
        with open(path) as file:
            return file.read()
    except OSError:  # the thread has ended, or this kernel has no such file
        return ""


def threads(pid):
    """[(thread, CPU seconds, seconds in a run queue, slices)] of a process; none where the kernel does not say."""
    try:
        tids = os.listdir("/proc/%d/task" % pid)
    except OSError:
        return []
    found = []
    for tid in tids:
        fields = read("/proc/%d/task/%s/schedstat" % (pid, tid)).split()
        if len(fields) == 3:
            found.append(((pid, int(tid)), int(fields[0]) / 1e9, int(fields[1]) / 1e9, int(fields[2])))
    return found


def measurable():
    """Whether this kernel counts waits: gVisor does not, nor does one without CONFIG_SCHED_INFO."""
    return any(cpu_s > 0 for _thread, cpu_s, _wait_s, _slices in threads(os.getpid()))


def _last_pid():
    """The PID of the newest process."""
    words = read("/proc/loadavg").split()
    return int(words[-1]) if words else 0


class Waits:
    """The longest time for which a chain of threads, one after the other, waited because of other processes. `found`:
    as `threads` gives it; `used_s`: CPU seconds of them all, ended threads included; `throttled_s`: seconds for which
    their own quota throttled them. Both only grow."""

    def __init__(self, found, used_s, throttled_s):
        """`found`: the threads that exist already, none of which waits."""
        self.best_s = 0.0
        self._before = used_s, throttled_s
        self._known = {
            thread: ((0.0, used_s, throttled_s, cpu_s, wait_s, slices), wait_s)
            for thread, cpu_s, wait_s, slices in found
        }

    def look(self, found, used_s, throttled_s):
        """`found`: all living threads. A new one is younger than the last reading, so its wait adds to what was found
        until then. Returns the longest wait."""
        known, best_s = {}, self.best_s
        for thread, cpu_s, wait_s, slices in found:
            record, last_s = self._known.get(thread, (None, 0.0))
            if record is None or wait_s < last_s:  # the TID may have been reused
                record = (self.best_s, *self._before, 0.0, 0.0, 0)
            base_s, used_then, throttled_then, cpu_then, wait_then, slices_then = record
            others_s = max(0.0, used_s - used_then - (cpu_s - cpu_then))
            waited_s = wait_s - wait_then - SLICE_S * (slices - slices_then)
            best_s = max(best_s, base_s + waited_s - others_s - (throttled_s - throttled_then))
            known[thread] = record, wait_s
        self._known, self.best_s, self._before = known, best_s, (used_s, throttled_s)
        return best_s


class Starvation:
    """Measures one run of a box after the other. `evidence` knows its processes and their CPU time; `beat()` is called
    while a reading takes long."""

    def __init__(self, evidence, root, trusted, beat):
        self._evidence, self._trusted, self.measurable, self._beat = evidence, trusted, measurable(), beat
        paths = [os.path.join(root, name) for name in _QUOTAS]
        quota = next((path for path in paths if "throttled_" in read(path)), "")
        self._quota = os.open(quota, os.O_RDONLY | os.O_CLOEXEC) if quota else -1
        self._waits, self._stolen_s = Waits([], 0.0, 0.0), 0.0

    def begin(self, started, wall_time_s, goes_on=False):
        """A run has begun with this limit of wall time; 0: do not measure it. `goes_on`: in a process that ran another
        before, whose waits are not its own: it is measured from the first reading on."""
        wanted = self.measurable and wall_time_s
        self._next = started + _FIRST_S if wanted else float("inf")
        self._pause_s = min(max(_PAUSE_S[0], wall_time_s / _LOOKS), _PAUSE_S[1])
        self._waits = Waits([], 0.0, self._throttled_s() if wanted else 0.0)
        self._goes_on = goes_on
        self._births = (_last_pid() if wanted and not self._evidence.has_cpu_cgroup else 0), 0
        self._machine, self._guests = None, {}
        self._looked, self._unseen_s, self._stolen_s = started, 0.0, 0.0

    def due_s(self, now):
        """Read where it is due; seconds until the next reading."""
        if now >= self._next:
            self.look(now)
        return self._next - now

    def look(self, now):
        """Read now; also before the run is killed."""
        if self._next == float("inf"):
            return
        before = time.thread_time()
        found = []
        for pid in self._evidence.program_pids():
            if not self._is_guest(pid) and self._at_its_priority(pid):
                found += threads(pid)
            self._beat()
        used_s = self._evidence.used_s()
        if not self._evidence.has_cpu_cgroup:
            used_s += self._unseen(now, len(found))
        if self._goes_on:
            self._waits, self._goes_on = Waits(found, used_s, self._throttled_s()), False
        self._waits.look(found, used_s, self._throttled_s())
        self._look_at_machine(used_s)
        self._looked = now
        self._next = now + max(self._pause_s, _COST * (time.thread_time() - before))

    def seconds(self):
        """Seconds of the current or the last run; None where the kernel does not count waits."""
        return self._waits.best_s + self._stolen_s if self.measurable else None

    def _throttled_s(self):
        """Seconds for which the box's own quota throttled it, all CPUs together."""
        text = os.pread(self._quota, 4096, 0).decode("ascii", "replace") if self._quota >= 0 else ""
        for line in text.split("\n"):
            name, _space, value = line.partition(" ")
            if name == "throttled_usec":
                return int(value) / 1e6
            if name == "throttled_time":
                return int(value) / 1e9
        return 0.0

    def _unseen(self, now, seen):
        """Without a cgroup: an upper bound of the CPU time of processes that began and ended between two readings."""
        (last, seen_then), self._births = self._births, (_last_pid(), seen)
        unseen = self._births[0] - last - max(0, seen - seen_then)
        self._unseen_s += (_CPUS if unseen < 0 else min(unseen, _CPUS)) * (now - self._looked)
        return self._unseen_s

    def _is_guest(self, pid):
        """Whether the process is the init, a child of the zygote, and so no program of the run."""
        if pid not in self._guests:
            fields = read("/proc/%d/stat" % pid).rpartition(")")[2].split()
            self._guests[pid] = len(fields) > 1 and int(fields[1]) in self._trusted
        return self._guests[pid]

    def _at_its_priority(self, pid):
        """False where a process lowered its autogroup, and so waits by choice; possible without a cgroup only."""
        if self._evidence.has_cpu_cgroup:
            return True
        nice = read("/proc/%d/autogroup" % pid).rpartition("nice ")[2].strip()
        return not nice.isdigit() or int(nice) == 0

    def _look_at_machine(self, used_s):
        """The steal time of the hypervisor; the run's share of it is its share of the machine's CPU time."""
        fields = read("/proc/stat").partition("\n")[0].split()[1:]
        if len(fields) < 8:
            return
        user, nice, system, _idle, _iowait, irq, softirq, steal = (int(field) / _TICK for field in fields[:8])
        busy_s = user + nice + system + irq + softirq
        if self._machine is None:
            self._machine = (busy_s, steal, used_s)
            return
        ran_s = busy_s - self._machine[0]
        if ran_s > 0:
            share = min(1.0, max(0.0, used_s - self._machine[2]) / ran_s)
            self._stolen_s = max(0.0, steal - self._machine[1]) * share
