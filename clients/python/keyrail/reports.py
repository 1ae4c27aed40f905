"""Passes errors to the vendor's listener, or else to the log. A listener that raises is noted in the log."""

from __future__ import annotations

import logging
from typing import Callable, Optional, Set

from .errors import KeyrailError, lasting

log = logging.getLogger("keyrail")

#: From here on a node reports that it is nearly full: early enough to act before keys are refused.
_FULL_SHARE = 0.8

OnError = Callable[[KeyrailError], object]


class Reports:
    def __init__(self, on_error: Optional[OnError]) -> None:
        self._on_error = on_error
        #: Codes already logged: an outage of an hour is logged once. A code that a whole success came without
        #: is forgotten.
        self._logged: Set[str] = set()
        #: The codes since the last success: an answer may be applied and have an error nevertheless, poll
        #: after poll.
        self._recent: Set[str] = set()
        self._is_lacking = False
        self._is_nearly_full = False

    def error(self, error: KeyrailError) -> None:
        # Lasts until somebody changes it, and every request may meet it.
        if error.code == "insufficient_permission":
            if self._is_lacking:
                return
            self._is_lacking = True
        if self._on_error is not None:
            try:
                self._on_error(error)
            except Exception as raised:
                log.warning("on_error raised %s", type(raised).__name__)
            return
        self._recent.add(error.code)
        if error.code not in self._logged:
            self._logged.add(error.code)
            log.warning("[%s] %s", error.code, error.message)

    def success(self) -> None:
        self._is_lacking = False
        self._logged = self._recent
        self._recent = set()

    def notice(self, code: str, message: str) -> None:
        """A condition that does not stop the node."""
        self.error(lasting(code, message))

    def holds(self, keys: int, most: int) -> None:
        """How many keys a node holds after a poll, of those that it may hold."""
        is_nearly_full = keys >= most * _FULL_SHARE
        if is_nearly_full and not self._is_nearly_full:
            self.notice(
                "nearly_full",
                f"This node holds {keys} keys of the {most} that it may hold. Beyond these it refuses "
                "keys as not_held, and a new process does not start. Raise max_keys, or set tenants",
            )
        self._is_nearly_full = is_nearly_full
