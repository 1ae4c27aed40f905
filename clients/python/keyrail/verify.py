"""
The rule that judges a key, in the order of the refusals. It never raises, and refuses what it cannot judge.
"""

from __future__ import annotations

from collections import OrderedDict
from hashlib import sha256
from typing import Iterable, Optional

from .end import NEVER, refusal_after
from .key_form import is_other_form, read_key_form
from .service_time import ServiceTime
from .store import Record, Store
from .verdict import REFUSAL_BY_CAUSE, REFUSED, Verdict
from .world import World

#: About 150 bytes each.
_ENDED_MAX = 10_000


class EndedKeys:
    """
    Why keys have ended: those that this node held, and others whose cause the service gave. It knows the last
    10,000.
    """

    def __init__(self) -> None:
        self._codes: OrderedDict[bytes, str] = OrderedDict()

    def code_of(self, digest: bytes) -> Optional[str]:
        return self._codes.get(digest)

    def add(self, record: Record, at: float) -> None:
        """
        Notes a key that is about to be removed. Its end is why if it was past it; otherwise it was
        revoked. `at`: when the service ended it, by its clock.
        """
        self._set(record.digest, "revoked_key" if record.end > at else refusal_after(record.end))

    def add_cause(self, digest: bytes, cause: str) -> None:
        """With an unknown cause, the key is just unknown."""
        code = REFUSAL_BY_CAUSE.get(cause)
        if code is None:
            self.forget(digest)
        else:
            self._set(digest, code)

    def add_all(self, store: Store, at: float) -> None:
        for record in store.records():
            self.add(record, at)

    def forget(self, digest: bytes) -> None:
        """The service sends the key again, such as an expired one that was renewed."""
        self._codes.pop(digest, None)

    def clear(self) -> None:
        self._codes.clear()

    def _set(self, digest: bytes, code: str) -> None:
        self._codes.pop(digest, None)
        self._codes[digest] = code
        if len(self._codes) > _ENDED_MAX:
            self._codes.popitem(last=False)


class Served:
    """What verification reads."""

    __slots__ = ("store", "ended", "is_partial", "evictions")

    def __init__(self) -> None:
        self.store: Optional[Store] = None
        self.ended = EndedKeys()
        #: The store comes from a disk, and may not have all keys.
        self.is_partial = False
        #: Evictions of earlier stores.
        self.evictions = 0


class Verifier:
    """Judges keys by what is served. Any thread may call it while another applies changes."""

    def __init__(
        self, served: Served, env: str, cached_ttl_ms: float, time: ServiceTime, world: World
    ) -> None:
        self._served = served
        self._env = env
        self._cached_ttl_ms = cached_ttl_ms
        self._time = time
        self._monotonic = world.monotonic

    def verify(
        self,
        key: Optional[str],
        scopes: Optional[Iterable[str]] = None,
        env: Optional[str] = None,
        ip: Optional[str] = None,
    ) -> Verdict:
        try:
            return self._judge(key, scopes, env, ip)
        except Exception:
            return REFUSED["not_ready"]

    def _judge(
        self, key: Optional[str], scopes: Optional[Iterable[str]], env: Optional[str], ip: Optional[str]
    ) -> Verdict:
        if key is None or key == "":
            return REFUSED["missing_key"]
        if not isinstance(key, str):
            return REFUSED["malformed_key"]
        form = read_key_form(key)
        served = self._served
        store = served.store
        if form is None and not is_other_form(key):
            return REFUSED["malformed_key"]
        if form is not None and not self._is_asked_for(form, env):
            return REFUSED["wrong_env"]
        if store is None or (form is None and store.accepts_imported is None):
            return REFUSED["not_ready"]
        now = self._monotonic()
        if not store.confirmed_at > now - self._cached_ttl_ms:
            return REFUSED["stale"]
        # Without a hash, where no such key can be held: a flood of garbage costs nothing.
        if form is None and not store.accepts_imported:
            return REFUSED["malformed_key"]
        digest = sha256(key.encode("ascii")).digest()
        record = store.find(digest)
        if record is None:
            ended = served.ended.code_of(digest)
            if ended is not None:
                return REFUSED[ended]
            return REFUSED["unknown_key" if store.evictions == 0 and not served.is_partial else "not_held"]
        # The checksum covers the environment in the key's text, so only a forged feed can make them differ.
        if form is not None and record.env != form:
            return REFUSED["unknown_key"]
        if form is None and not self._is_asked_for(record.env, env):
            return REFUSED["wrong_env"]
        if store.suspended and record.tenant.id in store.suspended:
            return REFUSED["suspended_tenant"]
        if record.end != NEVER and not self._time.now(now) < record.end:
            return REFUSED[refusal_after(record.end)]
        networks = store.networks_of(record)
        if networks is not None:
            refusal = networks.refusal(ip)
            if refusal is not None:
                return REFUSED[refusal]
        elif not store.holds(record):
            # It got a list of its own meanwhile, perhaps in place of that of its tenant.
            return self._judge(key, scopes, env, ip)
        if scopes is not None and not _has_all(record, scopes):
            return REFUSED["insufficient_scope"]
        return Verdict(True, "valid", "", record)

    def _is_asked_for(self, env: str, required: Optional[str]) -> bool:
        """Whether node and request both accept keys of this environment."""
        return self._env in ("both", env) and required in (None, "both", env)


def _has_all(record: Record, required: Iterable[str]) -> bool:
    """A text is no list of scopes: its letters must not be taken for scopes."""
    if isinstance(required, (str, bytes)):
        return False
    try:
        return all(isinstance(scope, str) and scope in record.scopes for scope in required)
    except TypeError:
        return False
