"""
What a node takes from its machine: clocks, chance, and its name. Tests replace it. Times are in milliseconds.
"""

from __future__ import annotations

import base64
import os
import platform
import random
import re
import socket
import sys
import threading
import time
from typing import Optional

VERSION = "0.1.0"

#: Sent to the service, such as `keyrail-python/0.1.0 python/3.11.2`.
USER_AGENT = f"keyrail-python/{VERSION} python/{platform.python_version()}"

_NODE_MAX = 128


def _awake_clock() -> Optional[int]:
    """
    The clock that counts on while a machine is suspended. Otherwise keys would be served for longer than
    allowed. On other systems than these the clock of `time.monotonic` counts on, or there is none.
    """
    name = "CLOCK_MONOTONIC" if sys.platform == "darwin" else "CLOCK_BOOTTIME"
    clock = getattr(time, name, None)
    if clock is None:
        return None
    try:
        time.clock_gettime(clock)
    except OSError:
        return None
    return int(clock)


_CLOCK = _awake_clock()


class World:
    """The machine of this process."""

    #: The most that any request waits, in milliseconds; tests shorten it.
    timeout_most: float = float("inf")

    def wall(self) -> float:
        """Since the epoch, by this machine's clock."""
        return time.time() * 1000

    def monotonic(self) -> float:
        """Only differences have a meaning, and nobody sets it: decides whether keys are still confirmed."""
        return (time.monotonic() if _CLOCK is None else time.clock_gettime(_CLOCK)) * 1000

    def uptime(self) -> float:
        """Since the machine started."""
        return self.monotonic()

    def random(self) -> float:
        return random.random()

    def pause(self, milliseconds: float, closing: threading.Event) -> None:
        """Waits, or until the node closes."""
        if milliseconds > 0:
            closing.wait(milliseconds / 1000)


def make_node_id(host: Optional[str] = None) -> str:
    """
    The name of this process for the service: host, process id, and a random suffix, since ids are reused.
    """
    drawn = base64.b64encode(os.urandom(6), b"._").decode()
    suffix = f":{os.getpid()}.{drawn}"
    if host is None:
        try:
            host = socket.gethostname()
        except OSError:
            host = ""
    kept = re.sub(r"[^A-Za-z0-9._:-]", "", host)[: _NODE_MAX - len(suffix)]
    return (kept or "node") + suffix
