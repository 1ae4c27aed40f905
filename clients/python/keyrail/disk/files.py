"""
Files of a node: complete or absent. The only part of the package that touches a disk. It writes nothing
secret: a key cannot be derived from its digest.
"""

from __future__ import annotations

import os
import secrets
import stat
from typing import Optional

_OTHERS_MAY_WRITE = 0o022
#: Larger than a store with the maximum number of keys.
_FILE_MAX_BYTES = 1_500_000_000
#: Age of a temporary file whose writer was killed, in milliseconds.
_LEFTOVER_MS = 3_600_000


class DiskRefusal(Exception):
    """Others could have put a file there. The text is for people."""


def open_directory(named: str) -> str:
    """
    The absolute path. It does not end in a slash or dot, with which the system would follow a symbolic link.
    Raises DiskRefusal if others could put a file into the directory, and OSError if it cannot be made or
    read.
    """
    path = os.path.abspath(named)
    _make_directory(path)
    found = os.lstat(path)
    if stat.S_ISLNK(found.st_mode):
        raise DiskRefusal("it is a symbolic link")
    if not stat.S_ISDIR(found.st_mode):
        raise DiskRefusal("it is not a directory")
    _check_owner(found)
    return path


def _make_directory(path: str) -> None:
    if os.path.lexists(path):
        return
    parent = os.path.dirname(path)
    if parent != path:
        _make_directory(parent)
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        pass


def read_whole(path: str) -> Optional[bytes]:
    """None if the file does not exist. Raises DiskRefusal if others could have written it."""
    # Opening a pipe would wait for its writer.
    flags = (
        os.O_RDONLY | getattr(os, "O_NOFOLLOW", 0) | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)
    )
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        return None
    with os.fdopen(handle, "rb") as file:
        found = os.fstat(file.fileno())
        if not stat.S_ISREG(found.st_mode):
            raise DiskRefusal("it is not a file")
        _check_owner(found)
        if found.st_size > _FILE_MAX_BYTES:
            raise DiskRefusal("it is too large")
        return file.read(_FILE_MAX_BYTES)


def write_whole(directory: str, name: str, data: bytes) -> None:
    """Replaces a file atomically: after a crash it is either the old or the new one."""
    temporary = os.path.join(directory, f"{name}.{secrets.token_hex(6)}.tmp")
    try:
        handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, os.path.join(directory, name))
    except BaseException:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise
    _sync_directory(directory)


def remove_leftovers(directory: str, name: str, now_ms: float) -> None:
    """Removes temporary files that were never renamed."""
    for file in os.listdir(directory):
        if not (file.startswith(f"{name}.") and file.endswith(".tmp")):
            continue
        path = os.path.join(directory, file)
        try:
            if now_ms - os.lstat(path).st_mtime * 1000 > _LEFTOVER_MS:
                os.unlink(path)
        except FileNotFoundError:
            pass


def _check_owner(found: os.stat_result) -> None:
    """Systems without POSIX users have no such bits."""
    if not hasattr(os, "getuid"):
        return
    if found.st_uid != os.getuid():
        raise DiskRefusal("it belongs to another user")
    if found.st_mode & _OTHERS_MAY_WRITE:
        raise DiskRefusal("its group or others can write to it")


def _sync_directory(path: str) -> None:
    """Some systems cannot open a directory; there the rename is as durable as they make it."""
    try:
        handle = os.open(path, os.O_RDONLY)
    except OSError:
        return
    try:
        os.fsync(handle)
    except OSError:
        pass
    finally:
        os.close(handle)
