"""Finds the API key in the headers of a request."""

from __future__ import annotations

import re
from typing import Iterable, NamedTuple, Optional, Sequence, Tuple

_bearer = re.compile(r"Bearer +([\x21-\x7e]+) *", re.IGNORECASE)
_begins = re.compile(r"Bearer(?![A-Za-z0-9_])", re.IGNORECASE)


class Credential(NamedTuple):
    #: None if none was sent.
    key: Optional[str]
    #: `twice`, `other_scheme`, `no_scheme` or `bad_form`: what was sent cannot be a key.
    fault: Optional[str] = None


def find_credential(headers: Iterable[Tuple[str, str]], names: Sequence[str]) -> Credential:
    """
    `names` in lower case: the first header with a key counts. A header with another scheme may serve another
    purpose, so the key may be in the next one.
    """
    pairs = list(headers)
    first = Credential(None)
    for name in names:
        credential = read_credential(pairs, name)
        if credential.key or credential.fault == "twice":
            return credential
        if first.fault is None and first.key is None:
            first = credential
    return first


def read_credential(headers: Iterable[Tuple[str, str]], name: str) -> Credential:
    """`authorization` holds `Bearer <key>` (RFC 6750), any other header the bare key."""
    found: Optional[str] = None
    for each, value in headers:
        if each.lower() != name:
            continue
        if found is not None:
            return Credential(None, "twice")
        found = value
    if found is None:
        return Credential(None)
    if name != "authorization":
        return Credential(found.strip())
    bearer = _bearer.fullmatch(found)
    if bearer is not None:
        return Credential(bearer[1])
    if _begins.match(found):
        return Credential(None, "twice" if "," in found else "bad_form")
    return Credential(None, "other_scheme" if re.match(r"\S+ +\S", found.strip()) else "no_scheme")
