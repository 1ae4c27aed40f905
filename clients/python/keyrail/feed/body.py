"""
Reads the bodies of the feed. Checks the head of a body before anything of it is applied. Ignores unknown
fields, so that a newer service can send more. A key that cannot be read costs that key alone.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Dict, List, NamedTuple, Optional, Tuple, Union

from ..errors import bad_response
from ..store import Key
from ..wire.parse import as_integer
from . import values
from .listed import ListedTenant, read_listed
from .values import KeyNames, NamedTenant, Scope, Unreadable


class Gone(NamedTuple):
    """A key that was removed. One that cannot be read is removed without a cause."""

    names: KeyNames
    cause: Optional[str]
    is_unreadable: bool = False


@dataclass
class Head:
    workspace_id: str
    version: int
    #: The project has no keys any more.
    deleted: bool
    #: When the service generated the body, by its clock.
    generated_at: float
    #: The requested features that the service gives.
    features: Tuple[str, ...]
    tenants: List[NamedTenant]
    #: Empty if the service says neither which tenants are suspended, nor from where their keys may be used.
    listed: List[ListedTenant]
    #: Whether the project takes keys from elsewhere. None: the service does not say.
    accepts_imported: Optional[bool]
    #: What it says of that cannot be read.
    is_imported_odd: bool
    #: Keys of the body that cannot be read.
    unreadable: List[Unreadable] = field(default_factory=list)


@dataclass
class Snapshot(Head):
    keys: List[Key] = field(default_factory=list)
    next_cursor: Optional[str] = None


@dataclass
class Delta(Head):
    since: int = 0
    #: For how long the service held the answer before it last looked at the version; 0 if the answer does not
    #: say.
    held_ms: int = 0
    #: None: the delta has a change of an unknown kind, so a snapshot is needed.
    changes: Optional[List[Union[Key, Gone]]] = None


def read_feed_body(body: Any, scope: Scope) -> Union[Snapshot, Delta]:
    """Raises KeyrailError `bad_response`, naming the first wrong field."""
    if not isinstance(body, dict):
        raise bad_response("not a JSON object")
    kind = body.get("object")
    if kind not in ("policy_snapshot", "policy_delta"):
        raise bad_response("object")
    workspace_id = values.read_text(body.get("workspace_id"))
    if workspace_id is None:
        raise bad_response("workspace_id")
    if body.get("project_id") != scope.project_id:
        raise bad_response("project_id")
    if body.get("env", False) != (None if scope.env == "both" else scope.env):
        raise bad_response("env")
    version = _read_version(body.get("version"), "version")
    deleted = body.get("project_deleted")
    if not isinstance(deleted, bool):
        raise bad_response("project_deleted")
    generated_at = values.read_time(body.get("generated_at"))
    if generated_at is None:
        raise bad_response("generated_at")
    features = values.given_features(body.get("features"), scope.features)
    tenants = values.read_tenants(body.get("tenants"))
    listed = read_listed(body.get("tenants"), features)
    accepts = body.get("accepts_imported", False)
    # A member of another type counts as absent: keys of other forms are malformed then.
    accepts_imported = True if accepts is True else False if values.IMPORTED in features else None
    imported = (accepts_imported, not isinstance(accepts, bool))
    head = (workspace_id, version, deleted, generated_at, features, tenants, listed, *imported)
    return _read_snapshot(body, head, scope) if kind == "policy_snapshot" else _read_delta(body, head, scope)


def _read_version(value: Any, name: str) -> int:
    version = as_integer(value)
    if version is None or version < 0:
        raise bad_response(name)
    return version


def _read_snapshot(body: Dict[str, Any], head: Tuple[Any, ...], scope: Scope) -> Snapshot:
    keys, cursor = body.get("keys"), body.get("next_cursor")
    if not isinstance(keys, list):
        raise bad_response("keys")
    if cursor is not None and not (isinstance(cursor, str) and 1 <= len(cursor) <= 512):
        raise bad_response("next_cursor")
    snapshot = Snapshot(*head)
    snapshot.next_cursor = cursor
    for value in keys:
        key = values.read_key(value, scope)
        if isinstance(key, Unreadable):
            snapshot.unreadable.append(key)
        else:
            snapshot.keys.append(key)
    return snapshot


def _read_delta(body: Dict[str, Any], head: Tuple[Any, ...], scope: Scope) -> Delta:
    held = as_integer(body.get("held_ms"))
    since = _read_version(body.get("since"), "since")
    delta = Delta(*head)
    delta.since, delta.held_ms = since, max(0, held or 0)
    if delta.version < since:
        raise bad_response("version, which went back")
    given = body.get("changes")
    if not isinstance(given, list):
        raise bad_response("changes")
    changes: List[Union[Key, Gone]] = []
    for value in given:
        names = values.read_names(value)
        # The change may concern any key held here: only a snapshot can resolve it.
        if names.key_id is None and names.digest is None:
            return delta
        kind = value.get("change")
        if kind == "tombstone":
            cause = value.get("cause")
            changes.append(Gone(names, cause if isinstance(cause, str) else None))
        elif kind == "upsert":
            key = values.read_key(value, scope)
            if isinstance(key, Unreadable):
                delta.unreadable.append(key)
                changes.append(Gone(names, None, is_unreadable=True))
            else:
                changes.append(key)
        else:
            return delta
    delta.changes = changes
    return delta
