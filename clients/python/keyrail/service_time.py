"""
The service's clock as this process knows it: `generated_at` of answers, advanced by the monotonic clock. The
service sets expiry by its clock, so expiry is judged by it too. `Date` has no effect on it: a proxy may write
its own.
"""

from __future__ import annotations

from typing import List, Optional

from .world import World

#: How far a time may lie behind without being that of another clock: answers need time to arrive, and clocks
#: drift.
_SLACK_MS = 2_000
#: A clock that lies behind is followed once this many answers have agreed on it for this long. Answers of a
#: cache do not agree, because their time stands still.
_AGREED_MS = 5_000
_AGREED_TIMES = 3
#: Clocks behind that are observed at a time: several processes of the service may answer by turns.
_BEHIND_MAX = 8


class _Behind:
    __slots__ = ("offset", "since", "times")

    def __init__(self, offset: float, since: float) -> None:
        self.offset = offset
        self.since = since
        self.times = 1


class ServiceTime:
    """Before the first answer it is the time that an earlier process knew, or else this machine's."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._offset: Optional[float] = None
        self._behind: List[_Behind] = []
        self._newest_behind = float("-inf")

    @property
    def is_known(self) -> bool:
        return self._offset is not None

    def now(self, monotonic: Optional[float] = None) -> float:
        """Milliseconds since the epoch; behind the service by at most the travel time of an answer."""
        offset = self._offset
        if offset is None:
            return self._world.wall()
        return (self._world.monotonic() if monotonic is None else monotonic) + offset

    def at(self, monotonic: float) -> Optional[float]:
        """The service's time at a reading of the monotonic clock; None if unknown."""
        return None if self._offset is None else monotonic + self._offset

    def resume(self, now: float) -> None:
        """Continues from the time that an earlier process knew."""
        self._offset = now - self._world.monotonic()

    def observe(self, generated_at: float) -> None:
        """Reads the time of an answer that has just arrived."""
        monotonic = self._world.monotonic()
        offset = generated_at - monotonic
        if self._offset is None or offset > self._offset:
            self._offset = offset
        if offset < self._offset - _SLACK_MS:
            self._observe_behind(generated_at, offset, monotonic)
        else:
            self._agree()

    def answered(self, generated_at: float, sent_at: float) -> float:
        """
        When an answer was given on the monotonic clock: when it was generated, at most when it was asked for.
        """
        self.observe(generated_at)
        return min(sent_at, generated_at - (self._offset or 0.0))

    def _observe_behind(self, generated_at: float, offset: float, monotonic: float) -> None:
        """
        Only answers that are newer than all others from behind count, however many caches stand still at
        different times. Otherwise expired keys would work again.
        """
        if generated_at <= self._newest_behind:
            return
        self._newest_behind = generated_at
        known = next((each for each in self._behind if abs(offset - each.offset) <= _SLACK_MS), None)
        if known is None:
            if len(self._behind) == _BEHIND_MAX:
                self._behind.pop(0)
            self._behind.append(_Behind(offset, monotonic))
            return
        known.offset = max(known.offset, offset)
        known.times += 1
        if known.times < _AGREED_TIMES or monotonic - known.since < _AGREED_MS:
            return
        self._offset = known.offset
        self._agree()

    def _agree(self) -> None:
        self._behind = []
        self._newest_behind = float("-inf")
