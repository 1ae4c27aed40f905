"""
One exchange with the service, with a deadline, a bounded body and one kind of error. Redirects are refused.
"""

from __future__ import annotations

import http.client
import threading
import time
import zlib
from typing import Callable, Dict, Mapping, NamedTuple, Optional, Sequence, Union
from urllib.parse import SplitResult, urlencode

from ..errors import KeyrailError, lasting, passing
from ..world import USER_AGENT, World
from . import failure
from .connection import Connection, Pool
from .parse import to_json
from .schedule import read_retry_after

SecretKey = Union[str, Callable[[], str]]

_PROBLEM_MAX_BYTES = 64 * 1024
_PIECE_BYTES = 64 * 1024
_redirects = frozenset((301, 302, 303, 307, 308))


class Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    text: str


class Abort:
    """Ends what is under way, from another thread."""

    def __init__(self) -> None:
        self.is_set = False
        self._connection: Optional[Connection] = None

    def set(self) -> None:
        self.is_set = True
        connection = self._connection
        if connection is not None:
            connection.abort()

    def watch(self, connection: Optional[Connection]) -> None:
        self._connection = connection
        if connection is not None and self.is_set:
            connection.abort()


class Caller:
    """Calls one service. Any thread may call."""

    def __init__(
        self, url: SplitResult, secret_key: SecretKey, check: Callable[[object, str], str], world: World
    ) -> None:
        self._url = url
        self._path = url.path.rstrip("/")
        self._secret_key = secret_key
        self._check = check
        self._world = world
        self._pool = Pool(url)
        self.origin = f"{url.scheme}://{url.netloc}"

    def renew(self) -> None:
        """After a fork the connections belong to the parent."""
        self._pool = Pool(self._url)

    def close(self) -> None:
        self._pool.close()

    def call(
        self,
        method: str,
        path: str,
        *,
        query: Optional[Mapping[str, str]] = None,
        headers: Optional[Mapping[str, str]] = None,
        body: object = None,
        accepts: Sequence[int] = (200,),
        timeout_ms: float,
        max_bytes: int,
        abort: Optional[Abort] = None,
    ) -> Answer:
        """Raises KeyrailError alone."""
        what = f"{method} {path}"
        if abort is not None and abort.is_set:
            raise failure.aborted_error(what)
        deadline = time.monotonic() + min(timeout_ms, self._world.timeout_most) / 1000
        secret_key = self._current_secret_key()
        target = self._path + path + ("?" + urlencode(query) if query else "")
        sent = {
            "Accept": "application/json",
            "Accept-Encoding": "gzip",
            "Authorization": f"Bearer {secret_key}",
            "User-Agent": USER_AGENT,
            **(headers or {}),
        }
        content = None
        if body is not None:
            sent["Content-Type"] = "application/json"
            content = to_json(body).encode("ascii")
        asked = _Asked(
            method, target, content, sent, accepts, max_bytes, deadline, abort or Abort(), secret_key
        )
        try:
            return self._exchange(what, asked)
        except KeyrailError:
            if abort is not None and abort.is_set:
                raise failure.aborted_error(what) from None
            raise
        except failure.TooLarge:
            raise failure.too_large(max_bytes) from None
        except (OSError, EOFError, http.client.HTTPException, ValueError, zlib.error) as error:
            raise self._failed(error, what, abort) from None
        except (failure.DeadlinePassed, failure.ProxyFailed) as error:
            raise self._failed(error, what, abort) from None

    def _failed(self, error: BaseException, what: str, abort: Optional[Abort]) -> KeyrailError:
        if abort is not None and abort.is_set:
            return failure.aborted_error(what)
        return failure.transport_error(error, what=what, origin=self.origin)

    def _current_secret_key(self) -> str:
        if isinstance(self._secret_key, str):
            return self._secret_key
        try:
            given = self._secret_key()
        except Exception:
            # Without the original error, which may hold the secret.
            raise passing("secret_key_unavailable", "The function secret_key raised an error") from None
        try:
            return self._check(given, "The value that the function secret_key returned")
        except (TypeError, ValueError) as error:
            raise lasting("secret_key_invalid", str(error)) from None

    def _exchange(self, what: str, asked: "_Asked") -> Answer:
        pool, abort = self._pool, asked.abort
        connection = pool.take() or pool.make()
        is_kept = False
        try:
            abort.watch(connection)
            timed = connection.timed or connection.open(asked.deadline)
            timed.deadline = asked.deadline
            abort.watch(connection)
            headers = {**asked.headers, **connection.proxy_headers}
            connection.request(
                asked.method, connection.base + asked.target, body=asked.content, headers=headers
            )
            response = connection.getresponse()
            names = {name.lower(): value for name, value in response.getheaders()}
            if response.status not in asked.accepts:
                text = "" if response.status in _redirects else _problem_text(response)
                is_kept = _is_whole(response)
                raise self._refused(what, response.status, names, text, asked.secret_key)
            text = _read_text(response, asked.max_bytes)
            is_kept = _is_whole(response)
            # JSON never begins with this.
            if text.lstrip().startswith("<"):
                raise failure.page_error(what, self.origin)
            return Answer(response.status, names, text)
        finally:
            abort.watch(None)
            if is_kept and not abort.is_set:
                pool.give_back(connection)
            else:
                connection.drop()

    def _refused(
        self, what: str, status: int, headers: Mapping[str, str], text: str, secret_key: str
    ) -> KeyrailError:
        if status in _redirects:
            return failure.redirected_error(what, headers.get("location"), self.origin)
        return failure.problem_error(
            what,
            status=status,
            text=text,
            request_id=headers.get("x-request-id", "").replace(secret_key, "[secret key]"),
            retry_after_ms=read_retry_after(headers.get("retry-after"), self._world.wall()),
            secret_key=secret_key,
            origin=self.origin,
        )


class _Asked(NamedTuple):
    """A request as it is sent, and what its answer may be."""

    method: str
    target: str
    content: Optional[bytes]
    headers: Mapping[str, str]
    accepts: Sequence[int]
    max_bytes: int
    deadline: float
    abort: Abort
    secret_key: str


def _is_whole(response: http.client.HTTPResponse) -> bool:
    return not response.will_close and response.isclosed()


def _problem_text(response: http.client.HTTPResponse) -> str:
    try:
        return _read_text(response, _PROBLEM_MAX_BYTES)
    except (OSError, EOFError, http.client.HTTPException, ValueError, zlib.error):
        return ""
    except (failure.DeadlinePassed, failure.TooLarge):
        return ""


def _read_text(response: http.client.HTTPResponse, max_bytes: int) -> str:
    """The body without its encoding. One that is damaged or ends early is an error."""
    is_gzip = response.headers.get("content-encoding", "").lower() == "gzip"
    body = _Unzipped(max_bytes) if is_gzip else _Plain(max_bytes)
    while True:
        piece = response.read(_PIECE_BYTES)
        if not piece:
            break
        body.add(piece)
    if response.length:
        raise http.client.IncompleteRead(b"")
    return body.whole().decode("utf-8", "replace")


class _Plain:
    def __init__(self, max_bytes: int) -> None:
        self._left = max_bytes
        self._pieces: "list[bytes]" = []

    def add(self, piece: bytes) -> None:
        self._left -= len(piece)
        if self._left < 0:
            raise failure.TooLarge
        self._pieces.append(piece)

    def whole(self) -> bytes:
        return b"".join(self._pieces)


class _Unzipped(_Plain):
    """Never makes more bytes than it may hold."""

    def __init__(self, max_bytes: int) -> None:
        super().__init__(max_bytes)
        self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)

    def add(self, piece: bytes) -> None:
        while piece:
            if self._decoder.eof:
                # Another member; anything else behind the end is no part of the body.
                if not piece.startswith(b"\x1f\x8b"):
                    return
                self._decoder = zlib.decompressobj(16 + zlib.MAX_WBITS)
            super().add(self._decoder.decompress(piece, self._left + 1))
            piece = self._decoder.unused_data or self._decoder.unconsumed_tail

    def whole(self) -> bytes:
        if not self._decoder.eof:
            raise EOFError
        return super().whole()


def ages_of(headers: Dict[str, str]) -> int:
    """`Age` of an answer in seconds; 0 if absent. Two caches in a row may each add one."""
    ages = (text.strip() for text in headers.get("age", "").split(","))
    return max((int(age) for age in ages if age.isdigit() and len(age) < 10), default=0)
