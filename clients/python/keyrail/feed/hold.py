"""
Decides for how long the service may hold each answer. A proxy may give up before the service answers, so
after any failure the next polls are plain until one succeeds, and then the hold is half as long as the hold
that failed. Holds grow slowly, and ever more slowly while they fail, because the proxy may be fixed by now or
never was the cause.
"""

from __future__ import annotations

from typing import Optional

from .pace import HELD_MS, WAIT_MAX_SECONDS, wait_seconds

#: How long the hold stays as it is before it grows. Doubles with each hold that fails.
_QUIET_MIN_MS = 60_000
_QUIET_MAX_MS = 3_600_000


class Hold:
    def __init__(self) -> None:
        self._most_seconds = WAIT_MAX_SECONDS
        self._grows_at = float("inf")
        #: The last poll failed.
        self._is_plain = False
        #: How many holds have failed since one lasted longer than the last that failed.
        self._failures = 0
        self._failed_after_ms = 0.0
        self._seconds = 0
        self._asked_at = 0.0
        self._took_ms: Optional[float] = None

    def ask(self, life_ms: float, now: float) -> int:
        """
        Seconds; 0: ask for an immediate answer. `life_ms`: for how long the keys will be served, from `now`.
        """
        self._seconds = 0 if self._is_plain else min(self._most_seconds, wait_seconds(life_ms))
        self._asked_at = now
        self._took_ms = None
        return self._seconds

    @property
    def in_use(self) -> int:
        """For how many seconds the next answer may be held; 0 after a failure."""
        return 0 if self._is_plain else self._most_seconds

    @property
    def cut_to_ms(self) -> float:
        """How long an answer may be held while that is less than a service allows; infinite otherwise."""
        return self._most_seconds * 1000.0 if self._most_seconds < WAIT_MAX_SECONDS else float("inf")

    def answered(self, now: float) -> None:
        """The answer can be read. A failure after that has nothing to do with the hold."""
        self._took_ms = now - self._asked_at

    def succeeded(self, now: float) -> None:
        self._is_plain = False
        if self._seconds > 0 and (self._took_ms or 0.0) > self._failed_after_ms:
            self._failures = 0
        self._seconds = 0
        if now < self._grows_at:
            return
        self._most_seconds = min(WAIT_MAX_SECONDS, max(1, self._most_seconds * 2))
        self._grows_at = now + self._quiet_ms()

    def failed(self, now: float) -> None:
        seconds = self._seconds if self._took_ms is None else 0
        self._is_plain = True
        self._seconds = 0
        if seconds == 0:
            return
        took_ms = now - self._asked_at
        self._failed_after_ms = took_ms
        self._failures += 1
        # A single failure that comes at once would have come without a hold too.
        if took_ms < HELD_MS and self._failures == 1:
            return
        self._most_seconds = min(seconds // 2, int(took_ms // 2000))
        self._grows_at = now + self._quiet_ms()

    def _quiet_ms(self) -> float:
        return min(_QUIET_MAX_MS, _QUIET_MIN_MS * 2.0 ** max(0, min(16, self._failures - 1)))
