"""What a guest says of a run, checked field by field: type, bound, and that the sizes add up. Trusts nothing."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox_gym.contract import Outcome, Status
from sandbox_gym.limits import Limits


def parse_outcome(header: Mapping[str, object], body: bytes, run_id: int, limits: Limits) -> Outcome:
    """Check every field's type and bound. Raises KeyError, TypeError or ValueError."""
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
    wall_s = _number(header["wall_s"])
    return Outcome(
        status=Status(str(header["status"])),
        exit_code=_optional_int(header["exit_code"]),
        signal=_optional_int(header["signal"]),
        stdout=body[: sizes[0]],
        stderr=body[sizes[0] : sizes[0] + sizes[1]],
        channel=body[sizes[0] + sizes[1] :],
        cpu_time_s=_number(header["cpu_s"]),
        wall_time_s=wall_s,
        starved_s=starved(header["starved_s"], wall_s),
        peak_memory_bytes=int(_number(header["peak_bytes"])),
        detail=str(header["detail"])[:500],
        tamper=tuple(str(signal)[:200] for signal in tamper),
    )


def starved(value: object, wall_s: float) -> float | None:
    """For how long a run wanted CPU that others had: at most all its time. None where its guest can't tell."""
    return None if value is None else min(_number(value), wall_s)


def seconds(value: object) -> float:
    """A cost that only informs: 0 where the guest says none."""
    try:
        return _number(value)
    except TypeError:
        return 0.0


def _optional_int(value: object) -> int | None:
    if value is None or (type(value) is int and abs(value) < 1 << 31):
        return value
    raise TypeError("not an integer")


def _number(value: object) -> float:
    if not (type(value) is int or type(value) is float) or not 0 <= value < 1e15:
        raise TypeError("not a number")
    return float(value)
