"""
When to send a failed request again. Pure functions; times in milliseconds, `random` returns 0 to below 1.
"""

from __future__ import annotations

import re
from email.utils import parsedate_to_datetime
from typing import Callable, Optional

#: Least time between the starts of two requests, to limit the load from a faulty service.
FLOOR_MS = 100.0
_FIRST_BACKOFF_MS = 500.0
#: The longest `Retry-After` that is honoured.
_RETRY_AFTER_MAX_MS = 30_000.0
REQUEST_TIMEOUT_MS = 10_000.0


def delay_after_error(
    failures: int,
    poll_interval_ms: float,
    random: Callable[[], float],
    *,
    retry_after_ms: Optional[float] = None,
    life_ms: Optional[float] = None,
) -> float:
    """
    Exponential with full jitter, at most one interval; longer only if the service asks for it. Never longer
    than the life that is left allows. `life_ms` is None if there is nothing that goes stale.
    """
    cap = min(poll_interval_ms, _FIRST_BACKOFF_MS * 2.0 ** min(failures - 1, 16))
    wanted = max(FLOOR_MS, random() * cap, min(retry_after_ms or 0.0, _RETRY_AFTER_MAX_MS))
    if life_ms is None:
        return wanted
    return max(FLOOR_MS, min(most_delay(life_ms, poll_interval_ms), wanted))


def most_delay(life_ms: float, poll_interval_ms: float) -> float:
    """
    Half of the life that is left, so that another attempt fits, and one interval when the keys are stale. The
    halves of the last second would be a burst of requests, from a whole fleet at once.
    """
    return max(_FIRST_BACKOFF_MS, life_ms / 2) if life_ms > 0 else poll_interval_ms


def read_date(header: Optional[str]) -> Optional[float]:
    """Milliseconds since the epoch; None if it is not a date."""
    if header is None:
        return None
    try:
        return parsedate_to_datetime(header).timestamp() * 1000
    except (TypeError, ValueError, IndexError, OverflowError):
        return None


def read_retry_after(header: Optional[str], now: float) -> Optional[float]:
    """In milliseconds, from seconds or from a date by this machine's clock. None for anything else."""
    if header is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", header):
        return int(header) * 1000.0
    date = read_date(header)
    return None if date is None else max(0.0, date - now)
