"""Error answers of the vendor's API: RFC 9457 problem details."""

from __future__ import annotations

from typing import Any, Dict, NamedTuple, Optional, Sequence

from ..wire.parse import to_json

_titles = {
    401: "Unauthorized",
    403: "Forbidden",
    429: "Too Many Requests",
    500: "Internal Server Error",
    503: "Service Unavailable",
}


class Problem(NamedTuple):
    """An answer in place of the route's."""

    status: int
    #: Names in lower case.
    headers: Dict[str, str]
    body: Dict[str, Any]

    @property
    def code(self) -> str:
        return str(self.body["code"])

    @property
    def content(self) -> bytes:
        """The body as it is sent."""
        return to_json(self.body).encode("ascii")


def make_problem(
    status: int,
    code: str,
    detail: str,
    headers: Optional[Dict[str, str]] = None,
    scopes: Optional[Sequence[str]] = None,
) -> Problem:
    """Never cached, because the next request may get another answer."""
    body: Dict[str, Any] = {
        "type": "about:blank",
        "title": _titles[status],
        "status": status,
        "detail": detail,
    }
    body["code"] = code
    if scopes is not None:
        body["scopes"] = list(scopes)
    own = {"content-type": "application/problem+json", "cache-control": "no-store", **(headers or {})}
    return Problem(status, own, body)


def misused_problem() -> Problem:
    """For a mistake in the vendor's code. The customer cannot act on it; the vendor's log has the details."""
    return make_problem(500, "internal_error", "This API is misconfigured; see its log")
