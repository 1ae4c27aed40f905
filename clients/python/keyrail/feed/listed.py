"""
What answers say of tenants: which are suspended, and from which networks their keys may be used. Keys of such
tenants are in the feed, and a node refuses them.
"""

from __future__ import annotations

from typing import Any, List, NamedTuple, Optional, Sequence

from ..errors import KeyrailError, bad_response
from ..networks import UNREADABLE, Networks, read_networks
from ..store import Store
from .values import CIDR, SUSPENDED, read_text


class ListedTenant(NamedTuple):
    """A tenant of an answer whose features list `suspended` or `cidr`."""

    tenant_id: str
    #: None: the service does not say.
    is_suspended: Optional[bool]
    #: Whether the service says from where keys of the tenant may be used that have no list of their own.
    says_networks: bool
    #: None: from any address.
    networks: Optional[Networks]
    #: The member that has a value that is new. With it, a tenant counts as suspended, or its keys may be used
    #: from no address.
    unreadable: Optional[str]


def read_listed(value: Any, features: Sequence[str]) -> List[ListedTenant]:
    """
    None if the service knows neither feature. Raises KeyrailError `bad_response` if an entry names no tenant,
    because it may be about any.
    """
    if SUSPENDED not in features and CIDR not in features:
        return []
    if not isinstance(value, list):
        raise bad_response("tenants")
    return [_read_tenant(each, features) for each in value]


def _read_tenant(value: Any, features: Sequence[str]) -> ListedTenant:
    tenant_id = read_text(value.get("tenant_id")) if isinstance(value, dict) else None
    if tenant_id is None:
        raise bad_response("tenants, of which one has no tenant_id")
    is_suspended, networks, unreadable = None, None, None
    if CIDR in features and "allowed_cidrs" in value:
        networks = read_networks(value["allowed_cidrs"]) or UNREADABLE
        if networks is UNREADABLE:
            unreadable = "allowed_cidrs"
        elif not networks.texts:
            networks = None
    if SUSPENDED in features:
        suspended = value.get("suspended", False)
        is_suspended = suspended is not False
        if not isinstance(suspended, bool):
            unreadable = SUSPENDED
    return ListedTenant(tenant_id, is_suspended, CIDR in features, networks, unreadable)


def list_first(store: Store, listed: Sequence[ListedTenant]) -> None:
    """Notes what refuses keys: before keys of the same answer come, and from page to page of a walk."""
    for each in listed:
        if each.is_suspended:
            store.set_suspended(each.tenant_id, True)
        if each.networks is not None:
            store.set_tenant_networks(each.tenant_id, each.networks)


def list_last(store: Store, listed: Sequence[ListedTenant]) -> None:
    """Notes the rest: after keys have gone."""
    for each in listed:
        if each.is_suspended is not None:
            store.set_suspended(each.tenant_id, each.is_suspended)
        if each.says_networks:
            store.set_tenant_networks(each.tenant_id, each.networks)


def is_beyond(store: Store, listed: Sequence[ListedTenant], most: int) -> bool:
    """
    Whether a delta lists more tenants than a node may know. The store also knows those that have lost their
    keys; a new one does not.
    """
    suspended = sum(bool(each.is_suspended) and each.tenant_id not in store.suspended for each in listed)
    limited = sum(
        each.networks is not None and each.tenant_id not in store.tenant_networks for each in listed
    )
    return len(store.suspended) + suspended > most or len(store.tenant_networks) + limited > most


def too_many_tenants(most: int) -> KeyrailError:
    return bad_response(
        f"tenants, of which more are suspended or have allowed_cidrs than the {most} keys that this node may hold"
    )
