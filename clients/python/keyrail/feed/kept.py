"""What a process leaves for the next one."""

from __future__ import annotations

from typing import NamedTuple, Tuple

from ..store import Store


class Kept(NamedTuple):
    """The keys that a node holds, from which the next process continues."""

    store: Store
    version: int
    workspace_id: str
    #: A key that is missing here does not exist in the service either.
    is_whole: bool
    #: The features that the service knew when it sent the keys.
    features: Tuple[str, ...]
