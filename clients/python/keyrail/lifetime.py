"""
What concerns all keyrings of a process: forks, after which each child follows the service by itself, and the
end of the interpreter, before which counted requests are sent.
"""

from __future__ import annotations

import atexit
import os
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, List
from weakref import WeakSet

if TYPE_CHECKING:
    from .keyring import Keyring

open_keyrings: "WeakSet[Keyring]" = WeakSet()

_fork_lock = threading.Lock()
_forking: "List[Keyring]" = []


def _before_fork() -> None:
    _fork_lock.acquire()
    _forking[:] = list(open_keyrings)
    for keyring in _forking:
        keyring.hold_for_fork()


def _after_fork() -> None:
    for keyring in _forking:
        keyring.release_after_fork()
    _forking.clear()
    _fork_lock.release()


def _after_fork_in_child() -> None:
    keyrings = list(_forking)
    _after_fork()
    for keyring in keyrings:
        keyring.begin_after_fork()


def _close_all() -> None:
    with ExitStack() as closing:
        # Each is closed, also where another one fails.
        for keyring in list(open_keyrings):
            closing.callback(keyring.close)


if hasattr(os, "register_at_fork"):
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork, after_in_child=_after_fork_in_child)
atexit.register(_close_all)
