"""
Brings a store up to the service's version. `poller.py` repeats that; `body.py` checks each answer before it
is applied.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from typing import Callable, Iterator, List, NamedTuple, Optional, Tuple, Union

from ..errors import KeyrailError, bad_response, closed_error
from ..service_time import ServiceTime
from ..verify import Served
from ..wire.schedule import REQUEST_TIMEOUT_MS
from ..world import World
from . import odd
from .apply import apply_delta
from .body import Delta, Snapshot, read_feed_body
from .client import FeedAnswer, FeedClient
from .hold import Hold
from .kept import Kept
from .pace import HELD_TIMEOUT_SLACK_MS, Polled, plain_timeout
from .pages import Pages
from .listed import ListedTenant, is_beyond
from .values import Scope, Unreadable
from .walk import Walk


class _Page(NamedTuple):
    answer: Snapshot
    sent_at: float
    answered_at: float


class Sync:
    """
    The served store changes only after an answer, or all pages of a walk, were read and checked. The version
    is set after that; the next poll sends it, which acknowledges it. One thread polls.
    """

    def __init__(
        self,
        *,
        client: FeedClient,
        world: World,
        scope: Scope,
        cached_ttl_ms: float,
        max_keys: int,
        served: Served,
        time: ServiceTime,
        on_odd: Callable[[KeyrailError], None],
        on_held: Callable[[int], None],
    ) -> None:
        #: The served version; None before the first snapshot.
        self.version: Optional[int] = None
        #: Held while keys change. A fork waits for it, so that no child begins with half a change.
        self.changing = threading.RLock()
        self.closing = threading.Event()
        self._workspace_id: Optional[str] = None
        #: The served keys come from an earlier process, and no answer has confirmed them yet.
        self._is_resumed = False
        #: The last answer was old. The next is not held, so that it soon shows the current version.
        self._is_in_doubt = False
        #: Successive snapshots in place of deltas, and the last of them, whose version did not rise.
        self._reseeds = self._stuck = 0
        self._hold = Hold()
        self._features: Tuple[str, ...] = ()
        self._dates = odd.Dates()
        self._client = client
        self._world = world
        self._scope = scope
        self._cached_ttl_ms = cached_ttl_ms
        self._max_keys = max_keys
        self._served = served
        self._time = time
        self._on_odd = on_odd
        self._on_held = on_held

    @property
    def kept(self) -> Optional[Kept]:
        store, version, workspace_id = self._served.store, self.version, self._workspace_id
        if store is None or version is None or workspace_id is None:
            return None
        return Kept(store, version, workspace_id, not self._served.is_partial, self._features)

    def resume(self, kept: Kept) -> None:
        """
        Continues from what an earlier process held. If it may be incomplete, it is served and the next poll
        takes a snapshot; otherwise the next poll asks for a delta.
        """
        with self._change():
            self._served.is_partial = not kept.is_whole
            self._served.store = kept.store
            self.version = kept.version if kept.is_whole else None
            self._workspace_id = kept.workspace_id
            self._features = kept.features
            self._is_resumed = True

    def drop(self) -> Optional[Kept]:
        """Drops all keys, and returns what was held. After `closing`, nothing puts a key back."""
        with self.changing:
            kept = self.kept
            self._served.store = None
        return kept

    @contextmanager
    def _change(self) -> Iterator[None]:
        """A thread that outlives the close, with an answer in its hands, changes nothing."""
        with self.changing:
            if self.closing.is_set():
                raise closed_error()
            yield

    hold_seconds = property(lambda self: self._hold.in_use)

    @property
    def life_ms(self) -> Optional[float]:
        """How long the held keys will be served; 0 or less: they are stale. None: there are none."""
        store = self._served.store
        return None if store is None else store.confirmed_at + self._cached_ttl_ms - self._world.monotonic()

    def poll(self) -> Polled:
        """Raises KeyrailError; nothing has changed then."""
        try:
            polled = self._poll()
        except BaseException:
            self._hold.failed(self._world.monotonic())
            raise
        self._hold.succeeded(self._world.monotonic())
        self._is_resumed = False
        return polled

    def _poll(self) -> Polled:
        store, version = self._served.store, self.version
        if store is None or version is None:
            return self._seed()
        life_ms = self.life_ms or 0.0
        sent_at = self._world.monotonic()
        # Keys of an earlier process may have been revoked while none ran.
        wait = self._hold.ask(0.0 if self._is_resumed or self._is_in_doubt else life_ms, sent_at)
        timeout_ms = wait * 1000.0 + HELD_TIMEOUT_SLACK_MS if wait > 0 else plain_timeout(life_ms)
        heard = self._client.delta(version, len(store), wait, timeout_ms)
        answer = read_feed_body(heard.body, self._scope)
        received_at = self._world.monotonic()
        self._hold.answered(received_at)
        if self._is_resumed and answer.workspace_id != self._workspace_id:
            # The same project id in another workspace: what the earlier process left belongs to something
            # else.
            self._forget()
            return self._seed()
        answered_at = self._check(answer, heard, sent_at)
        if isinstance(answer, Snapshot):
            return self._reseed(_Page(answer, sent_at, answered_at), heard.waits, version)
        if answer.since != version:
            raise bad_response("since, which is not what was asked")
        # A service that knows more features than before sent its keys without them.
        is_newer = any(name not in self._features for name in answer.features)
        if answer.changes is None or is_newer or is_beyond(store, answer.listed, self._max_keys):
            return self._reseed(self._page(None), heard.waits, version)
        # An answer that is older than its request came from a cache, also its time. None confirms keys for
        # later than its receipt.
        late = answered_at < sent_at
        confirmed_at = answered_at if late else min(sent_at + answer.held_ms, received_at)
        with self._change():
            apply_delta(answer, store, self._served.ended)
            store.confirm(confirmed_at)
            self.version = answer.version
        self._report(answer.unreadable, answer.listed, answer.is_imported_odd)
        is_new = answer.version != version or bool(answer.changes)
        if is_new:
            # A process of before left out of these changes what it does not know: the next one that knows
            # more brings a snapshot.
            self._features = answer.features
        self._reseeds = self._stuck = 0
        return self._polled("delta" if is_new else "unchanged", heard.waits)

    def _seed(self) -> Polled:
        first = not self._has_served()
        more = self._walk(self._page(None))
        self._reseeds = self._stuck = 0
        polled = self._polled("snapshot", False)
        polled.more, polled.first = more, first
        return polled

    def _reseed(self, first: _Page, waits: bool, version: int) -> Polled:
        """Takes a snapshot that came in place of a delta."""
        more = self._walk(first)
        after = first.answer.version
        self._reseeds += 1
        self._stuck = 0 if after > version else self._stuck + 1
        if after < version:
            self._on_odd(odd.version_back(version, after))
        polled = self._polled("snapshot", waits)
        polled.more = more
        return polled

    def _polled(self, outcome: str, waits: bool) -> Polled:
        store = self._served.store
        self._on_held(0 if store is None else len(store))
        return Polled(outcome, waits, self._reseeds, self._stuck, self._hold.cut_to_ms, self.life_ms or 0.0)

    def _walk(self, first: _Page) -> bool:
        """
        Walks through the pages and replaces the served store. The whole counts as confirmed when the walk
        began, which is the time of its version: a later page may have been read that early. Returns whether
        there was more than one page.
        """
        served = self._served
        pages = Pages(
            self._page,
            began_at=first.sent_at,
            answered_at=first.answered_at,
            are_keys_served=(self.life_ms or 0.0) > 0,
            cached_ttl_ms=self._cached_ttl_ms,
            world=self._world,
            on_odd=self._on_odd,
        )
        walked = Walk(
            pages.next,
            max_keys=self._max_keys,
            held=served.store,
            has_served=self._has_served(),
            ended=served.ended,
            world=self._world,
            closing=self.closing,
        ).run(first.answer)
        # Pages of a cache may be older. Keys that live are not replaced by older ones.
        late_ms = self._world.monotonic() - pages.confirmed_at
        if late_ms >= self._cached_ttl_ms and (self.life_ms or 0.0) > 0:
            raise odd.cached_answer(late_ms)
        with self._change():
            if walked.last.deleted and served.store is not None:
                served.ended.add_all(served.store, walked.last.generated_at)
            if not walked.last.deleted:
                # A snapshot does not say why a key is missing, so such keys are unknown.
                for digest in walked.renewed:
                    served.ended.forget(digest)
            walked.store.confirm(pages.confirmed_at)
            served.evictions += 0 if served.store is None else served.store.evictions
            served.store = walked.store
            served.is_partial = False
            self._workspace_id = first.answer.workspace_id
            self.version = first.answer.version
            self._features = walked.features
        self._report(walked.unreadable, walked.odd_tenants, walked.is_imported_odd)
        return walked.last is not first.answer

    def _page(self, cursor: Optional[str], most_ms: float = REQUEST_TIMEOUT_MS) -> _Page:
        store = self._served.store
        sent_at = self._world.monotonic()
        timeout_ms = min(REQUEST_TIMEOUT_MS, most_ms)
        heard = self._client.snapshot(cursor, 0 if store is None else len(store), timeout_ms)
        answer = read_feed_body(heard.body, self._scope)
        if not isinstance(answer, Snapshot):
            raise bad_response("object")
        if self._is_resumed and answer.workspace_id != self._workspace_id:
            self._forget()
        return _Page(answer, sent_at, self._check(answer, heard, sent_at))

    def _check(self, answer: Union[Snapshot, Delta], heard: FeedAnswer, sent_at: float) -> float:
        """Returns when the answer was given."""
        if self._workspace_id is not None and answer.workspace_id != self._workspace_id:
            raise bad_response("workspace_id, which is another than before")
        answered_at = self._time.answered(answer.generated_at, sent_at)
        self._is_in_doubt = answered_at < sent_at - odd.LATE_MS
        found = self._dates.odd(
            generated_at=answer.generated_at,
            sent_at=sent_at,
            answered_at=answered_at,
            date=heard.date,
            age_seconds=heard.age_seconds,
        )
        if found is not None:
            self._on_odd(found)
        return answered_at

    def _forget(self) -> None:
        with self._change():
            self._served.store = None
            self._served.ended.clear()
            self.version = None
            self._workspace_id = None
            self._is_resumed = False

    def _report(
        self, unreadable: List[Unreadable], listed: List[ListedTenant], is_imported_odd: bool
    ) -> None:
        if unreadable:
            self._on_odd(odd.unreadable_keys(unreadable))
        for error in odd.unreadable_tenants(listed):
            self._on_odd(error)
        if is_imported_odd:
            self._on_odd(odd.unreadable_imported())

    def _has_served(self) -> bool:
        """Whether keys were ever served. A store that an earlier process left too long ago was not."""
        store = self._served.store
        return store is not None and store.confirmed_at != float("-inf")
