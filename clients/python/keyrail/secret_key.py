"""Reads a secret key. No text of an error shows a part of it."""

from __future__ import annotations

import re

from .key_form import read_key_form

#: `krsk_live_` or `krsk_test_`, and 38 characters.
_LENGTH = 48


def secret_key_env(value: object, name: str) -> str:
    """The environment of a secret key. Raises ValueError; `name` is the option or variable."""
    env = read_key_form(value) if isinstance(value, str) and value.startswith("krsk_") else None
    if env is None:
        raise ValueError(f"{name} {_mistake_of(value)}")
    return env


def check_secret_key(value: object, name: str) -> str:
    """The secret key. Raises ValueError."""
    secret_key_env(value, name)
    return str(value)


def _mistake_of(value: object) -> str:
    if not isinstance(value, str):
        return f"is of type {type(value).__name__}: give a str, or a function that returns one"
    bare = value.strip()
    if bare == "":
        return "is empty"
    if bare != value:
        return "begins or ends with white space, such as a line feed: remove it"
    if re.match(r"bearer\b", value, re.IGNORECASE):
        return "begins with Bearer, which this package adds: remove it"
    if value[0] in "\"'`" or value[-1] in "\"'`":
        return "is in quotation marks: remove them"
    if value.startswith("krses_"):
        return "is a session token: create a secret key with it"
    if not value.startswith("krsk_"):
        if read_key_form(value) is not None or re.match(r"kr_(?:live|test)_", value):
            return "is an API key, as customers use: give a secret key (krsk_live_… or krsk_test_…)"
        return "is not a Keyrail secret key (krsk_live_… or krsk_test_…)"
    if len(value) == _LENGTH:
        return "has a wrong checksum: one of its characters was changed"
    return f"has {len(value)} characters instead of {_LENGTH}: it was cut, or something was added to it"
