"""Reads the pages of a walk into a new store, beside the served one."""

from __future__ import annotations

import threading
from typing import Callable, List, NamedTuple, Optional, Set, Tuple

from ..errors import PolicyScopeTooLargeError, bad_response
from ..store import Store
from ..verify import EndedKeys
from ..world import World
from .body import Snapshot
from .listed import ListedTenant, list_first, too_many_tenants
from .values import Unreadable

#: Least time between the starts of two pages, to limit the load from a faulty service.
_PAGE_FLOOR_MS = 20.0
#: A walk with more empty pages than this makes no progress.
_EMPTY_PAGES_MAX = 64
#: The pages that any walk may have, plus one for every `_KEYS_A_PAGE` keys that the node may hold. A page of
#: 4 MiB with the largest keys has 250 of them.
_PAGES_MAX = 2_000
_KEYS_A_PAGE = 100


class Walked(NamedTuple):
    store: Store
    #: Digests of ended keys that the feed sends again.
    renewed: List[bytes]
    #: Keys of the pages that cannot be read.
    unreadable: List[Unreadable]
    #: Tenants of the pages of which a member cannot be read.
    odd_tenants: List[ListedTenant]
    #: What a page says of keys from elsewhere cannot be read.
    is_imported_odd: bool
    #: The features that every page knew.
    features: Tuple[str, ...]
    last: Snapshot


class Walk:
    def __init__(
        self,
        next_page: Callable[[str], Snapshot],
        *,
        max_keys: int,
        held: Optional[Store],
        has_served: bool,
        ended: EndedKeys,
        world: World,
        closing: threading.Event,
    ) -> None:
        self._next_page = next_page
        self._max_keys = max_keys
        self._held = held
        #: A store that an earlier process left too long ago was not served.
        self._has_served = has_served
        self._ended = ended
        self._world = world
        self._closing = closing
        self._store = Store(max_keys)
        self._is_full = False
        self._renewed: List[bytes] = []

    def run(self, first: Snapshot) -> Walked:
        """Raises KeyrailError if a page does not continue the ones before it, or the keys do not fit."""
        guard = _Guard(first, self._max_keys)
        unreadable: List[Unreadable] = []
        odd_tenants: List[ListedTenant] = []
        features = first.features
        is_imported_odd = False
        page = first
        while True:
            started_at = self._world.monotonic()
            guard.check(page)
            is_imported_odd = is_imported_odd or page.is_imported_odd
            if page.accepts_imported:
                self._store.accepts_imported = True
            if page.deleted:
                self._store.clear()
                break
            self._take(page)
            features = tuple(name for name in features if name in page.features)
            unreadable.extend(page.unreadable)
            odd_tenants.extend(each for each in page.listed if each.unreadable is not None)
            if page.next_cursor is None:
                break
            left = _PAGE_FLOOR_MS - (self._world.monotonic() - started_at)
            self._world.pause(left, self._closing)
            page = self._next_page(page.next_cursor)
        return Walked(self._store, self._renewed, unreadable, odd_tenants, is_imported_odd, features, page)

    def _take(self, page: Snapshot) -> None:
        store, held = self._store, self._held
        for tenant_id, external_id in page.tenants:
            store.set_tenant(tenant_id, external_id)
        # A page never resumes a tenant of a page before it, nor ends its list: the delta after the walk does.
        list_first(store, page.listed)
        if max(len(store.suspended), len(store.tenant_networks)) > self._max_keys:
            raise too_many_tenants(self._max_keys)
        for key in page.keys:
            if self._ended.code_of(key.digest) is not None:
                self._renewed.append(key.digest)
            if not self._is_full and not store.has_room(key.key_id):
                if held is None or not self._has_served:
                    raise PolicyScopeTooLargeError(refused_to_start=True, max_keys=store.max_keys)
                # The served keys stay: of the remaining keys, keep only those that were held before.
                store.keep_only(held)
                self._is_full = True
            if self._is_full and not (held is not None and held.has_id(key.key_id)):
                store.evictions += 1
            else:
                store.upsert(key)
        store.prune(tenant.tenant_id for tenant in page.tenants)


class _Guard:
    """
    Ensures that a walk ends: key ids rise from page to page, no cursor repeats, and the number of pages is
    limited. Otherwise a service that repeats itself would keep the node busy, without an error, until its
    keys are stale.
    """

    def __init__(self, first: Snapshot, keys_max: int) -> None:
        self._first = first
        self._pages_max = _PAGES_MAX + -(-keys_max // _KEYS_A_PAGE)
        self._cursors: Set[str] = set()
        self._pages = 0
        self._empty_pages = 0
        self._last_id = ""

    def check(self, page: Snapshot) -> None:
        """Raises KeyrailError `bad_response` if a page does not continue the ones before it."""
        if page.version != self._first.version:
            raise bad_response("version, which changed within a walk")
        if page.workspace_id != self._first.workspace_id:
            raise bad_response("workspace_id, which changed within a walk")
        for key in page.keys:
            if key.key_id <= self._last_id:
                raise bad_response("keys, whose ids do not rise")
            self._last_id = key.key_id
        if page.next_cursor is None:
            return
        if page.next_cursor in self._cursors:
            raise bad_response("next_cursor, which came before")
        self._cursors.add(page.next_cursor)
        self._pages += 1
        if self._pages >= self._pages_max:
            raise bad_response(f"next_cursor, after {self._pages} pages")
        if not page.keys:
            self._empty_pages += 1
            if self._empty_pages > _EMPTY_PAGES_MAX:
                raise bad_response("keys, which are empty page after page")
