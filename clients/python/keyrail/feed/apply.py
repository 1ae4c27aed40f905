"""Applies a delta to a store, while other threads verify with it."""

from __future__ import annotations

from ..store import Key, Store
from ..verify import EndedKeys
from .body import Delta, Gone
from .listed import list_first, list_last
from .values import CIDR


def apply_delta(delta: Delta, store: Store, ended: EndedKeys) -> None:
    if store.accepts_imported is None:
        # A service that does not say either has no such keys.
        store.accepts_imported = False
        store.revision += 1
    if delta.deleted:
        ended.add_all(store, delta.generated_at)
        store.clear()
        return
    # A process of before the feature does not say.
    if delta.accepts_imported not in (None, store.accepts_imported):
        store.accepts_imported = delta.accepts_imported is True
        store.revision += 1
    for tenant_id, external_id in delta.tenants:
        store.set_tenant(tenant_id, external_id)
    # A tenant is suspended before its keys come, and resumed after keys have gone.
    list_first(store, delta.listed)
    for change in delta.changes or ():
        if isinstance(change, Key):
            ended.forget(change.digest)
            if change.networks is None and CIDR not in delta.features:
                # A process of before the feature leaves lists out: the one that the key has stays.
                change.networks = store.networks_of_id(change.key_id)
            store.upsert(change)
        else:
            _end(change, store, ended, delta.generated_at)
    list_last(store, delta.listed)
    store.prune(tenant.tenant_id for tenant in delta.tenants)


def _end(gone: Gone, store: Store, ended: EndedKeys, at: float) -> None:
    key_id, digest = gone.names
    if digest is not None:
        if gone.is_unreadable:
            ended.forget(digest)
        elif gone.cause is not None:
            ended.add_cause(digest, gone.cause)
        else:
            record = store.find(digest)
            if record is not None:
                ended.add(record, at)
    store.remove(key_id, digest)
