"""Networks from which keys may be used, and the addresses of callers."""

from __future__ import annotations

import re
from ipaddress import IPv4Address, IPv6Address
from typing import Any, List, Optional, Tuple

#: The most ranges in a list.
_RANGES_MAX = 32
_BITS = {4: 32, 6: 128}
#: In an IPv4-mapped address, the IPv4 address begins after this many bits.
_MAPPED_BITS = 96
_MAPPED = 0xFFFF << 32

#: `ipaddress` accepts leading zeros in some versions of Python 3.9.
_ipv4 = re.compile(r"(?:0|[1-9][0-9]{0,2})(?:\.(?:0|[1-9][0-9]{0,2})){3}")
_prefix = re.compile(r"0|[1-9][0-9]{0,2}")
#: A zone is printable, and neither `%` nor `/` is in it.
_zone = re.compile(r"[!-$&-.0-~]+")

#: 4 or 6, and the number.
Address = Tuple[int, int]


def read_address(text: Any) -> Optional[Address]:
    """
    The address of a caller; None if it is none. A zone says on which link of this machine the address is, so
    it is dropped. An IPv4-mapped address is the IPv4 address.
    """
    if not isinstance(text, str):
        return None
    address, mark, zone = text.partition("%")
    if mark and (":" not in address or _zone.fullmatch(zone) is None):
        return None
    read = _read_plain(address)
    if read is not None and read[0] == 6 and read[1] >> 32 == 0xFFFF:
        return 4, read[1] & 0xFFFFFFFF
    return read


def _read_plain(text: str) -> Optional[Address]:
    try:
        if ":" not in text:
            return (4, int(IPv4Address(text))) if _ipv4.fullmatch(text) else None
        last = text[text.rindex(":") + 1 :]
        if "%" in text or ("." in last and _ipv4.fullmatch(last) is None):
            return None
        return 6, int(IPv6Address(text))
    except ValueError:
        return None


class Networks:
    """
    The ranges from which a key may be used, or the keys of a tenant. Without a range: from any address.
    """

    __slots__ = ("texts", "_ranges")

    def __init__(self, texts: Optional[Tuple[str, ...]], ranges: Tuple[Tuple[int, int, int], ...]) -> None:
        #: As the feed sent them; None: they cannot be read, so no address is in them.
        self.texts = texts
        #: For each range 4 or 6, the bits behind its prefix, and the bits before.
        self._ranges = ranges

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Networks) and self.texts == other.texts

    def __hash__(self) -> int:
        return hash(self.texts)

    def refusal(self, ip: Any) -> Optional[str]:
        """Why a key may not be used from the address; None if it may."""
        if self.texts is None:
            return "ip_not_allowed"
        if not self._ranges:
            return None
        address = read_address(ip)
        if address is None:
            return "ip_unknown"
        version, number = address
        for family, behind, first in self._ranges:
            if family == version and number >> behind == first:
                return None
        return "ip_not_allowed"


#: The list of a tenant that cannot be read.
UNREADABLE = Networks(None, ())


def read_networks(value: Any) -> Optional[Networks]:
    """A list of the feed; None if it cannot be read."""
    if not isinstance(value, list) or len(value) > _RANGES_MAX:
        return None
    ranges: List[Tuple[int, int, int]] = []
    for text in value:
        read = _read_range(text)
        if read is None:
            return None
        ranges.append(read)
    return Networks(tuple(value), tuple(ranges))


def _read_range(text: Any) -> Optional[Tuple[int, int, int]]:
    """`192.0.2.0/24`. No bit may be set behind the prefix. A range of mapped addresses is the range of IPv4."""
    if not isinstance(text, str):
        return None
    address, _, length = text.partition("/")
    first = _read_plain(address)
    if first is None or _prefix.fullmatch(length) is None:
        return None
    version, number = first
    bits = int(length)
    behind = _BITS[version] - bits
    if behind < 0 or number & ((1 << behind) - 1):
        return None
    if version == 6 and bits >= _MAPPED_BITS and number >> 32 == _MAPPED >> 32:
        version, number = 4, number & 0xFFFFFFFF
    return version, behind, number >> behind
