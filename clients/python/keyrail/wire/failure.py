"""
Turns every failure of an exchange into a KeyrailError. Foreign texts are cut, and never contain the secret
key.
"""

from __future__ import annotations

import errno
import http.client
import re
import socket
import ssl
from typing import Any, Optional
from urllib.parse import urljoin, urlsplit

from ..errors import KeyrailError, lasting, passing
from .parse import parse_members

_DETAIL_MAX = 300
_retryable_statuses = frozenset((408, 425, 429))


class DeadlinePassed(Exception):
    """The time of an exchange is over."""


class ProxyFailed(Exception):
    """The proxy of the environment opens no way to the service. The text is for people."""


class TooLarge(Exception):
    """The answer has more bytes than it may have."""


def problem_error(
    what: str,
    *,
    status: int,
    text: str,
    request_id: str,
    retry_after_ms: Optional[float],
    secret_key: str,
    origin: str,
) -> KeyrailError:
    """The error for an unexpected status, with the contents of its problem document (RFC 9457)."""
    # Before cutting, which could leave half a secret.
    problem = parse_members(text.replace(secret_key, "[secret key]"))
    given = _matching(problem.get("code"), r"[a-z][a-z0-9_]{0,63}")
    code = given or f"http_{status}"
    detail = problem.get("detail")
    told = f": {detail[:_DETAIL_MAX]}" if isinstance(detail, str) else ""
    by = f" by {origin}, which is not a Keyrail error" if given is None else ""
    said = problem.get("request_id")
    return KeyrailError(
        code,
        f"{what} was answered {status} {code}{told}{by}",
        status=status,
        request_id=_matching(said if said is not None else request_id, r"[A-Za-z0-9_.:-]{1,128}"),
        doc_url=_matching(problem.get("type"), r"https?://[\w.:\[\]/-]{1,200}"),
        # Without a code, something in front of the service refused, such as a proxy that cannot reach it.
        retryable=given is None or status >= 500 or status in _retryable_statuses,
        retry_after_ms=retry_after_ms,
    )


def transport_error(error: BaseException, *, what: str, origin: str) -> KeyrailError:
    """No answer. Without the cause, which may hold the request and so the secret key."""
    if isinstance(error, KeyrailError):
        return error
    if isinstance(error, (DeadlinePassed, socket.timeout)):
        return passing("timeout", f"{what} was not answered in time by {origin}")
    if isinstance(error, ProxyFailed):
        return passing("network_error", f"{what} failed at {origin}: {error}")
    why, hint = _reason(error, origin)
    return passing("network_error", f"{what} failed at {origin}: {why}{hint}")


def _reason(error: BaseException, origin: str) -> "tuple[str, str]":
    if isinstance(error, socket.gaierror):
        return "the host name", " cannot be resolved"
    if isinstance(error, ssl.SSLCertVerificationError):
        return "TLS", ", its certificate is not trusted or belongs to another host"
    if isinstance(error, ssl.SSLError):
        return "TLS", ", it does not speak TLS: if it serves http, url must say so"
    if isinstance(error, ConnectionRefusedError):
        return "ECONNREFUSED", ", nothing listens there"
    if isinstance(error, (ConnectionResetError, http.client.RemoteDisconnected)):
        is_http = origin.startswith("http:")
        return (
            "ECONNRESET",
            ", it closed the connection: if it serves https, url must say so" if is_http else "",
        )
    if isinstance(error, OSError) and error.errno is not None:
        return errno.errorcode.get(error.errno, type(error).__name__), ""
    return type(error).__name__, ""


def redirected_error(what: str, location: Optional[str], origin: str) -> KeyrailError:
    """Shows only the host of the target, because its path and query may hold a secret."""
    target = ""
    try:
        to = urlsplit(urljoin(origin, location)) if location else None
        if to is not None and to.hostname and re.fullmatch(r"[A-Za-z0-9.-]{1,253}", to.hostname):
            target = f" to {to.scheme}://{to.hostname}"
    except ValueError:
        pass
    return passing(
        "network_error",
        f"{what} was redirected{target}, which this package does not follow: set url to the service itself",
    )


def page_error(what: str, origin: str) -> KeyrailError:
    return passing(
        "bad_response",
        f"{what} was answered with an HTML page by {origin}: a login page or proxy is in front of the "
        "service, or url is wrong",
    )


def too_large(most_bytes: int) -> KeyrailError:
    return passing("response_too_large", f"The answer has more than {most_bytes} bytes")


def aborted_error(what: str) -> KeyrailError:
    return lasting("aborted", f"{what} was aborted by its caller")


def _matching(value: Any, pattern: str) -> Optional[str]:
    return value if isinstance(value, str) and re.fullmatch(pattern, value) else None
