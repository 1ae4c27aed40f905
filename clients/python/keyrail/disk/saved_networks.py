"""
The networks of keys and tenants in the header of a disk snapshot. `lists`: each list once, as in the feed; the
others name one by its place there. `keys`: pairs of the position of a key that has a list of its own, and the
place of the list. `tenants`: pairs of a tenant id and the place of its list, or None for a list that cannot be
read.
"""

from __future__ import annotations

from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple

from ..networks import UNREADABLE, Networks, read_networks
from ..store import Record, Store


class SavedNetworks(NamedTuple):
    #: By the position of the key's record.
    keys: Dict[int, Networks]
    tenants: Dict[str, Networks]


NONE = SavedNetworks({}, {})


def save_networks(store: Store, held: Sequence[Record]) -> Dict[str, Any]:
    places: Dict[Tuple[str, ...], int] = {}
    keys: List[List[int]] = []
    tenants: List[List[Any]] = []
    for position, record in enumerate(held):
        if record.networks is not None and record.networks.texts is not None:
            keys.append([position, places.setdefault(record.networks.texts, len(places))])
    for tenant_id, networks in store.tenant_networks.items():
        texts = networks.texts
        tenants.append([tenant_id, None if texts is None else places.setdefault(texts, len(places))])
    return {"lists": [list(texts) for texts in places], "keys": keys, "tenants": tenants}


def read_saved(value: Any, records: int) -> Optional[SavedNetworks]:
    """None if a part cannot be read: no key may lose its list."""
    if not isinstance(value, dict):
        return None
    given, keys, tenants = value.get("lists"), _pairs_in(value.get("keys")), _pairs_in(value.get("tenants"))
    if not isinstance(given, list) or keys is None or tenants is None:
        return None
    lists = [networks for networks in map(read_networks, given) if networks is not None]
    # Equal lists, which no writer writes, would shift all that follow.
    if len(lists) != len(given) or len({networks.texts for networks in lists}) != len(lists):
        return None
    if not all(_is_below(position, records) and _is_below(place, len(lists)) for position, place in keys):
        return None
    of_tenants: Dict[str, Networks] = {}
    for tenant_id, place in tenants:
        networks = UNREADABLE if place is None else lists[place] if _is_below(place, len(lists)) else None
        # No tenant has an empty list.
        if not isinstance(tenant_id, str) or networks is None or networks.texts == ():
            return None
        of_tenants[tenant_id] = networks
    return SavedNetworks({position: lists[place] for position, place in keys}, of_tenants)


def _pairs_in(value: Any) -> Optional[List[List[Any]]]:
    are_pairs = isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value)
    return value if are_pairs else None


def _is_below(value: Any, end: int) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and 0 <= value < end
