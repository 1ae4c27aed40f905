"""
Keys in memory, found by digest for verification and by key id for changes. No clock and no I/O. One thread
changes a store; any thread may read it, because a changed key is a new record that replaces the former one at
once.
"""

from __future__ import annotations

import json
from itertools import count
from typing import Any, Dict, Iterable, Iterator, List, Optional, Set, Tuple

from .networks import Networks

#: How many shared values without a record are kept before they are dropped.
_SHARED_SLACK = 4096


class Tenant:
    """A tenant, shared by its keys."""

    __slots__ = ("id", "external_id", "keys")

    def __init__(self, tenant_id: str) -> None:
        self.id = tenant_id
        self.external_id: Optional[str] = None
        self.keys = 0


class RateLimits:
    """
    A set of limits, shared by the keys that have it. The service judges limits, so a node need not understand
    them.
    """

    __slots__ = ("text", "rules")

    def __init__(self, text: str) -> None:
        self.text = text
        self.rules: Tuple[Dict[str, Any], ...] = tuple(json.loads(text))


class Key:
    """A key as the feed sends it."""

    __slots__ = ("digest", "key_id", "tenant_id", "env", "scopes", "limits", "end", "meta", "networks")

    def __init__(
        self,
        digest: bytes,
        key_id: str,
        tenant_id: str,
        env: str,
        scopes: Tuple[str, ...],
        limits: Optional[str],
        end: float,
        meta: Optional[str],
        networks: Optional[Networks] = None,
    ) -> None:
        self.digest = digest
        self.key_id = key_id
        self.tenant_id = tenant_id
        self.env = env
        self.scopes = scopes
        #: JSON; None: no limits.
        self.limits = limits
        #: As `end_of` writes it.
        self.end = end
        #: JSON; None: the feed gave none.
        self.meta = meta
        #: None: those of its tenant.
        self.networks = networks


class Record:
    """A key as it is held. Nothing of it changes but the stamp of its last use."""

    __slots__ = ("digest", "key_id", "tenant", "env", "scopes", "limits", "end", "meta", "used")

    #: The list that the key has of its own; None: that of its tenant.
    networks: Optional[Networks] = None

    def __init__(
        self, key: Key, tenant: Tenant, scopes: Tuple[str, ...], limits: Optional[RateLimits], used: int
    ):
        self.digest = key.digest
        self.key_id = key.key_id
        self.tenant = tenant
        self.env = key.env
        self.scopes = scopes
        self.limits = limits
        self.end = key.end
        # The same text for all keys without `meta`.
        self.meta = "{}" if key.meta == "{}" else key.meta
        self.used = used


class LimitedRecord(Record):
    """A key with a list of its own. Others take no memory for it."""

    __slots__ = ("networks",)

    def __init__(
        self, key: Key, tenant: Tenant, scopes: Tuple[str, ...], limits: Optional[RateLimits], used: int
    ):
        super().__init__(key, tenant, scopes, limits, used)
        self.networks = key.networks


class Store:
    """A bounded store. When it is full, a new key replaces the least recently used one."""

    def __init__(self, max_keys: int, uses: int = 0) -> None:
        self.max_keys = max_keys
        #: Records dropped for lack of room. Above 0, an unknown key may be valid.
        self.evictions = 0
        #: Rises with every change, so that a writer knows whether a saved copy is current.
        self.revision = 0
        #: When the service last confirmed all records, on the monotonic clock.
        self.confirmed_at = float("-inf")
        self._by_digest: Dict[bytes, Record] = {}
        self._by_id: Dict[str, Record] = {}
        self._tenants: Dict[str, Tenant] = {}
        self._scopes: Dict[Tuple[str, ...], Tuple[str, ...]] = {}
        self._limits: Dict[str, RateLimits] = {}
        # Drawing from it is one step, which no other thread interrupts.
        self._uses = count(uses + 1)
        self._eviction_order: List[Tuple[int, Record]] = []
        #: Ids of tenants whose keys are refused, also of those without a key here.
        self.suspended: Set[str] = set()
        #: From where keys may be used that have no list of their own, by tenant, also without a key here.
        self.tenant_networks: Dict[str, Networks] = {}
        #: The project takes keys from elsewhere, so that a text of any form may be one. None: an earlier process
        #: did not know, and no answer has said it yet.
        self.accepts_imported: Optional[bool] = False

    def __len__(self) -> int:
        return len(self._by_digest)

    def records(self) -> List[Record]:
        return list(self._by_digest.values())

    def find(self, digest: bytes) -> Optional[Record]:
        """The record with this digest, which counts as a use."""
        record = self._by_digest.get(digest)
        if record is not None:
            record.used = next(self._uses)
        return record

    def holds(self, record: Record) -> bool:
        """Whether no change has replaced the record."""
        return self._by_digest.get(record.digest) is record

    def networks_of(self, record: Record) -> Optional[Networks]:
        """From where a key may be used; None: from any address."""
        own = record.networks
        return self.tenant_networks.get(record.tenant.id) if own is None else own

    def networks_of_id(self, key_id: str) -> Optional[Networks]:
        """The list that the key has of its own."""
        record = self._by_id.get(key_id)
        return None if record is None else record.networks

    def has_id(self, key_id: str) -> bool:
        return key_id in self._by_id

    def has_room(self, key_id: str) -> bool:
        return len(self._by_digest) < self.max_keys or key_id in self._by_id

    def confirm(self, at: float) -> None:
        """A time before the present one has no effect."""
        self.confirmed_at = max(self.confirmed_at, at)

    def upsert(self, key: Key, used: Optional[int] = None) -> None:
        """Adds or replaces a key. Counts as a use, so that the newest key is not evicted first."""
        self.revision += 1
        tenant = self._tenant(key.tenant_id)
        scopes = self._scopes.setdefault(key.scopes, key.scopes)
        limits = None if key.limits is None else self._limits_of(key.limits)
        used = next(self._uses) if used is None else used
        form = Record if key.networks is None else LimitedRecord
        record = form(key, tenant, scopes, limits, used)
        tenant.keys += 1
        by_id = self._by_id.get(key.key_id)
        by_digest = self._by_digest.get(key.digest)
        if by_id is not None and by_id is by_digest:
            self._by_digest[key.digest] = record
            self._by_id[key.key_id] = record
            self._leave(by_id.tenant)
        else:
            # The id has another digest, or the digest another id: the feed no longer has either.
            for former in (by_id, by_digest):
                if former is not None:
                    self._remove(former)
            while len(self._by_digest) >= self.max_keys and self._by_digest:
                self._evict()
            self._by_digest[key.digest] = record
            self._by_id[key.key_id] = record
        if len(self._scopes) + len(self._limits) > 2 * len(self._by_digest) + _SHARED_SLACK:
            self._drop_unused_shared()

    def remove(self, key_id: Optional[str], digest: Optional[bytes]) -> None:
        """Removes the record with this id and the one with this digest, should they differ."""
        by_id = None if key_id is None else self._by_id.get(key_id)
        if by_id is not None:
            self._remove(by_id)
        by_digest = None if digest is None else self._by_digest.get(digest)
        if by_digest is not None:
            self._remove(by_digest)

    def keep_only(self, other: "Store") -> None:
        """Drops every record whose key the other store does not hold."""
        for record in self.records():
            if not other.has_id(record.key_id):
                self._remove(record)
                self.evictions += 1

    def clear(self) -> None:
        for record in self.records():
            self._remove(record)
        self.suspended.clear()
        self.tenant_networks.clear()

    def set_suspended(self, tenant_id: str, is_suspended: bool) -> None:
        if (tenant_id in self.suspended) == is_suspended:
            return
        self.revision += 1
        if is_suspended:
            self.suspended.add(tenant_id)
        else:
            self.suspended.discard(tenant_id)

    def set_tenant_networks(self, tenant_id: str, networks: Optional[Networks]) -> None:
        if self.tenant_networks.get(tenant_id) == networks:
            return
        self.revision += 1
        if networks is None:
            self.tenant_networks.pop(tenant_id, None)
        else:
            self.tenant_networks[tenant_id] = networks

    def set_tenant(self, tenant_id: str, external_id: Optional[str]) -> None:
        """Call it before the keys of the same answer, and `prune` after them."""
        self._tenant(tenant_id).external_id = external_id
        self.revision += 1

    def prune(self, tenant_ids: Iterable[str]) -> None:
        """Drops every named tenant to which no key belongs."""
        for tenant_id in tenant_ids:
            tenant = self._tenants.get(tenant_id)
            if tenant is not None and tenant.keys == 0:
                del self._tenants[tenant_id]

    def tenants(self) -> Iterator[Tenant]:
        return iter(list(self._tenants.values()))

    @property
    def uses(self) -> int:
        """The highest stamp given to a use."""
        return max((record.used for record in self.records()), default=0)

    def _tenant(self, tenant_id: str) -> Tenant:
        return self._tenants.get(tenant_id) or self._tenants.setdefault(tenant_id, Tenant(tenant_id))

    def _limits_of(self, text: str) -> RateLimits:
        limits = self._limits.get(text)
        if limits is None:
            limits = self._limits[text] = RateLimits(text)
        return limits

    def _leave(self, tenant: Tenant) -> None:
        tenant.keys -= 1
        if tenant.keys == 0 and self._tenants.get(tenant.id) is tenant:
            del self._tenants[tenant.id]

    def _remove(self, record: Record) -> None:
        self.revision += 1
        del self._by_digest[record.digest]
        del self._by_id[record.key_id]
        self._leave(record.tenant)

    def _evict(self) -> None:
        """Sorts all records by use once, and takes them in that order: evictions are rare, uses are not."""
        while True:
            if not self._eviction_order:
                used = ((record.used, record) for record in self.records())
                self._eviction_order = sorted(used, key=lambda each: -each[0])
            stamp, record = self._eviction_order.pop()
            # Used or replaced since: it is younger than all that remain.
            if record.used != stamp or self._by_digest.get(record.digest) is not record:
                continue
            self._remove(record)
            self.evictions += 1
            return

    def _drop_unused_shared(self) -> None:
        records = self.records()
        self._scopes = {record.scopes: record.scopes for record in records}
        self._limits = {record.limits.text: record.limits for record in records if record.limits is not None}
