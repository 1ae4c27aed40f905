"""Values of the feed's JSON, and the keys in it."""

from __future__ import annotations

import binascii
import re
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Tuple, Union

from ..end import end_of
from ..networks import read_networks
from ..store import Key
from ..wire.parse import is_shallow, to_json

#: A complete RFC 3339 timestamp: one without a zone would be read in the zone of this machine.
_timestamp = re.compile(
    r"([0-9]{4})-([0-9]{2})-([0-9]{2})T([0-9]{2}):([0-9]{2}):([0-9]{2})(?:\.([0-9]+))?"
    r"(?:Z|([+-])([0-9]{2}):([0-9]{2}))"
)
#: Limits are flat. A value deeper than this is not a limit, also not of a newer service.
_LIMITS_DEPTH_MAX = 4
#: The contract allows `meta` no more levels. A deeper one is left out.
_META_DEPTH_MAX = 32
#: With it, answers list suspended tenants, and keys of these tenants are in the feed.
SUSPENDED = "suspended"
#: With it, keys and listed tenants have the networks from which keys may be used.
CIDR = "cidr"
#: With it, keys say when they are too old for their project. Without it, they expire then.
LIFETIME = "lifetime"
#: With it, the feed has keys from elsewhere, and its answers say whether the project takes such keys.
IMPORTED = "imported"


def read_time(text: Any) -> Optional[float]:
    """Milliseconds since the epoch; None if it is not a timestamp."""
    found = _timestamp.fullmatch(text) if isinstance(text, str) else None
    if found is None:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
    is_time = hour < 24 and minute < 60 and second < 60 or (hour, minute, second) == (24, 0, 0)
    if not (1 <= month <= 12 and 1 <= day <= 31 and is_time):
        return None
    fraction, sign, zone_hours, zone_minutes = found.groups()[6:]
    if sign is not None and (int(zone_hours) > 23 or int(zone_minutes) > 59):
        return None
    zone = 0 if sign is None else (int(zone_hours) * 60 + int(zone_minutes)) * (-1 if sign == "-" else 1)
    minutes = (_days(year, month, day) * 24 + hour) * 60 + minute - zone
    milliseconds = int(((fraction or "") + "000")[:3])
    return (minutes * 60 + second) * 1000.0 + milliseconds


def _days(year: int, month: int, day: int) -> int:
    """Days since 1970-01-01, for years that `datetime` does not know too."""
    year -= month <= 2
    era = year // 400
    of_era = year - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 719468


def read_text(value: Any) -> Optional[str]:
    """A text of 1 to 200 characters, counted as the service does."""
    if not isinstance(value, str) or not value or len(value) > 200:
        return None
    if value.isascii():
        return value
    units = len(value) + sum(character > "\uffff" for character in value)
    return value if units <= 200 else None


def is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(text, str) for text in value)


class Scope(NamedTuple):
    """Which keys a node asks for. Every answer must match it."""

    project_id: str
    env: str
    #: Sorted and unique. Empty: the whole project.
    tenant_ids: Tuple[str, ...]
    #: Address of the service. Two installations, one restored from the other, have the same ids.
    service: str
    features: Tuple[str, ...] = (CIDR, "external_id", IMPORTED, "key_meta", LIFETIME, SUSPENDED)


class KeyNames(NamedTuple):
    """The id and digest of a key. One of them may be unreadable."""

    key_id: Optional[str]
    digest: Optional[bytes]


class Unreadable(NamedTuple):
    """A key of the feed that cannot be read. Only this key is refused."""

    names: KeyNames
    #: The wrong field.
    why: str


class NamedTenant(NamedTuple):
    tenant_id: str
    external_id: Optional[str]


def read_digest(text: Any) -> Optional[bytes]:
    """A `lookup_hash`: padded base64 of 32 bytes. Only a text that encodes to itself is valid."""
    if not isinstance(text, str) or len(text) != 44:
        return None
    try:
        digest = binascii.a2b_base64(text)
        return (
            digest
            if len(digest) == 32 and binascii.b2a_base64(digest, newline=False).decode() == text
            else None
        )
    except ValueError:
        return None


def read_names(value: Any) -> KeyNames:
    if not isinstance(value, dict):
        return KeyNames(None, None)
    return KeyNames(read_text(value.get("key_id")), read_digest(value.get("lookup_hash")))


def read_limits(value: Any) -> Union[str, None, bool]:
    """The effective limits of a key as JSON; None if it has none, False if they cannot be read."""
    if value is None or value == []:
        return None
    is_list = isinstance(value, list) and all(isinstance(rule, dict) for rule in value)
    if not is_list or not all(is_shallow(rule, _LIMITS_DEPTH_MAX) for rule in value):
        return False
    try:
        return to_json(value)
    except ValueError:
        return False


def read_meta(value: Dict[str, Any]) -> Optional[str]:
    """The `meta` of a key as JSON; None if the feed gave none, or one that cannot be read."""
    meta = value.get("meta", False)
    if meta == {}:
        return "{}"
    if meta is None:
        return "null"
    if not isinstance(meta, dict) or not is_shallow(meta, _META_DEPTH_MAX):
        return None
    try:
        return to_json(meta)
    except ValueError:
        return None


def read_key(value: Any, scope: Scope) -> Union[Key, Unreadable]:
    """Reads one key of a snapshot or a change. Ignores unknown fields."""
    names = read_names(value)
    why = _fault(value, names, scope)
    if why is not None or names.key_id is None or names.digest is None:
        return Unreadable(names, why or "key_id")
    end = value.get("expires_at", False)
    expires_at = float("inf") if end is None else read_time(end)
    if expires_at is None:
        return Unreadable(names, "expires_at")
    too_old_at = read_time(value["too_old_at"]) if "too_old_at" in value else float("inf")
    if too_old_at is None:
        return Unreadable(names, "too_old_at")
    limits = read_limits(value.get("rate_limits"))
    if isinstance(limits, bool):
        return Unreadable(names, "rate_limits")
    networks = read_networks(value["allowed_cidrs"]) if "allowed_cidrs" in value else None
    if networks is None and "allowed_cidrs" in value:
        return Unreadable(names, "allowed_cidrs")
    return Key(
        names.digest,
        names.key_id,
        value["tenant_id"],
        "live" if value["env"] == "live" else "test",
        tuple(value["scopes"]),
        limits,
        end_of(expires_at, too_old_at),
        read_meta(value),
        networks,
    )


def _fault(value: Any, names: KeyNames, scope: Scope) -> Optional[str]:
    if not isinstance(value, dict):
        return "it is not an object"
    if names.key_id is None:
        return "key_id"
    if names.digest is None:
        return "lookup_hash"
    tenant_id, env = value.get("tenant_id"), value.get("env")
    if read_text(tenant_id) is None:
        return "tenant_id"
    if scope.tenant_ids and tenant_id not in scope.tenant_ids:
        return "tenant_id, which was not asked for"
    if env not in ("live", "test"):
        return "env"
    if scope.env not in ("both", env):
        return "env, which was not asked for"
    return None if is_texts(value.get("scopes")) else "scopes"


def read_tenants(value: Any) -> List[NamedTenant]:
    if not isinstance(value, list):
        return []
    tenants = []
    for each in value:
        tenant_id = read_text(each.get("tenant_id")) if isinstance(each, dict) else None
        if tenant_id is not None:
            external_id = each.get("external_id")
            tenants.append(NamedTenant(tenant_id, external_id if isinstance(external_id, str) else None))
    return tenants


def given_features(value: Any, asked: Sequence[str]) -> Tuple[str, ...]:
    return tuple(name for name in value if name in asked) if isinstance(value, list) else ()
