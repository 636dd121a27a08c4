"""What a run's threads waited for others' sake, by simulated schedules; and what is made of it, by generated cases."""

from __future__ import annotations

import random
from contextlib import AbstractAsyncContextManager, nullcontext
from dataclasses import dataclass, replace

import pytest

from sandbox_gym.contract import DialogueOutcome, Doubt, Outcome, Status
from sandbox_gym.guest.runs.starvation import SLICE_S, Waits, measurable
from sandbox_gym.limits import STARVED_SHARE, Limits
from sandbox_gym.plans.starvation import QuietSlot, doubt_of_compiler, is_starved, may_go_aside
from sandbox_gym.sandbox.channel.outcomes import starved

TICK_S = 0.001


@dataclass
class Thread:
    """A simulated thread: `wants` says of each tick whether it becomes runnable; it stays so until it had a CPU."""

    number: int
    wants: list[bool]
    born: int
    cpu_s: float = 0.0
    wait_s: float = 0.0
    queued_s: float = 0.0
    slices: int = 0

    def wanting(self, tick: int) -> bool:
        return self.alive(tick) and (self.queued_s > 0 or self.wants[tick - self.born])

    def alive(self, tick: int) -> bool:
        return self.born <= tick < self.born + len(self.wants)


class Machine:
    """Some CPUs, of which others take as many as `taken` says at each tick; the run's own quota holds it at times."""

    def __init__(self, cpus: int, threads: list[Thread], taken: list[int], held: list[bool]) -> None:
        self.cpus, self.threads, self.taken, self.held = cpus, threads, taken, held
        self.used_s = self.held_s = self.truth_s = 0.0
        self.waits = Waits([], 0.0, 0.0)

    def run(self, pause: int) -> float:
        """The waits found by a look every `pause` ticks. `truth_s`: ticks at which a thread waited while others had a
        CPU."""
        for tick, taken in enumerate(self.taken):
            self._step(tick, taken)
            if tick % pause == pause - 1:
                told = [((1, t.number), t.cpu_s, t.wait_s, t.slices) for t in self.threads if t.alive(tick)]
                self.waits.look(told, self.used_s, self.held_s)
        return self.waits.best_s

    def _step(self, tick: int, taken: int) -> None:
        wanting = sorted((t for t in self.threads if t.wanting(tick)), key=lambda t: t.cpu_s)
        free = 0 if self.held[tick] else self.cpus - taken
        for thread in wanting[:free]:
            thread.cpu_s += TICK_S
            thread.wait_s += thread.queued_s  # the kernel adds a wait up when it is over
            thread.slices += thread.queued_s > 0
            thread.queued_s = 0.0
        self.used_s += TICK_S * min(free, len(wanting))
        for thread in wanting[free:]:
            thread.queued_s += TICK_S
        if self.held[tick] and wanting:
            self.held_s += TICK_S * self.cpus
        elif wanting[free:] and taken:
            self.truth_s += TICK_S


def machine(seed: int, *, others: bool) -> Machine:
    dice = random.Random(seed)
    ticks, cpus = dice.choice([400, 1000]), dice.randint(1, 4)
    threads = []
    for number in range(dice.choice([1, 2, 3, 8, 30])):
        born = dice.choice([0, 0, dice.randrange(ticks)])
        busy = dice.choice([0.0, 0.05, 0.5, 0.9, 1.0])
        life = dice.choice([ticks - born, dice.randrange(1, ticks)])
        threads.append(Thread(number, [dice.random() < busy for _ in range(life)], born))
    hold = dice.choice([0.0, 0.0, 0.3, 0.8])
    taken = [dice.randint(0, cpus) if others else 0 for _ in range(ticks)]
    return Machine(cpus, threads, taken, [dice.random() < hold for _ in range(ticks)])


@pytest.mark.parametrize("seed", range(60))
def test_what_is_found_is_never_more_than_there_was(seed: int) -> None:
    simulated = machine(seed, others=True)
    assert simulated.run(pause=random.Random(seed).choice([20, 50, 100])) <= simulated.truth_s + 1e-9


@pytest.mark.parametrize("seed", range(30))
def test_without_others_nothing_is_found(seed: int) -> None:
    """Whatever a run's own threads, forks, sleeps and quota do to one another."""
    assert machine(seed, others=False).run(pause=50) == 0.0


@pytest.mark.parametrize("lives", [1, 10])
def test_who_always_wants_is_told_nearly_all(lives: int) -> None:
    """Nine ticks of ten are others': of one thread, or of ten one after the other."""
    ticks = 2000
    threads = [Thread(n, [True] * (ticks // lives), n * ticks // lives) for n in range(lives)]
    simulated = Machine(1, threads, [int(tick % 10 != 0) for tick in range(ticks)], [False] * ticks)
    found_s, truth_s = simulated.run(pause=20), 0.9 * ticks * TICK_S
    assert simulated.truth_s == pytest.approx(truth_s)
    assert found_s > (0.9 if lives == 1 else 0.6) * truth_s


def test_idle_cpus_that_wake_are_nobodys_fault() -> None:
    """Two processes that pass a byte to and fro wait a little each time, on a machine of their own."""
    waits = Waits([((1, 1), 0.0, 0.0, 0)], 0.0, 0.0)
    assert waits.look([((1, 1), 0.2, 0.9 * SLICE_S * 50_000, 50_000)], 0.2, 0.0) == 0.0


def test_a_thread_whose_number_is_used_again_is_another() -> None:
    waits = Waits([((1, 7), 0.0, 3.0, 9)], 0.0, 0.0)
    assert waits.look([((1, 7), 0.0, 8.0, 10)], 0.0, 0.0) == pytest.approx(5.0, abs=0.01)
    assert waits.look([((1, 7), 0.0, 1.0, 1)], 0.0, 0.0) == pytest.approx(6.0, abs=0.01)


def test_this_kernel_counts_waits() -> None:
    """Else the tests of what local boxes measure would prove nothing here."""
    assert measurable()


# -- what is made of it

LIMITS = Limits(cpu_time_s=2.0, wall_time_s=8.0)


def slot() -> AbstractAsyncContextManager[None]:
    return nullcontext()


def doubt(outcome: Outcome, *, busy: bool = True) -> Doubt | None:
    return QuietSlot(lambda: busy, slot).doubt(outcome, LIMITS)


def over(cpu_s: float = 0.1, starved_s: float | None = 0.0) -> Outcome:
    return Outcome(Status.WALL_TIME_LIMIT, cpu_time_s=cpu_s, wall_time_s=8.0, starved_s=starved_s)


@pytest.mark.parametrize("seed", range(20))
def test_the_more_starved_the_more_doubted(seed: int) -> None:
    """Whatever CPU time it got, and whether the machine looks busy or not."""
    dice = random.Random(seed)
    for _ in range(100):
        less, more = sorted(dice.uniform(0, 8) for _ in range(2))
        cpu_s, busy = dice.uniform(0, 2), dice.random() < 0.5
        found = [doubt(over(cpu_s, starved_s), busy=busy) for starved_s in (less, more)]
        assert found[1] is Doubt.STARVED or found == [None, None]
        assert (found[0] is Doubt.STARVED) == (less >= STARVED_SHARE * LIMITS.wall_time_s)


def test_a_sleeper_is_not_doubted_and_one_that_nobody_measured_is_on_a_busy_machine() -> None:
    assert doubt(over(starved_s=0.0)) is None
    assert doubt(over(starved_s=None)) is Doubt.UNMEASURED
    assert doubt(over(cpu_s=0.0, starved_s=None)) is Doubt.UNMEASURED
    assert doubt(over(starved_s=None), busy=False) is None


@pytest.mark.parametrize("status", [one for one in Status if one is not Status.WALL_TIME_LIMIT])
def test_starvation_excuses_nothing_but_wall_time(status: Status) -> None:
    assert doubt(replace(over(starved_s=8.0), status=status)) is None


def test_a_partner_excuses_what_it_waited_but_for_what_kept_it_waiting() -> None:
    waiting = Outcome(Status.OK, wall_time_s=8.0, starved_s=5.0)
    assert is_starved(over(cpu_s=0.1), 8.0, waiting)
    assert not is_starved(over(cpu_s=4.9), 8.0, waiting)


@pytest.mark.parametrize(
    ("asker", "candidate", "found"),
    [
        pytest.param(
            Outcome(Status.OK, 0, starved_s=5.0), over(), Doubt.STARVED, id="candidate waits for a starved asker"
        ),
        pytest.param(Outcome(Status.OK, 0, starved_s=0.0), over(), None, id="candidate sleeps"),
        pytest.param(over(starved_s=5.0), Outcome(Status.OK, 0, starved_s=0.0), Doubt.STARVED, id="asker starved"),
        pytest.param(over(cpu_s=4.0), Outcome(Status.OK, 0, starved_s=0.0), None, id="asker spins"),
        pytest.param(over(cpu_s=0.0), Outcome(Status.OK, 0, starved_s=0.0), None, id="asker hangs"),
        pytest.param(
            Outcome(Status.OK, wall_time_s=8.0, starved_s=5.0),
            Outcome(Status.OK, 0, starved_s=0.0),
            Doubt.STARVED,
            id="asker was ended before it had the CPU for its verdict",
        ),
        pytest.param(
            Outcome(Status.OK, wall_time_s=8.0, starved_s=5.0),
            Outcome(Status.RUNTIME_ERROR, 1, starved_s=0.0),
            None,
            id="the same, of no matter",
        ),
        pytest.param(
            Outcome(Status.OK, 43, starved_s=5.0), Outcome(Status.OK, starved_s=5.0), None, id="asker had its say"
        ),
    ],
)
def test_dialogues(asker: Outcome, candidate: Outcome, found: Doubt | None) -> None:
    quiet = QuietSlot(lambda: False, slot)
    assert quiet.doubt_of_dialogue(DialogueOutcome(asker, candidate), LIMITS, LIMITS) is found


@pytest.mark.parametrize("value", ["1", True, -1.0, float("nan"), 10**400, [1]])
def test_a_guest_that_says_nonsense_is_not_believed(value: object) -> None:
    with pytest.raises(TypeError):
        starved(value, 8.0)


def test_nobody_starves_for_longer_than_it_ran() -> None:
    assert (starved(1e12, 8.0), starved(2, 8.0), starved(None, 8.0)) == (8.0, 2.0, None)


def test_a_compiler_whose_part_was_killed_is_tried_again() -> None:
    for words in (
        b"g++: fatal error: Killed signal terminated program cc1plus",
        b"collect2: error: ld terminated; signal 9",
    ):
        assert doubt_of_compiler(Outcome(Status.RUNTIME_ERROR, exit_code=1, stderr=words)) is Doubt.KILLED
    assert doubt_of_compiler(Outcome(Status.RUNTIME_ERROR, exit_code=137)) is Doubt.KILLED
    assert doubt_of_compiler(Outcome(Status.RUNTIME_ERROR, exit_code=1, stderr=b"error: expected ';'")) is None
    assert doubt_of_compiler(Outcome(Status.OK, stderr=b"warning: Killed")) is None


@pytest.mark.parametrize(("why", "found"), [("Cannot allocate memory", Doubt.KILLED), ("Exec format error", None)])
def test_an_executable_that_was_refused_memory_is_tried_once_more(why: str, found: Doubt | None) -> None:
    refused = Outcome(Status.START_ERROR, exit_code=127, detail=f"OSError: [Errno 12] {why}: './main'")
    assert doubt(refused, busy=False) is found


@pytest.mark.parametrize(
    ("cpu_time_s", "wall_time_s", "aside"), [(10, 32, True), (30, 120, True), (14400, 1800, False)]
)
def test_what_may_take_long_is_never_tried_again_at_all_others_cost(
    cpu_time_s: float, wall_time_s: float, aside: bool
) -> None:
    assert may_go_aside(Limits(cpu_time_s=cpu_time_s, wall_time_s=wall_time_s)) == aside
