"""A refusal over HTTP: RFC 9457 problem details with RFC 6750 challenges, for any framework."""

from __future__ import annotations

import re
from typing import Dict, Optional, Sequence

from ..verdict import Verdict, refusal_status
from .problem import Problem, make_problem

#: In seconds. A node that has lost the service retries at least this often.
_RETRY_AFTER = "5"
_faults = {
    "twice": "More than one API key was presented: send one",
    "other_scheme": "The API key was not sent as Bearer",
    "no_scheme": "The API key was sent without the word Bearer",
    "bad_form": "No API key follows the word Bearer",
}
_sendable = re.compile(r"[\x21\x23-\x5b\x5d-\x7e]+")


def to_refusal(
    verdict: Verdict, *, scopes: Sequence[str] = (), headers: Sequence[str] = (), fault: Optional[str] = None
) -> Problem:
    """`headers`: where the key is expected."""
    status = refusal_status(verdict.code)
    detail = _detail_of(verdict, _way_to_send(headers), fault)
    named = scopes if verdict.code == "insufficient_scope" else None
    return make_problem(status, verdict.code, detail, _sent(status, verdict.code, scopes), named)


def _sent(status: int, code: str, scopes: Sequence[str]) -> Dict[str, str]:
    if status == 503:
        return {"retry-after": _RETRY_AFTER}
    if code in ("ip_unknown", "ip_not_allowed"):
        # No challenge: the key is right, and its place is not.
        return {}
    return {"www-authenticate": _challenge(code, scopes)}


def _challenge(code: str, scopes: Sequence[str]) -> str:
    """Without credentials the challenge has no error (RFC 6750, section 3.1)."""
    if code == "missing_key":
        return "Bearer"
    if code != "insufficient_scope":
        return 'Bearer error="invalid_token"'
    # Scopes with characters that a header cannot carry are only in the body.
    named = " ".join(scope for scope in scopes if _sendable.fullmatch(scope))
    return 'Bearer error="insufficient_scope"' + (f', scope="{named}"' if named else "")


def _detail_of(verdict: Verdict, way: str, fault: Optional[str]) -> str:
    if fault == "twice":
        return _faults["twice"]
    if fault is not None:
        return f"{_faults[fault]}: {way}"
    return f"{verdict.message}: {way}" if verdict.code == "missing_key" and way else verdict.message


def _way_to_send(headers: Sequence[str]) -> str:
    ways = (
        'as "Authorization: Bearer <key>"' if name == "authorization" else f"in the header {name}"
        for name in headers
    )
    return "send it " + " or ".join(ways) if headers else ""
