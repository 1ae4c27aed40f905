"""JSON of the service, which may be anything. Nothing in it can crash a node."""

from __future__ import annotations

import json
import math
from typing import Any, Dict, Optional

#: No number of the service has more digits. Python's time for reading an integer grows with the square of its
#: digits.
_DIGITS_MAX = 400
_SAFE_MAX = 2**53 - 1


def _read_int(text: str) -> Any:
    return int(text) if len(text) <= _DIGITS_MAX else float(text)


def _refuse(name: str) -> Any:
    raise ValueError(name)


_encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False)
_decoder = json.JSONDecoder(parse_int=_read_int, parse_constant=_refuse)


def parse_json(text: str) -> Any:
    """
    None if the text is not JSON, or too deep to be read. No body of the service is null, so readers reject
    it.
    """
    try:
        return _decoder.decode(text)
    except (ValueError, RecursionError):
        return None


def parse_members(text: str) -> Dict[str, Any]:
    """The members of a JSON object. Empty for anything else, so that readers reject each missing one."""
    value = parse_json(text)
    return value if isinstance(value, dict) else {}


def to_json(value: Any) -> str:
    """Compact, in ASCII. Raises ValueError for what JSON cannot hold."""
    return _encoder.encode(value)


def as_integer(value: Any) -> Optional[int]:
    """
    JSON has one kind of number: 7.0 is 7. None for anything else, and beyond what every client holds exactly.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, float) and math.isfinite(value) and value.is_integer():
        value = int(value)
    return value if isinstance(value, int) and -_SAFE_MAX <= value <= _SAFE_MAX else None


def as_number(value: Any) -> Optional[float]:
    """None for anything else, and for `true`, which Python counts as 1."""
    is_number = isinstance(value, (int, float)) and not isinstance(value, bool)
    return value if is_number and abs(value) < float("inf") else None


def is_shallow(value: Any, levels: int) -> bool:
    """Whether a value has at most this many levels. Recursive functions can walk such a value safely."""
    if isinstance(value, dict):
        return levels > 0 and all(is_shallow(part, levels - 1) for part in value.values())
    if isinstance(value, list):
        return levels > 0 and all(is_shallow(part, levels - 1) for part in value)
    return True
