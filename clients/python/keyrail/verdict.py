"""The verdicts on keys."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, Dict, List, Optional, Tuple

from .end import shown_end

if TYPE_CHECKING:
    from .store import Record

#: Why a key is refused. If several reasons apply, the verdict is the first of them in this order.
REFUSALS: Dict[str, str] = {
    "missing_key": "No API key was presented",
    "malformed_key": "This is not an API key: its form or its checksum is wrong",
    "wrong_env": "The API key belongs to the other environment",
    "not_ready": "No keys are loaded, so none can be verified",
    "stale": "The API keys held here were not confirmed recently enough",
    "not_held": "The API key is not held here, and not all keys are",
    "unknown_key": "The API key is unknown or revoked",
    "revoked_key": "The API key has been revoked",
    "disabled_key": "The API key is disabled",
    "suspended_tenant": "The account that the API key belongs to is suspended",
    "expired_key": "The API key has expired",
    "too_old": "The API key is older than its project allows",
    "ip_unknown": "The API key is restricted to networks, and the address of the caller is not known",
    "ip_not_allowed": "The API key may not be used from this address",
    "insufficient_scope": "The API key lacks a required scope",
}

#: The refusals of keys that have ended, by the `cause` of a tombstone.
REFUSAL_BY_CAUSE: Dict[str, str] = {
    "revoked": "revoked_key",
    "expired": "expired_key",
    "deleted": "revoked_key",
    "disabled": "disabled_key",
    "suspended": "suspended_tenant",
}


def refusal_status(code: str) -> int:
    """The status with which a request is answered whose key is refused."""
    if code in ("ip_unknown", "ip_not_allowed", "insufficient_scope"):
        return 403
    return 503 if code in ("not_ready", "stale", "not_held") else 401


class Verdict:
    """
    The verdict on a key. It holds no secret and may be logged. Only a valid one has ids; `bool(verdict)` is
    `valid`.
    """

    __slots__ = ("valid", "code", "message", "_record")

    valid: bool
    #: `valid`, or why the key is refused: for programs.
    code: str
    #: Why the key is refused, for people; empty for a valid key.
    message: str

    def __init__(self, valid: bool, code: str, message: str, record: Optional["Record"]) -> None:
        self.valid = valid
        self.code = code
        self.message = message
        self._record = record

    def __bool__(self) -> bool:
        return self.valid

    def __repr__(self) -> str:
        if not self.valid:
            return f"Verdict({self.code!r})"
        return f"Verdict('valid', key_id={self.key_id!r}, tenant_id={self.tenant_id!r})"

    @property
    def _valid_record(self) -> "Record":
        if self._record is None:
            raise ValueError(f"the key was refused as {self.code}: look at valid first")
        return self._record

    @property
    def key_id(self) -> str:
        return self._valid_record.key_id

    @property
    def tenant_id(self) -> str:
        return self._valid_record.tenant.id

    @property
    def external_id(self) -> Optional[str]:
        """Your own id of the tenant; None if you gave it none, or the service does not send it."""
        return self._valid_record.tenant.external_id

    @property
    def env(self) -> str:
        return self._valid_record.env

    @property
    def scopes(self) -> Tuple[str, ...]:
        return self._valid_record.scopes

    @property
    def expires_at(self) -> Optional[float]:
        """When the key expires or is too old, in milliseconds since the epoch; None if it never ends."""
        return shown_end(self._valid_record.end)

    @property
    def meta(self) -> Optional[Dict[str, Any]]:
        """
        What you stored beside the key, as a copy. None if it has more than 2 KiB, or the service does not
        send it.
        """
        text = self._valid_record.meta
        return None if text is None else json.loads(text)

    @property
    def limits(self) -> Optional[List[Dict[str, Any]]]:
        """The limits of the key as the feed sent them, as a copy; None if it has none."""
        limits = self._valid_record.limits
        return None if limits is None else json.loads(limits.text)


#: One for each code, so that a flood of bad keys creates no garbage.
REFUSED: Dict[str, Verdict] = {
    code: Verdict(False, code, message, None) for code, message in REFUSALS.items()
}
