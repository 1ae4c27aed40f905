"""
When a key ends, as one number in its record: milliseconds since the epoch, or infinite. Half a millisecond
less than a time says that the key does not expire then, but is too old for its project. Times of the service
are whole milliseconds.
"""

from math import ceil, floor
from typing import Optional

NEVER = float("inf")


def end_of(expires_at: float, too_old_at: float) -> float:
    if too_old_at < expires_at:
        return floor(too_old_at) - 0.5
    return expires_at if expires_at == NEVER else float(floor(expires_at))


def refusal_after(end: float) -> str:
    """The code of the refusal of a key after its end."""
    return "expired_key" if end.is_integer() else "too_old"


def shown_end(end: float) -> Optional[float]:
    """None if there is none."""
    return None if end == NEVER else float(ceil(end))
