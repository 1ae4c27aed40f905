"""
Limits the wait on a service that hangs. After five calls in a row that timed out, only one call at a time is
sent, and the others fail at once. Any answer, and any other error, ends that.
"""

from __future__ import annotations

import threading
from typing import Callable, TypeVar

from ..errors import KeyrailError, passing

_TIMEOUTS_MAX = 5
_Answer = TypeVar("_Answer")


class Breaker:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._timeouts = 0
        #: The call that is under way to find out whether the service answers again.
        self._is_probing = False

    def call(self, work: Callable[[], _Answer]) -> _Answer:
        with self._lock:
            is_probe = self._timeouts >= _TIMEOUTS_MAX
            if is_probe and self._is_probing:
                raise passing(
                    "service_hangs",
                    "The service does not answer in time; one call at a time is sent until it does",
                )
            self._is_probing = self._is_probing or is_probe
        has_timed_out = False
        try:
            return work()
        except KeyrailError as error:
            has_timed_out = error.code == "timeout"
            raise
        finally:
            with self._lock:
                self._timeouts = self._timeouts + 1 if has_timed_out else 0
                if is_probe:
                    self._is_probing = False
