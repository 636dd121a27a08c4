"""What a guest says of a run, checked field by field: type, bound, and that the sizes add up. Trusts nothing."""

from __future__ import annotations

from collections.abc import Mapping

from sandbox_gym.contract import Outcome, Status
from sandbox_gym.limits import Limits

MOST = 1e15
"""No box has used so many seconds or bytes."""


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
    return Outcome(
        status=Status(str(header["status"])),
        exit_code=_optional_int(header["exit_code"]),
        signal=_optional_int(header["signal"]),
        stdout=body[: sizes[0]],
        stderr=body[sizes[0] : sizes[0] + sizes[1]],
        channel=body[sizes[0] + sizes[1] :],
        cpu_time_s=quantity(header["cpu_s"]),
        wall_time_s=quantity(header["wall_s"]),
        peak_memory_bytes=int(quantity(header["peak_bytes"])),
        detail=str(header["detail"])[:500],
        tamper=tuple(str(signal)[:200] for signal in tamper),
    )


def seconds(value: object) -> float:
    """A cost that only informs: 0 where the guest says none."""
    try:
        return quantity(value)
    except TypeError:
        return 0.0


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
