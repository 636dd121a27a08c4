"""A guest's report of a run, checked field by field: type, bound, and that the sizes add up. Trusts nothing."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox_gym.contract import Outcome
from sandbox_gym.limits import Limits
from sandbox_gym.sandbox.blame import Ending, of_run

MOST = 1e15
"""No box has used so many seconds or bytes."""


def parse_outcome(header: Mapping[str, object], body: bytes, run_id: int, limits: Limits) -> Outcome:
    """Check every field's type and bound. Raises KeyError, TypeError or ValueError, and `blame.NotTheProgram`."""
    if header["op"] != "result" or header["id"] != run_id:
        raise ValueError(f"expected the result of run {run_id}")
    sizes = header["sizes"]
    if not isinstance(sizes, list) or len(sizes) != 3 or not all(type(n) is int and n >= 0 for n in sizes):
        raise ValueError("sizes")
    if sum(sizes) != len(body) or sizes[0] > limits.stdout_bytes or sizes[1] > limits.stderr_bytes:
        raise ValueError("sizes do not add up")
    tamper = header["tamper"]
    if not isinstance(tamper, list) or len(tamper) > 16:
        raise ValueError("tamper")
    cpu_s, wall_s, ending = quantity(header["cpu_s"]), quantity(header["wall_s"]), header["ending"]
    if not isinstance(ending, dict):
        raise TypeError("ending")
    seen = _ending(ending, cpu_s)
    status, detail = of_run(seen, limits)
    return Outcome(
        status=status,
        exit_code=seen.exit_code,
        signal=seen.signal,
        stdout=body[: sizes[0]],
        stderr=body[sizes[0] : sizes[0] + sizes[1]],
        channel=body[sizes[0] + sizes[1] :],
        cpu_time_s=cpu_s,
        wall_time_s=wall_s,
        starved_s=starved(header["starved_s"], wall_s),
        peak_memory_bytes=seen.peak_bytes,
        detail=detail,
        tamper=tuple(str(signal)[:200] for signal in tamper),
        shared=_flag(header["shared"]),
    )


def _ending(reported: Mapping[str, object], cpu_s: float) -> Ending:
    return Ending(
        stopped=str(reported["stopped"])[:40],
        reported=_flag(reported["reported"]),
        exit_code=_optional_int(reported["exit_code"]),
        signal=_optional_int(reported["signal"]),
        unstarted=_optional_words(reported["unstarted"]),
        unprepared=_optional_words(reported["unprepared"]),
        cpu_s=cpu_s,
        peak_bytes=int(quantity(reported["peak_bytes"])),
        data_over=_flag(reported["data_over"]),
        oom_kills=int(quantity(reported["oom_kills"])),
        memory_full=_flag(reported["memory_full"]),
        forks_denied=int(quantity(reported["forks_denied"])),
        processes_full=_flag(reported["processes_full"]),
    )


def _flag(value: object) -> bool:
    if type(value) is not bool:
        raise TypeError("not a flag")
    return value


def starved(value: object, wall_s: float) -> float | None:
    """For how long a run wanted CPU that others had: at most all its time. None where its guest can't tell."""
    return None if value is None else min(quantity(value), wall_s)


def seconds(value: object) -> float:
    """A cost that only informs: 0 where the guest says none."""
    try:
        return quantity(value)
    except TypeError:
        return 0.0


def _optional_words(value: object) -> str | None:
    return None if value is None else str(value)[:500]


def _optional_int(value: object) -> int | None:
    if value is None or (type(value) is int and abs(value) < 1 << 31):
        return value
    raise TypeError("not an integer")


def quantity(value: object) -> float:
    """A number that a box says, such as seconds or bytes; compared before it is converted, for an integer of 400 digits
    has no float. Raises TypeError."""
    if not (type(value) is int or type(value) is float) or not 0 <= value < MOST:
        raise TypeError("not a number")
    return float(value)
