"""The service's answer to a check."""

from __future__ import annotations

import re
from typing import Any, Dict, List, NamedTuple, Optional, Union

from ..errors import KeyrailError, passing
from ..wire.parse import as_number

_names = ("RateLimit-Policy", "RateLimit", "Retry-After")
_printable = re.compile(r"[\x20-\x7e]+")


class CheckAnswer(NamedTuple):
    allowed: bool
    #: Ids of the limits that the request does not fit.
    denied_by: List[str]
    #: Time until the request would fit, in milliseconds; None: never; False: the answer does not say.
    retry_after_ms: Union[float, None, bool]
    #: Names in lower case.
    headers: Dict[str, str]


def read_answer(answer: Dict[str, Any]) -> CheckAnswer:
    """Raises KeyrailError `bad_response`."""
    if answer.get("object") != "ratelimit_check":
        raise bad_answer("object")
    headers = _read_headers(answer.get("headers"))
    allowed = answer.get("allowed")
    if not isinstance(allowed, bool):
        raise bad_answer("allowed")
    if allowed:
        return CheckAnswer(True, [], None, headers)
    denied_by = answer.get("denied_by")
    if not isinstance(denied_by, list) or not all(isinstance(each, str) for each in denied_by):
        raise bad_answer("denied_by")
    given = answer.get("retry_after_ms", False)
    wait = as_number(given)
    is_known = given is None or (wait is not None and wait > 0)
    return CheckAnswer(False, denied_by, wait if is_known else False, headers)


def _read_headers(given: Any) -> Dict[str, str]:
    headers: Dict[str, str] = {}
    for name in _names:
        value = given.get(name) if isinstance(given, dict) else None
        if value is None and name == "Retry-After":
            continue
        if not isinstance(value, str) or not _printable.fullmatch(value):
            raise bad_answer(f"headers.{name}")
        headers[name.lower()] = value
    return headers


def bad_answer(what: str) -> KeyrailError:
    return passing("bad_response", f"The answer is not a rate-limit check: {what}")
