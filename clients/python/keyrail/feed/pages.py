"""The later pages of a walk, within the time that a walk may take."""

from __future__ import annotations

from typing import Callable, Optional, Tuple

from ..errors import KeyrailError
from ..world import World
from . import odd
from .body import Snapshot

#: After this part of the time that keys are served, the node gives a walk up: the keys of a walk count as
#: confirmed when it began. If no keys are served, nothing goes stale meanwhile, and a large project becomes
#: ready in the end.
_MOST = 0.9
_MOST_UNSERVED = 10.0


class Pages:
    def __init__(
        self,
        page: Callable[[str, float], Tuple[Snapshot, float, float]],
        *,
        began_at: float,
        answered_at: float,
        are_keys_served: bool,
        cached_ttl_ms: float,
        world: World,
        on_odd: Callable[[KeyrailError], None],
    ) -> None:
        #: When the earliest page was answered, on the monotonic clock.
        self.confirmed_at = answered_at
        self._page = page
        self._began_at = began_at
        self._most_ms = cached_ttl_ms * (_MOST if are_keys_served else _MOST_UNSERVED)
        self._cached_ttl_ms = cached_ttl_ms
        self._world = world
        self._on_odd = on_odd
        self._pages = 1
        self._is_slow = False

    def next(self, cursor: str) -> Snapshot:
        """Raises KeyrailError."""
        if not self._is_slow and self._took_ms() > self._cached_ttl_ms / 2:
            self._is_slow = True
            self._on_odd(odd.slow_snapshot(self._pages, self._took_ms(), True))
        page = self._in_time(cursor)
        if page is None:
            raise odd.slow_snapshot(self._pages, self._took_ms(), False)
        answer, _, answered_at = page
        self._pages += 1
        self.confirmed_at = min(self.confirmed_at, answered_at)
        return answer

    def _in_time(self, cursor: str) -> Optional[Tuple[Snapshot, float, float]]:
        left_ms = self._most_ms - self._took_ms()
        if left_ms <= 0:
            return None
        try:
            return self._page(cursor, left_ms)
        except KeyrailError:
            # An error of work that is over anyway.
            if self._took_ms() >= self._most_ms:
                return None
            raise

    def _took_ms(self) -> float:
        return self._world.monotonic() - self._began_at
