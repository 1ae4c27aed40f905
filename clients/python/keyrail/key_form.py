"""
The form of an issued key: `<prefix>_<live|test>_<32 base62><6 base62>`. The last 6 characters are the CRC-32
of all before them. So a mistyped, cut or invented key is refused without a hash or look-up. The checksum only
rules keys out.
"""

from __future__ import annotations

import re
import zlib
from typing import Optional

_form = re.compile(r"[a-z][a-z0-9]{1,15}_(live|test)_[0-9A-Za-z]{38}")
_CHECKSUM = 6
_digits = {c: at for at, c in enumerate("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz")}


_other = re.compile(r"[\x21-\x7e]{1,512}")


def is_other_form(key: str) -> bool:
    """Whether a key from elsewhere may have this form: 1 to 512 visible ASCII characters."""
    return _other.fullmatch(key) is not None


def read_key_form(key: str) -> Optional[str]:
    """The environment of a key; None if it is malformed."""
    found = _form.fullmatch(key)
    if found is None:
        return None
    stated = 0
    for character in key[-_CHECKSUM:]:
        stated = stated * 62 + _digits[character]
    return found[1] if zlib.crc32(key[:-_CHECKSUM].encode("ascii")) == stated else None
