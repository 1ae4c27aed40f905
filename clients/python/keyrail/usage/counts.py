"""Counted requests by hour and key that are not yet in a report. Bounded, and safe for any thread."""

from __future__ import annotations

import re
import threading
from datetime import datetime, timezone
from typing import Any, Dict, List, Tuple

_HOUR_MS = 3_600_000
#: The service ignores hours that are older than this.
_AGE_MAX_MS = 7 * 24 * _HOUR_MS
_RECORDS_MAX = 1_000
_COUNT_MAX = 1_000_000_000
_uuid = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)


class UsageCounts:
    """
    After `entries_max` pairs of hour and key, new pairs are dropped, while existing ones continue to count.
    """

    def __init__(self, entries_max: int = 100_000) -> None:
        self.dropped = 0
        self._lock = threading.Lock()
        self._entries_max = entries_max
        #: When the first request of an hour was counted, and counts by key.
        self._hours: Dict[int, Tuple[float, Dict[str, int]]] = {}
        self._entries = 0

    def __bool__(self) -> bool:
        return self._entries > 0

    @property
    def total(self) -> int:
        with self._lock:
            return sum(sum(keys.values()) for _, keys in self._hours.values())

    def add(self, key_id: str, count: int, now: float) -> None:
        with self._lock:
            self._add(key_id, count, now)

    def _add(self, key_id: str, count: int, now: float) -> None:
        """Drops an invalid key id here, because the service would reject the whole report."""
        hour = int(now // _HOUR_MS)
        keys = self._hours.get(hour, (0, {}))[1]
        before = keys.get(key_id)
        if before is None:
            if self._entries >= self._entries_max or not _uuid.fullmatch(key_id):
                self.dropped += count
                return
            self._entries += 1
            keys = self._hours.setdefault(hour, (now, {}))[1]
        keys[key_id] = (before or 0) + count

    def move_by(self, milliseconds: float) -> None:
        """Corrects counts made by a clock that was this far behind."""
        with self._lock:
            counted, self._hours, self._entries = self._hours, {}, 0
            for first_at, keys in counted.values():
                for key_id, count in keys.items():
                    self._add(key_id, count, first_at + milliseconds)

    def take(self, now: float) -> List[Dict[str, Any]]:
        """The records of one report, oldest hours first; empty if there are none."""
        records: List[Dict[str, Any]] = []
        with self._lock:
            for hour in sorted(self._hours):
                keys = self._hours[hour][1]
                is_old = now - (hour + 1) * _HOUR_MS > _AGE_MAX_MS
                for key_id in list(keys):
                    if len(records) == _RECORDS_MAX:
                        return records
                    self._take_one(records, keys, key_id, hour, is_old)
                if not keys:
                    del self._hours[hour]
        return records

    def _take_one(
        self, records: List[Dict[str, Any]], keys: Dict[str, int], key_id: str, hour: int, is_old: bool
    ) -> None:
        count = keys[key_id]
        taken = min(count, _COUNT_MAX)
        if is_old:
            self.dropped += count
        else:
            records.append({"key_id": key_id, "hour": _hour_text(hour), "count": taken})
        if not is_old and count > taken:
            keys[key_id] = count - taken
        else:
            del keys[key_id]
            self._entries -= 1


def _hour_text(hour: int) -> str:
    return datetime.fromtimestamp(hour * 3600, timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.000Z")
