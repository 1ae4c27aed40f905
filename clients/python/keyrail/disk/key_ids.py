"""
Key ids in 16 bytes each, because the service's ids are UUIDs. Others stand in the header, with a hash in
their place.
"""

from __future__ import annotations

import re
import struct
from typing import Tuple

_uuid = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_WORDS = struct.Struct("=4I")


def pack_id(key_id: str) -> Tuple[bytes, bool]:
    """The bytes, and whether the id is a lower-case UUID."""
    if _uuid.fullmatch(key_id):
        digits = key_id.replace("-", "")
        return _WORDS.pack(*(int(digits[at : at + 8], 16) for at in range(0, 32, 8))), True
    hashed = 0
    units = key_id.encode("utf-16-le", "surrogatepass")
    for low, high in zip(units[::2], units[1::2]):
        hashed = (hashed ^ (low | high << 8)) * 0x01000193 & 0xFFFFFFFF
    return _WORDS.pack(hashed, 0, 0, 0), False


def unpack_id(packed: memoryview) -> str:
    digits = "".join(f"{word:08x}" for word in _WORDS.unpack(packed))
    return f"{digits[:8]}-{digits[8:12]}-{digits[12:16]}-{digits[16:20]}-{digits[20:]}"
