"""When to poll the feed again. Pure functions; times in milliseconds, `random` returns 0 to below 1."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Callable

from ..wire.schedule import FLOOR_MS, REQUEST_TIMEOUT_MS, most_delay

#: An unchanged answer that comes sooner than this was not held as promised: the service is shutting down.
HELD_MS = 1_000
#: A request may take this much longer than its answer is held.
HELD_TIMEOUT_SLACK_MS = 5_000
WAIT_MAX_SECONDS = 25
#: Less than this is too little for an answer over a new connection.
_REQUEST_TIMEOUT_MIN_MS = 2_000.0


def plain_timeout(life_ms: float) -> float:
    """
    How long to wait for an answer that is not held. A connection may be dead. Once the keys are stale, it may
    be slow, and a short timeout would end each attempt.
    """
    if life_ms <= 0:
        return REQUEST_TIMEOUT_MS
    return min(REQUEST_TIMEOUT_MS, max(_REQUEST_TIMEOUT_MIN_MS, life_ms / 2))


@dataclass
class Polled:
    #: `snapshot`, `delta` or `unchanged`.
    outcome: str
    #: Whether the service holds unchanged answers as requested.
    waits: bool
    #: Successive snapshots in place of deltas, and the last of them, whose version did not rise.
    reseeds: int
    stuck: int
    #: Answers are held for no longer than this, because longer holds failed. Infinite otherwise.
    cut_to_ms: float
    #: How long the keys will be served; 0 or less if an answer came from a cache.
    life_ms: float
    #: Keys may have changed since, because the snapshot had several pages.
    more: bool = False
    #: The first snapshot of a process. The next poll finds out whether the service holds answers.
    first: bool = False
    #: The first answer of a process that the service did not hold.
    unphased: bool = False
    took_ms: float = 0.0


def delay_after(polled: Polled, poll_interval_ms: float, random: Callable[[], float]) -> float:
    """
    If the service holds answers: at once. Otherwise one interval after the start of the last request or
    slightly sooner, never later, because the interval bounds how long a revoked key works. The first interval
    is cut at random, so that a fleet that starts together does not poll together.
    """
    floor = max(0.0, FLOOR_MS - polled.took_ms)
    wanted = _wanted_delay(polled, poll_interval_ms, random)
    return max(floor, min(most_delay(polled.life_ms, poll_interval_ms), wanted))


def _wanted_delay(polled: Polled, poll_interval_ms: float, random: Callable[[], float]) -> float:
    if polled.reseeds > 1:
        return _reseed_delay(polled, poll_interval_ms, random) - polled.took_ms
    if polled.more or polled.first:
        return 0.0
    # Holds that were cut to less than the interval would cost the service more than no holds.
    is_brief = polled.cut_to_ms < poll_interval_ms
    was_held = polled.outcome != "unchanged" or polled.took_ms >= HELD_MS
    if polled.waits and not is_brief and was_held:
        return 0.0
    if polled.unphased:
        return random() * poll_interval_ms
    return poll_interval_ms * (0.9 + 0.1 * random()) - polled.took_ms


def _reseed_delay(polled: Polled, poll_interval_ms: float, random: Callable[[], float]) -> float:
    """
    A service that keeps answering with snapshots is asked once per interval at most, and ever less often
    while its version does not rise.
    """
    intervals = 2.0 ** min(16, max(0, polled.stuck - 1))
    most = max(poll_interval_ms, polled.life_ms / 2)
    return min(most, poll_interval_ms * intervals) * (0.9 + 0.1 * random())


def wait_seconds(life_ms: float) -> int:
    """
    How many seconds the service may hold an answer; 0: not at all. Even without an answer, the request ends
    within half of the life that is left.
    """
    return min(WAIT_MAX_SECONDS, max(0, int((life_ms / 2 - HELD_TIMEOUT_SLACK_MS) // 1000)))
