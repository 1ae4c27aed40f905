"""The keys of a project, held in memory and kept current by a thread."""

from __future__ import annotations

import os
import threading
import time
from concurrent.futures import Executor, ThreadPoolExecutor
from typing import Any, Callable, Dict, Iterable, Optional, Union

from . import lifetime
from .errors import as_keyrail_error, lasting
from .limits.verdict import LimitVerdict
from .node import Node
from .options import read_settings
from .reports import OnError
from .usage.sender import unsent
from .verdict import Verdict
from .wire.schedule import delay_after_error
from .world import World

_REPORT_TIMEOUT_MS = 10_000.0
_CLOSING_ATTEMPTS = 3
#: Calls for limits that asynchronous servers make at a time.
_CALLS_MAX = 32


class Keyring:
    """
    Loads the keys of a project and keeps them current, so that each can be verified in memory. Any thread may
    use it. Raises ValueError for a missing or wrong option.
    """

    def __init__(
        self,
        *,
        url: Optional[str] = None,
        secret_key: Union[str, Callable[[], str], None] = None,
        project: Optional[str] = None,
        env: Optional[str] = None,
        tenants: Iterable[str] = (),
        cached_ttl: float = 60.0,
        poll_interval: float = 5.0,
        max_keys: int = 100_000,
        cache_dir: Union[str, "os.PathLike[str]", None] = None,
        insecure: bool = False,
        node: Optional[str] = None,
        limit_timeout: float = 1.0,
        on_unavailable: str = "deny",
        report_interval: float = 10.0,
        on_error: Optional[OnError] = None,
    ) -> None:
        settings = read_settings(
            url=url,
            secret_key=secret_key,
            project=project,
            env=env,
            tenants=tenants,
            cached_ttl=cached_ttl,
            poll_interval=poll_interval,
            max_keys=max_keys,
            cache_dir=cache_dir,
            insecure=insecure,
            node=node,
            limit_timeout=limit_timeout,
            on_unavailable=on_unavailable,
            report_interval=report_interval,
            on_error=on_error,
        )
        self._node = Node(settings, World())
        self._is_closed = False
        #: A child serves the keys of its parent before its first answer, under a name that no poll has told yet.
        self._has_forked = False
        self._executor: Optional[Executor] = None
        self._lock = threading.Lock()
        #: One thread sends reports at a time.
        self._sending = threading.Lock()
        self._reporting: Optional[threading.Thread] = None
        self._wake = threading.Event()
        self._polling = self._start("poll", lambda: self._poll(begins=True))
        lifetime.open_keyrings.add(self)

    def __repr__(self) -> str:
        scope = self._node.settings.scope
        return f"Keyring(project={scope.project_id!r}, env={scope.env!r})"

    def __enter__(self) -> "Keyring":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ready(self, timeout: Optional[float] = None) -> None:
        """
        Waits until keys are loaded, `timeout` seconds at most. Raises KeyrailError when retrying is useless:
        a wrong secret key, an unknown project, too many keys, or a closed keyring; and `ready_timeout`, after
        which the keyring goes on.
        """
        self._node.poller.wait(timeout)

    def verify(
        self,
        key: Optional[str],
        *,
        scopes: Optional[Iterable[str]] = None,
        env: Optional[str] = None,
        ip: Optional[str] = None,
    ) -> Verdict:
        """
        Verifies a key in memory. The key must have all scopes, compared exactly. `ip` is the address of the
        caller, without a port; a key that may be used from some networks alone is refused without it. Never
        raises.
        """
        return self._node.verifier.verify(key, scopes, env, ip)

    def limit(self, verdict: Verdict, cost: int = 1) -> LimitVerdict:
        """
        Charges a request to all limits of its key, or to none: one call of the service, and none for a key
        without limits. `cost` is 0 to 1,000; 0 looks and takes nothing. Never raises.
        """
        return self._node.limiter.limit(verdict, cost)

    def limit_here(self, verdict: Verdict, cost: int = 1) -> Optional[LimitVerdict]:
        """The result of `limit` where it needs no call; None if the service must be asked."""
        return self._node.limiter.limit_here(verdict, cost)

    def count(self, verdict: Verdict, requests: int = 1) -> None:
        """Counts requests of a valid key in memory. Never raises."""
        is_count = isinstance(requests, int) and not isinstance(requests, bool) and 1 <= requests < 2**53
        if not is_count or not isinstance(verdict, Verdict) or not verdict.valid:
            return
        node = self._node
        if self._is_closed:
            node.counts.dropped += requests
            return
        node.counts.add(verdict.key_id, requests, node.sender.now())
        if self._reporting is None:
            self._start_reporting()

    def stats(self) -> Dict[str, Any]:
        """State and counters. Holds no secret."""
        node = self._node
        store = node.served.store
        is_confirmed = store is not None and store.confirmed_at != float("-inf")
        age_ms = node.world.monotonic() - store.confirmed_at if store is not None and is_confirmed else None
        evictions = 0 if store is None else store.evictions
        last_error = node.poller.last_error
        return {
            "serving": age_ms is not None and age_ms < node.settings.cached_ttl_ms,
            "project": node.settings.scope.project_id,
            "env": node.settings.env,
            "node": node.name,
            "version": node.sync.version,
            "keys": 0 if store is None else len(store),
            "max_keys": node.settings.max_keys,
            "complete": store is not None and evictions == 0 and not node.served.is_partial,
            "confirmed_age": None if age_ms is None else age_ms / 1000,
            "evictions": node.served.evictions + evictions,
            "polls": dict(node.poller.outcomes),
            "last_error": None if last_error is None else last_error.code,
            "source": None if store is None else node.source,
            "hold_seconds": node.sync.hold_seconds,
            "limit_calls": node.limiter.calls,
            "limit_remembered": node.limiter.remembered,
            "usage_pending": node.sender.pending,
            "usage_reported": node.sender.reported,
            "usage_dropped": node.counts.dropped + node.sender.refused,
        }

    def flush(self) -> None:
        """Sends what was counted, now."""
        with self._sending:
            if not self._is_closed:
                self._node.sender.send(_REPORT_TIMEOUT_MS)

    def close(self, timeout: float = 10.0) -> None:
        """
        Sends the remaining counts within `timeout` seconds, drops all keys, and writes the disk snapshot:
        every key is refused from then on. Without `cache_dir`, `node` and a fork it also tells the service, so that
        no change waits for this node. May be called twice.
        """
        with self._lock:
            if self._is_closed:
                return
            self._is_closed = True
        node = self._node
        node.sync.closing.set()
        node.client.abort.set()
        self._wake.set()
        node.poller.end()
        deadline = time.monotonic() + timeout
        # The report in flight may have begun before the last request was counted.
        if self._sending.acquire(timeout=timeout):
            try:
                self._send_rest(deadline)
            finally:
                self._sending.release()
        if self._polling is not threading.current_thread():
            self._polling.join(timeout)
        node.save(node.sync.drop())
        is_known = node.source is not None and not self._polling.is_alive()
        if is_known and node.settings.tells_end and not self._has_forked:
            node.client.leave(node.sync.version or 0)
        node.caller.close()
        if self._executor is not None:
            self._executor.shutdown(wait=False)
        lifetime.open_keyrings.discard(self)

    @property
    def executor(self) -> Executor:
        """Threads in which asynchronous servers call the service, so that their event loop goes on."""
        with self._lock:
            if self._executor is None:
                self._executor = ThreadPoolExecutor(_CALLS_MAX, thread_name_prefix="keyrail-limit")
            return self._executor

    def _start(self, name: str, work: Callable[[], None]) -> threading.Thread:
        thread = threading.Thread(target=work, name=f"keyrail-{name}", daemon=True)
        thread.start()
        return thread

    def _poll(self, begins: bool) -> None:
        node = self._node
        closing = node.sync.closing
        try:
            if begins:
                node.begin()
            while not closing.is_set():
                delay_ms = node.poller.poll_once()
                if delay_ms is None:
                    return
                closing.wait(delay_ms / 1000)
        except Exception as error:
            if closing.is_set():
                return
            # Of this package alone: the keys held go stale, and are refused.
            node.reports.error(lasting("internal_error", f"The keyring has stopped: {type(error).__name__}"))
            node.poller.end()

    def _start_reporting(self) -> None:
        with self._lock:
            if self._reporting is None and not self._is_closed:
                self._reporting = self._start("report", self._report)

    def _report(self) -> None:
        node, wake = self._node, self._wake
        interval = node.settings.report_interval_ms
        # At random, so that nodes that start together do not report together.
        delay = interval * (0.5 + 0.5 * node.world.random())
        while not wake.wait(delay / 1000):
            try:
                self.flush()
            except Exception as error:
                # Of this package alone: the counts stay, and the next report may succeed.
                node.reports.error(as_keyrail_error(error))
            failures = node.sender.failures
            delay = interval
            if failures > 0:
                again = node.sender.retry_after_ms
                delay = delay_after_error(failures, interval, node.world.random, retry_after_ms=again)

    def _send_rest(self, deadline: float) -> None:
        sender = self._node.sender
        for attempt in range(1, _CLOSING_ATTEMPTS + 1):
            left_ms = (deadline - time.monotonic()) * 1000
            if sender.pending == 0 or left_ms <= 0:
                break
            sender.send(min(_REPORT_TIMEOUT_MS, left_ms))
            if sender.pending > 0 and attempt < _CLOSING_ATTEMPTS:
                pause = delay_after_error(max(1, sender.failures), 1_000, self._node.world.random) / 1000
                time.sleep(max(0.0, min(pause, deadline - time.monotonic())))
        if sender.pending > 0:
            self._node.reports.error(unsent(sender.pending))

    def hold_for_fork(self) -> None:
        """No child begins with half a change of the keys."""
        self._node.sync.changing.acquire()

    def release_after_fork(self) -> None:
        self._has_forked = True
        self._node.sync.changing.release()

    def begin_after_fork(self) -> None:
        """The child has none of the threads, and follows the service by itself."""
        self._lock = threading.Lock()
        self._sending = threading.Lock()
        self._wake = threading.Event()
        self._executor = None
        self._reporting = None
        if self._is_closed:
            # The thread that closes it is not in the child.
            self._node.sync.drop()
            return
        # The child has its own name, and tells its own end.
        self._has_forked = False
        was_ready, has_ended = self._node.poller.is_ready, self._node.poller.has_ended
        self._node.renew()
        if not has_ended:
            self._polling = self._start("poll", lambda: self._poll(begins=not was_ready))
