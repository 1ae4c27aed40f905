"""
The format of the disk snapshot, which is that of `@keyrail/sdk`: either reads what the other wrote.

    format (20) | word order (4) | length of the header (4) | header, JSON | zeros up to a multiple of 64
    | records, 64 bytes each | key ids, 16 bytes each | SHA-256 of all before it (32)

A record: digest (32), expiry and stamp of the last use as doubles, numbers of tenant and scopes, environment
in bits 0-1 with the number of the limits above, 4 bytes without a meaning. The checksum detects damage by a disk or a
crash.
"""

from __future__ import annotations

import hashlib
import json
import struct
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from ..feed.kept import Kept
from ..feed.values import CIDR, IMPORTED, SUSPENDED, Scope, is_texts, read_limits
from ..store import Key, Store
from ..wire.parse import as_integer, as_number, parse_json, to_json
from .key_ids import pack_id, unpack_id
from .saved_networks import NONE, SavedNetworks, read_saved, save_networks

_FORMAT = b"keyrail-policy-v001\n"
#: Written in the byte order of the machine: another byte order reads another number.
_WORD_ORDER = 0x0A0B0C0D
_HEAD = struct.Struct("=20sIi")
_RECORD = struct.Struct("=32sddIIII")
_ID_BYTES = 16
_SUM_BYTES = 32
_ENVS = {1: "live", 2: "test"}


class Times(NamedTuple):
    """
    When the keys were last confirmed: by the wall clock, by the machine's uptime, by the service's clock.
    """

    wall: float
    uptime: float
    #: None: unknown.
    service: Optional[float]


class Loaded(NamedTuple):
    kept: Kept
    times: Times


class Refusal(NamedTuple):
    #: The file was written for other tenants, features or bounds; otherwise it is damaged or foreign.
    is_scope: bool
    why: str


def encode_snapshot(kept: Kept, scope: Scope, times: Times) -> bytes:
    store = kept.store
    tenants: Dict[str, int] = {}
    scopes: Dict[Tuple[str, ...], int] = {}
    limits: Dict[str, int] = {"[]": 0}
    labels: List[Any] = []
    other_ids: List[Any] = []
    records, ids = bytearray(), bytearray()
    # The last stamp before the records, so that none of theirs is above it.
    held = store.records()
    for position, record in enumerate(held):
        number = 0 if record.limits is None else limits.setdefault(record.limits.text, len(limits))
        records += _RECORD.pack(
            record.digest,
            record.end,
            record.used,
            tenants.setdefault(record.tenant.id, len(tenants)),
            scopes.setdefault(record.scopes, len(scopes)),
            number << 2 | (1 if record.env == "live" else 2),
            0,
        )
        packed, is_uuid = pack_id(record.key_id)
        ids += packed
        if not is_uuid:
            other_ids.append([position, record.key_id])
        if record.meta is not None and record.meta != "{}":
            labels.append([position, {"meta": json.loads(record.meta)}])
    header: Dict[str, Any] = {
        "workspace_id": kept.workspace_id,
        "project_id": scope.project_id,
        "env": None if scope.env == "both" else scope.env,
        "service": scope.service,
        "version": kept.version,
        "fetched_at": times.wall,
        "fetched_uptime_ms": times.uptime,
        **({} if times.service is None else {"service_at": times.service}),
        "complete": kept.is_whole and store.evictions == 0 and not scope.tenant_ids,
        "scope": {"tenant_ids": list(scope.tenant_ids)},
        "evictions": store.evictions,
        "uses": max((record.used for record in held), default=0),
        "features": {"asked": list(scope.features), "known": list(kept.features)},
        "labels": {
            "keys": labels,
            "tenants": [
                [tenant.id, {} if tenant.external_id is None else {"externalId": tenant.external_id}]
                for tenant in store.tenants()
            ],
            **({"blank": {"meta": {}}} if any(record.meta == "{}" for record in held) else {}),
        },
        "suspended": list(store.suspended),
        "allowed_cidrs": save_networks(store, held),
        **({"accepts_imported": True} if store.accepts_imported else {}),
        "records": len(held),
        "other_ids": other_ids,
        "tenants": list(tenants),
        "scopes": [list(each) for each in scopes],
        "rate_limits": [json.loads(each) for each in limits],
    }
    text = to_json(header).encode("ascii")
    head = _HEAD.pack(_FORMAT, _WORD_ORDER, len(text)) + text
    body = b"".join((head, bytes(-len(head) % 64), records, ids))
    return body + hashlib.sha256(body).digest()


def decode_snapshot(file: bytes, scope: Scope, most_keys: int) -> Union[Loaded, Refusal]:
    """Reads a file for a node with this scope. Refuses a file with any invalid part."""
    sum_at = len(file) - _SUM_BYTES
    if sum_at < _HEAD.size:
        return Refusal(False, "it is cut short")
    form, order, length = _HEAD.unpack_from(file)
    if form != _FORMAT:
        return Refusal(False, "it has another format")
    if hashlib.sha256(memoryview(file)[:sum_at]).digest() != file[sum_at:]:
        return Refusal(False, "its checksum is wrong")
    if order != _WORD_ORDER:
        return Refusal(False, "it was written with another byte order")
    if length < 0 or _HEAD.size + length > sum_at:
        return Refusal(False, "its header is cut short")
    header = parse_json(file[_HEAD.size : _HEAD.size + length].decode("utf-8", "replace"))
    if not isinstance(header, dict) or not _is_right(header):
        return Refusal(False, "its header is wrong")
    count = int(header["records"])
    records_at = -(-(_HEAD.size + length) // 64) * 64
    ids_at = records_at + count * _RECORD.size
    if ids_at + count * _ID_BYTES != sum_at:
        return Refusal(False, "its length is wrong")
    foreign = _foreignness(header, scope)
    if foreign is not None:
        return foreign
    if count > most_keys:
        return Refusal(True, f"it has {count} keys, and this node may hold {most_keys}")
    networks = read_saved(header["allowed_cidrs"], count) if "allowed_cidrs" in header else NONE
    if networks is None:
        return Refusal(False, "its header is wrong")
    records, ids = memoryview(file)[records_at:ids_at], memoryview(file)[ids_at:sum_at]
    store = _read_store(header, networks, records, ids, most_keys)
    if isinstance(store, Refusal):
        return store
    writer = header.get("scope")
    known = (header.get("features") or {}).get("known") or []
    kept = Kept(
        store,
        int(header["version"]),
        header["workspace_id"],
        # Believe the writer only if it is known which tenants it covered.
        writer is not None and (header["complete"] or bool(scope.tenant_ids)),
        tuple(known),
    )
    return Loaded(kept, Times(header["fetched_at"], header["fetched_uptime_ms"], header.get("service_at")))


def _read_store(
    header: Dict[str, Any], networks: SavedNetworks, records: memoryview, ids: memoryview, most_keys: int
) -> Union[Store, Refusal]:
    store = Store(most_keys, uses=int(header["uses"]))
    labels = _read_labels(header.get("labels"))
    others = {position: key_id for position, key_id in header["other_ids"]}
    limits = [read_limits(each) for each in header["rate_limits"]]
    scopes = [tuple(each) for each in header["scopes"]]
    tenants = header["tenants"]
    for position, packed in enumerate(_RECORD.iter_unpack(records)):
        digest, end, used, tenant, scope, env_and_limits, _ = packed
        env, number = _ENVS.get(env_and_limits & 3), env_and_limits >> 2
        if env is None or tenant >= len(tenants) or scope >= len(scopes) or number >= len(limits):
            return Refusal(False, f"its record {position} is wrong")
        if not used >= 0 or end != end or used == float("inf"):
            return Refusal(False, f"its record {position} is wrong")
        key_id = others.get(position) or unpack_id(ids[position * _ID_BYTES : (position + 1) * _ID_BYTES])
        text = limits[number]
        meta = labels.keys.get(position, labels.blank)
        own = networks.keys.get(position)
        key = Key(digest, key_id, tenants[tenant], env, scopes[scope], text or None, end, meta, own)
        store.upsert(key, int(used))
    for tenant_id, external_id in labels.tenants:
        store.set_tenant(tenant_id, external_id)
    store.prune(tenant_id for tenant_id, _ in labels.tenants)
    store.suspended.update(header.get("suspended", ()))
    store.tenant_networks.update(networks.tenants)
    known = (header.get("features") or {}).get("known") or []
    store.accepts_imported = header.get("accepts_imported", False if IMPORTED in known else None)
    store.evictions = int(header["evictions"])
    return store


class _Labels(NamedTuple):
    #: `meta` as JSON by the position of the key's record.
    keys: Dict[int, Optional[str]]
    tenants: List[Tuple[str, Optional[str]]]
    #: The `meta` of all other keys; None: they have none.
    blank: Optional[str]


def _read_labels(labels: Any) -> _Labels:
    if labels is None:
        return _Labels({}, [], None)
    keys = {
        position: to_json(label["meta"]) if isinstance(label, dict) and "meta" in label else None
        for position, label in labels["keys"]
    }
    tenants = [(tenant_id, label.get("externalId")) for tenant_id, label in labels["tenants"]]
    blank = labels.get("blank")
    return _Labels(keys, tenants, "{}" if isinstance(blank, dict) and "meta" in blank else None)


def _foreignness(header: Dict[str, Any], scope: Scope) -> Optional[Refusal]:
    if header["project_id"] != scope.project_id:
        return Refusal(False, "it belongs to another project")
    if header["env"] != (None if scope.env == "both" else scope.env):
        return Refusal(False, "it belongs to another environment")
    if header.get("service") is not None and header["service"] != scope.service:
        return Refusal(False, "it belongs to another service")
    # What it lacks comes with the next answer of the service, which names more features than the file does.
    asked = (header.get("features") or {}).get("asked") or []
    if not all(name in scope.features for name in asked):
        return Refusal(True, "it was written for other features")
    writer = header.get("scope")
    if writer is None:
        return Refusal(True, "it does not say which tenants it covers") if scope.tenant_ids else None
    if tuple(writer["tenant_ids"]) != scope.tenant_ids:
        return Refusal(True, "it was written for other tenants")
    return None


def _is_right(header: Dict[str, Any]) -> bool:
    counts = [as_integer(header.get(name)) for name in ("version", "evictions", "uses", "records")]
    times = [header.get("fetched_at"), header.get("fetched_uptime_ms"), header.get("service_at", 0)]
    features, labels, scope = header.get("features"), header.get("labels"), header.get("scope")
    limits, scopes = header.get("rate_limits"), header.get("scopes")
    known = features.get("known") or () if isinstance(features, dict) else ()
    return (
        all(isinstance(header.get(name), str) for name in ("workspace_id", "project_id"))
        and isinstance(header.get("service", ""), str)
        and header.get("env", False) in (None, "live", "test")
        and isinstance(header.get("complete"), bool)
        and all(count is not None and count >= 0 for count in counts)
        and all(as_number(time) is not None for time in times)
        and (features is None or _has_texts(features, "asked", "known"))
        and (labels is None or _are_labels(labels))
        and (scope is None or _has_texts(scope, "tenant_ids"))
        # Who knew the feature also wrote the list.
        and is_texts(header.get("suspended", None if SUSPENDED in known else []))
        and ("allowed_cidrs" in header or CIDR not in known)
        and isinstance(header.get("accepts_imported", False), bool)
        and _are_pairs(header.get("other_ids"), int, str)
        and is_texts(header.get("tenants"))
        and isinstance(scopes, list)
        and all(is_texts(each) for each in scopes)
        and isinstance(limits, list)
        and len(limits) > 0
        and all(read_limits(each) is not False for each in limits)
    )


def _has_texts(value: Any, *names: str) -> bool:
    return isinstance(value, dict) and all(is_texts(value.get(name)) for name in names)


def _are_labels(labels: Any) -> bool:
    if not isinstance(labels, dict):
        return False
    return _are_pairs(labels.get("keys"), int, dict) and _are_pairs(labels.get("tenants"), str, dict)


def _are_pairs(value: Any, first: type, second: type) -> bool:
    return isinstance(value, list) and all(
        isinstance(pair, list)
        and len(pair) == 2
        and isinstance(pair[0], first)
        and isinstance(pair[1], second)
        for pair in value
    )
