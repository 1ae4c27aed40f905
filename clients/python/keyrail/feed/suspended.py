"""Which tenants of an answer are suspended. Keys of such tenants are in the feed, and a node refuses them."""

from __future__ import annotations

from typing import Any, List, NamedTuple, Sequence

from ..errors import KeyrailError, bad_response
from ..store import Store
from .values import SUSPENDED, read_text


class ListedTenant(NamedTuple):
    """A tenant of an answer whose features list `suspended`."""

    tenant_id: str
    is_suspended: bool
    #: `suspended` has a value that is new, so the tenant counts as suspended.
    is_unreadable: bool


def read_suspended(value: Any, features: Sequence[str]) -> List[ListedTenant]:
    """
    None if the service does not say. Raises KeyrailError `bad_response` if an entry names no tenant, because
    it may suspend any.
    """
    if SUSPENDED not in features:
        return []
    if not isinstance(value, list):
        raise bad_response("tenants")
    return [_read_listed(each) for each in value]


def _read_listed(value: Any) -> ListedTenant:
    tenant_id = read_text(value.get("tenant_id")) if isinstance(value, dict) else None
    if tenant_id is None:
        raise bad_response("tenants, of which one has no tenant_id")
    suspended = value.get("suspended", False)
    return ListedTenant(tenant_id, suspended is not False, not isinstance(suspended, bool))


def is_beyond(store: Store, listed: Sequence[ListedTenant], most: int) -> bool:
    """
    Whether a delta suspends more tenants than a node may know. The store also knows those that have lost
    their keys; a new one does not.
    """
    more = sum(each.is_suspended and each.tenant_id not in store.suspended for each in listed)
    return len(store.suspended) + more > most


def too_many_suspended(most: int) -> KeyrailError:
    return bad_response(f"tenants, of which more are suspended than the {most} keys that this node may hold")
