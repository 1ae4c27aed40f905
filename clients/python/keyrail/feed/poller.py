"""
Polls again and again. Before the first success an error that is not retryable ends that, so that a wrong
secret shows at startup. After it no error does, so that a running fleet survives a mistake.
"""

from __future__ import annotations

import threading
import time
from typing import Callable, Dict, Optional

from ..errors import KeyrailError, PolicyScopeTooLargeError, as_keyrail_error, closed_error, passing
from ..reports import Reports
from ..verify import Served
from ..wire.schedule import delay_after_error
from ..world import World
from .pace import Polled, delay_after
from .sync import Sync


class Poller:
    def __init__(
        self,
        *,
        sync: Sync,
        served: Served,
        world: World,
        poll_interval_ms: float,
        reports: Reports,
        on_polled: Callable[[], None],
    ) -> None:
        self.outcomes: Dict[str, int] = {"snapshot": 0, "delta": 0, "unchanged": 0, "error": 0}
        #: The outcome of the last poll.
        self.outcome = ""
        self.last_error: Optional[KeyrailError] = None
        self.is_ready = False
        self._ended: Optional[KeyrailError] = None
        self._settled = threading.Event()
        self._failures = 0
        self._has_phase = False
        self._sync = sync
        self._served = served
        self._world = world
        self._poll_interval_ms = poll_interval_ms
        self._reports = reports
        self._on_polled = on_polled

    def renew(self) -> None:
        """After a fork: a thread of the parent may have held the lock of the event."""
        self._settled = threading.Event()
        if self.is_ready or self._ended is not None:
            self._settled.set()

    @property
    def has_ended(self) -> bool:
        return self._ended is not None

    def set_ready(self) -> None:
        self.is_ready = True
        self._settled.set()

    def end(self, error: Optional[KeyrailError] = None) -> None:
        """Nothing polls any more."""
        if self._ended is None:
            self._ended = error or closed_error()
        self._settled.set()

    def wait(self, timeout: Optional[float]) -> None:
        """Until keys are served. Raises KeyrailError. `timeout` in seconds."""
        deadline = None if timeout is None else time.monotonic() + timeout
        # A fork may renew the event.
        while not self._settled.is_set():
            left = 1.0 if deadline is None else deadline - time.monotonic()
            if left <= 0:
                last = (
                    "the service has not answered yet" if self.last_error is None else self.last_error.message
                )
                raise passing("ready_timeout", f"No keys were loaded within {timeout} s: {last}")
            self._settled.wait(min(1.0, left))
        if self._ended is not None:
            ended = self._ended
            raise ended if ended.code == "closed" or not self.is_ready else closed_error()

    def poll_once(self) -> Optional[float]:
        """How long to wait before the next poll, in milliseconds; None to end."""
        started_at = self._world.monotonic()
        try:
            polled = self._sync.poll()
        except Exception as error:
            return None if self._sync.closing.is_set() else self._fail(as_keyrail_error(error))
        self.outcome = polled.outcome
        self.outcomes[polled.outcome] += 1
        self._failures = 0
        self.last_error = self._overflow()
        if self.last_error is not None:
            self._reports.error(self.last_error)
        else:
            self._reports.success()
        # A walk may have taken longer than its keys are served, and only the next answer confirms them then.
        if polled.life_ms > 0:
            self.set_ready()
        self._on_polled()
        return self._delay_after(polled, started_at)

    def _delay_after(self, polled: Polled, started_at: float) -> float:
        polled.unphased = not self._has_phase and not polled.first and not polled.waits
        self._has_phase = self._has_phase or polled.unphased
        polled.took_ms = self._world.monotonic() - started_at
        return delay_after(polled, self._poll_interval_ms, self._world.random)

    def _overflow(self) -> Optional[KeyrailError]:
        """The error to report after every poll while keys are dropped for lack of room."""
        store = self._served.store
        if store is None or store.evictions == 0:
            return None
        return PolicyScopeTooLargeError(refused_to_start=False, max_keys=store.max_keys)

    def _fail(self, error: KeyrailError) -> Optional[float]:
        self.outcome = "error"
        self.outcomes["error"] += 1
        self._failures += 1
        self.last_error = error
        is_over = not self.is_ready and not error.retryable
        if not is_over:
            ending = ". Still trying" if self.is_ready else ". Still trying, and ready() waits"
            # A detail of the service is a sentence.
            error.message = (
                error.message[:-1] + ending if error.message.endswith(".") else error.message + ending
            )
        self._reports.error(error)
        if is_over:
            self.end(error)
            return None
        return delay_after_error(
            self._failures,
            self._poll_interval_ms,
            self._world.random,
            retry_after_ms=error.retry_after_ms,
            life_ms=self._sync.life_ms,
        )
