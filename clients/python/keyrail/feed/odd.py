"""Errors about answers that were applied nevertheless. They show ids, and nothing else from the service."""

from __future__ import annotations

import re
from typing import List, Optional, Sequence

from ..errors import KeyrailError, lasting, passing
from .listed import ListedTenant
from .values import Unreadable

#: Answers of several processes may arrive out of order.
_SLACK_MS = 2_000
#: An answer older than this confirms too little.
LATE_MS = 5_000
#: What was reported is reported again only after an answer in order, this long after the last odd one.
_QUIET_MS = 60_000
_EVERYWHERE = "keys that are refused from any address"


def unreadable_keys(keys: Sequence[Unreadable]) -> KeyrailError:
    which, why = _shown(keys[0].names.key_id), keys[0].why
    if len(keys) == 1:
        problem = f"The API key {which} cannot be read and is refused: {why}"
    else:
        problem = f"{len(keys)} API keys cannot be read and are refused, such as {which}: {why}"
    return lasting("unreadable_key", f"{problem}. A newer version of this package may be able to read it")


def unreadable_tenants(listed: Sequence[ListedTenant]) -> List[KeyrailError]:
    """One error for each member that cannot be read."""
    errors = []
    for member, one, more in (
        ("suspended", "counts as suspended", "count as suspended"),
        ("allowed_cidrs", f"has {_EVERYWHERE}", f"have {_EVERYWHERE}"),
    ):
        tenants = [each for each in listed if each.unreadable == member]
        if not tenants:
            continue
        which = _shown(tenants[0].tenant_id)
        problem = f"The tenant {which} {one}"
        if len(tenants) > 1:
            problem = f"{len(tenants)} tenants {more}, such as {which}"
        why = f"{member} cannot be read. A newer version of this package may be able to read it"
        errors.append(lasting("unreadable_key", f"{problem}: {why}"))
    return errors


def unreadable_imported() -> KeyrailError:
    return lasting(
        "unreadable_key",
        "accepts_imported cannot be read, so keys from elsewhere are refused as malformed. A newer version of "
        "this package may be able to read it",
    )


def _shown(found: Optional[str]) -> str:
    is_id = found is not None and re.fullmatch(r"[A-Za-z0-9_-]{1,64}", found)
    return found if found is not None and is_id else "one without an id"


def cached_answer(late_ms: float, hint: str = "") -> KeyrailError:
    """An answer from a cache. It confirms keys only as of the time when the service gave it."""
    return passing(
        "cached_answer",
        f"The answer is old, as from a cache: the service generated it {round(late_ms / 1000)} s before it "
        f"was asked for{hint}. Do not cache answers between this node and the service",
    )


def date_back(by_ms: float) -> KeyrailError:
    return passing(
        "date_back",
        f"The time of the service's answers went back by {round(by_ms / 1000)} s: a cache returned an "
        "old answer, or a clock was set back",
    )


def slow_snapshot(pages: int, took_ms: float, goes_on: bool) -> KeyrailError:
    so = f"A snapshot has taken {round(took_ms / 1000)} s and {pages} pages so far"
    if goes_on:
        return passing("slow_snapshot", f"{so} and goes on; meanwhile the keys held go stale")
    too_long = "which is too long, and was given up: the keys would be stale before they are served"
    return passing("slow_snapshot", f"{so}, {too_long}")


def version_back(before: int, after: int) -> KeyrailError:
    return passing(
        "version_back",
        f"The policy version went back from {before} to {after}: the service's database was restored or "
        "failed over, or a cache returned an old answer",
    )


class Dates:
    """Compares the times of successive answers, to report caches and clocks that were set back."""

    def __init__(self) -> None:
        self._last = float("-inf")
        self._odd_at = float("-inf")
        self._is_told = False

    def odd(
        self,
        *,
        generated_at: float,
        sent_at: float,
        answered_at: float,
        date: Optional[float],
        age_seconds: int,
    ) -> Optional[KeyrailError]:
        """An error to report. `answered_at`: when the answer was given, on the monotonic clock."""
        back_ms = self._last - generated_at
        self._last = generated_at
        late_ms = sent_at - answered_at
        if back_ms <= _SLACK_MS and late_ms <= LATE_MS:
            if sent_at - self._odd_at >= _QUIET_MS:
                self._is_told = False
            return None
        self._odd_at = sent_at
        if self._is_told:
            return None
        self._is_told = True
        if back_ms > _SLACK_MS:
            return date_back(back_ms)
        # These headers prove nothing, but they hint at a proxy or cache between node and service.
        if age_seconds > 0:
            return cached_answer(late_ms, f", and its Age is {age_seconds} s")
        is_newer = date is not None and date - generated_at > LATE_MS
        return cached_answer(late_ms, ", although something gave it a newer Date" if is_newer else "")
