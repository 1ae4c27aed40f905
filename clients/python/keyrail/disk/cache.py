"""
Keeps a copy for the next start: the disk snapshot of a project and scope, written whole after polls, every
few seconds at most. If only the confirmation time has changed, a small note beside it records that. The note
names the version, so that of several processes with one directory any may write the snapshot, any the note,
and any read both. Nothing here raises: the node reports an error as a notice and continues without the disk.
"""

from __future__ import annotations

import hashlib
import json
import os
from typing import Callable, NamedTuple, Optional, Tuple

from ..feed.kept import Kept
from ..feed.values import Scope
from ..service_time import ServiceTime
from ..store import Store
from ..wire.parse import as_number, parse_members, to_json
from ..world import World
from .files import DiskRefusal, open_directory, read_whole, remove_leftovers, write_whole
from .snapshot_file import Loaded, Refusal, Times, decode_snapshot, encode_snapshot

#: At least this long between two writes of all keys. Longer for many keys: a write takes 50 ms for every
#: 10,000.
_KEYS_EVERY_MS = 5_000.0
#: Between two confirmation notes, which have a hundred bytes.
_CONFIRMED_EVERY_MS = 5_000.0
#: Between two attempts to open a directory that could not be used.
_RETRY_MS = 600_000.0


class Resumed(NamedTuple):
    """
    A store that an earlier process left. If it is fresh, it is confirmed on this process's clock and can be
    served.
    """

    kept: Kept
    is_fresh: bool
    service_now: float


class DiskCache:
    def __init__(
        self,
        *,
        directory: str,
        scope: Scope,
        max_keys: int,
        cached_ttl_ms: float,
        world: World,
        time: ServiceTime,
        notice: Callable[[str, str], None],
    ) -> None:
        self._named = directory
        self._scope = scope
        self._max_keys = max_keys
        self._cached_ttl_ms = cached_ttl_ms
        self._world = world
        self._time = time
        self._notice = notice
        # One name for each project and environment, so that a reader with another scope finds the file and
        # rejects it.
        self._name = f"policy-{scope.project_id}-{scope.env}"
        #: None until the directory was opened and checked.
        self._directory: Optional[str] = None
        self._opened_at = float("-inf")
        self._has_failed = False
        #: What this process has read from the disk or written to it last.
        self._on_disk: Optional[Tuple[Store, int]] = None
        self._keys_at = self._confirmed_at = self._confirmed_then = float("-inf")

    def load(self) -> Optional[Resumed]:
        """Opens the directory and reads what an earlier process left. None: a cold start."""
        try:
            directory = self._open()
        except (OSError, ValueError, DiskRefusal) as error:
            self._notice("disk_unusable", f"cache_dir is not used: {error}")
            return None
        try:
            return self._read(os.path.join(directory, self._name))
        except (OSError, DiskRefusal) as error:
            self._notice("disk_file_refused", f"The disk snapshot is not used: {error}")
        except Exception as error:
            self._notice("disk_file_refused", f"The disk snapshot is not used: {type(error).__name__}")
        return None

    def keep(self, kept: Kept) -> None:
        """Call it after a successful poll."""
        now = self._world.monotonic()
        if self._directory is None:
            if now - self._opened_at >= _RETRY_MS:
                try:
                    self._open()
                except (OSError, ValueError, DiskRefusal):
                    pass
            return
        is_changed = self._is_changed(kept)
        last = self._keys_at if is_changed else self._confirmed_at
        every = max(_KEYS_EVERY_MS, len(kept.store) * 2.0) if is_changed else _CONFIRMED_EVERY_MS
        if now - last >= every:
            self._try_write(kept, self._directory)

    def close(self, kept: Optional[Kept]) -> None:
        """Writes what is not yet written."""
        if self._directory is None or kept is None:
            return
        if self._is_changed(kept) or kept.store.confirmed_at > self._confirmed_then:
            self._try_write(kept, self._directory)

    def _open(self) -> str:
        self._opened_at = self._world.monotonic()
        directory = open_directory(self._named)
        remove_leftovers(directory, self._name, self._world.wall())
        self._directory = directory
        return directory

    def _read(self, path: str) -> Optional[Resumed]:
        file = read_whole(path)
        if file is None:
            return None
        loaded = decode_snapshot(file, self._scope, self._max_keys)
        if isinstance(loaded, Refusal):
            code = "disk_scope_mismatch" if loaded.is_scope else "disk_file_refused"
            self._notice(code, f"The disk snapshot is not used: {loaded.why}")
            return None
        store = loaded.kept.store
        self._on_disk = (store, store.revision)
        age_ms, service_now = self._age_of(loaded, f"{path}.confirmed")
        is_fresh = age_ms < self._cached_ttl_ms
        if is_fresh:
            store.confirm(self._world.monotonic() - age_ms)
        return Resumed(loaded.kept, is_fresh, service_now)

    def _age_of(self, loaded: Loaded, path: str) -> Tuple[float, float]:
        """
        How long ago the snapshot was confirmed, by the later of its two records, and the service's time now.
        """
        age = self._age(loaded.times)
        note = _read_note(path, self._subject_of(loaded.kept))
        return age if note is None else min(age, self._age(note), key=lambda each: each[0])

    def _age(self, times: Times) -> Tuple[float, float]:
        """
        Takes the longer age by two clocks: the wall clock may have been set back since, and the uptime starts
        again with the machine. A confirmation in the future is invalid, and so is one without the service's
        time, because expiry cannot be checked then.
        """
        by_wall = self._world.wall() - times.wall
        age_ms = max(by_wall, self._world.uptime() - times.uptime)
        if by_wall < 0 or times.service is None:
            return float("inf"), 0.0
        return age_ms, times.service + age_ms

    def _is_changed(self, kept: Kept) -> bool:
        return self._on_disk is None or self._on_disk != (kept.store, kept.store.revision)

    def _try_write(self, kept: Kept, directory: str) -> None:
        try:
            self._write(kept, directory)
            self._has_failed = False
        except Exception as error:
            # Reported once, even if the disk is full for an hour.
            if not self._has_failed:
                reason = str(error) if isinstance(error, (OSError, DiskRefusal)) else type(error).__name__
                self._notice("disk_write_failed", f"The disk snapshot was not written: {reason}")
            self._has_failed = True

    def _write(self, kept: Kept, directory: str) -> None:
        store, now = kept.store, self._world.monotonic()
        confirmed_at = store.confirmed_at
        age_ms = now - confirmed_at
        service_at = self._time.at(confirmed_at)
        times = Times(self._world.wall() - age_ms, self._world.uptime() - age_ms, service_at)
        self._confirmed_at = now
        if self._is_changed(kept):
            self._keys_at = now
            revision = store.revision
            data = encode_snapshot(kept, self._scope, times)
            self._on_disk = None
            write_whole(directory, self._name, data)
            self._on_disk = (store, revision)
        elif self._on_disk is not None:
            name, subject = f"{self._name}.confirmed", self._subject_of(kept)
            last = _read_note(os.path.join(directory, name), subject)
            # Another process may have noted a later confirmation, but none in the future.
            is_later = last is not None and times.wall < last.wall <= self._world.wall()
            if not is_later:
                write_whole(directory, name, _note_of(times, subject))
        self._confirmed_then = confirmed_at

    def _subject_of(self, kept: Kept) -> str:
        """What a note confirms: all keys of a version in a scope. Versions do not come twice."""
        scope = self._scope
        facts = [kept.workspace_id, scope.project_id, scope.env, scope.tenant_ids, scope.features]
        return _sum_of(
            json.dumps([*facts, kept.version, scope.service], separators=(",", ":"), ensure_ascii=False)
        )


def _note_of(times: Times, subject: str) -> bytes:
    facts = {
        "of": subject,
        "confirmed_at": times.wall,
        "uptime_ms": times.uptime,
        "service_at": times.service,
    }
    text = to_json({name: value for name, value in facts.items() if value is not None})
    return f"{text}\n{_sum_of(text)}".encode()


def _read_note(path: str, subject: str) -> Optional[Times]:
    """None if the note is absent, damaged or about another snapshot: then the snapshot's own time counts."""
    try:
        note = read_whole(path)
    except (OSError, DiskRefusal):
        return None
    text, _, checksum = (note or b"").decode("utf-8", "replace").partition("\n")
    if _sum_of(text) != checksum:
        return None
    facts = parse_members(text)
    wall, uptime = as_number(facts.get("confirmed_at")), as_number(facts.get("uptime_ms"))
    if facts.get("of") != subject or wall is None or uptime is None:
        return None
    return Times(wall, uptime, as_number(facts.get("service_at")))


def _sum_of(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()
