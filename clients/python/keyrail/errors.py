"""Errors between this node and the service. They never hold a secret key."""

from __future__ import annotations

from typing import Optional


class KeyrailError(Exception):
    """Why a call of the service failed, or what a node met."""

    def __init__(
        self,
        code: str,
        message: str,
        *,
        retryable: bool,
        status: Optional[int] = None,
        request_id: Optional[str] = None,
        doc_url: Optional[str] = None,
        retry_after_ms: Optional[float] = None,
    ) -> None:
        super().__init__(message)
        #: For programs: a code of this package, a code of the service, or `http_` and a status.
        self.code = code
        self.message = message
        #: Whether the same request may succeed later without any change.
        self.retryable = retryable
        #: HTTP status, if the service answered.
        self.status = status
        #: The service's id of the request, for its log.
        self.request_id = request_id
        #: The page about the code.
        self.doc_url = doc_url
        #: How long the service asked to wait, in milliseconds.
        self.retry_after_ms = retry_after_ms

    def __str__(self) -> str:
        return self.message


class PolicyScopeTooLargeError(KeyrailError):
    """There are more keys than this node may hold."""

    def __init__(self, *, refused_to_start: bool, max_keys: int) -> None:
        super().__init__(
            "policy_scope_too_large",
            f"There are more than {max_keys} keys, the most this node may hold: "
            "narrow the keyring with tenants, or raise max_keys",
            retryable=not refused_to_start,
        )
        #: True: the node has never served, and does not start. False: it goes on with the keys that it holds.
        self.refused_to_start = refused_to_start
        self.max_keys = max_keys


def passing(code: str, message: str) -> KeyrailError:
    """An error that may be over at the next attempt."""
    return KeyrailError(code, message, retryable=True)


def lasting(code: str, message: str) -> KeyrailError:
    """An error that stays until something is changed."""
    return KeyrailError(code, message, retryable=False)


def bad_response(what: str) -> KeyrailError:
    """An answer that violates the contract of the feed. Nothing of it was applied."""
    return passing("bad_response", f"The answer is not a valid answer of the policy feed: {what}")


def as_keyrail_error(error: BaseException) -> KeyrailError:
    """Reports a bug in this package like any other error, because a node must not stop polling silently."""
    if isinstance(error, KeyrailError):
        return error
    return passing("internal_error", f"The keyring failed: {type(error).__name__}")


def is_outage(error: object) -> bool:
    """Whether the service was unavailable. A refusal, as for a revoked secret key, is no outage."""
    return isinstance(error, KeyrailError) and error.retryable


def closed_error() -> KeyrailError:
    return lasting("closed", "The keyring was closed")
