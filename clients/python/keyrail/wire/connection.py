"""
Connections to the service, kept for later calls. An exchange has one deadline, whatever it does:
`http.client` alone would wait anew for every byte that trickles in.
"""

from __future__ import annotations

import http.client
import io
import select
import socket
import ssl
import threading
import time
from typing import Any, List, Optional, Sequence
from urllib.parse import SplitResult

from .failure import DeadlinePassed, ProxyFailed
from .proxy import is_local, proxy_for

#: Less than a service (72 s) and common proxies (60 s) keep a connection: a call on one that is just being
#: closed fails, and is not repeated, because it may have been executed.
_FREE_SECONDS = 30
_IDLE_MAX = 16


class _TimedSocket:
    """
    A socket whose every wait ends at the deadline of the exchange. It has what `http.client` uses of a
    socket.
    """

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self.sock = sock
        self.deadline = deadline

    def hurry(self) -> None:
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise DeadlinePassed
        self.sock.settimeout(left)

    def sendall(self, data: Any) -> None:
        self.hurry()
        self.sock.sendall(data)

    def makefile(self, *_: Any, **__: Any) -> io.BufferedReader:
        return io.BufferedReader(_Incoming(self), 64 * 1024)

    def close(self) -> None:
        """`http.client` calls it before an answer without a length is read. `Connection.drop` closes."""

    def is_dropped(self) -> bool:
        """Whether the other side closed it, or sent what nobody asked for."""
        if not hasattr(select, "poll"):
            return bool(select.select([self.sock], [], [], 0)[0])
        poll = select.poll()
        poll.register(self.sock, select.POLLIN)
        return bool(poll.poll(0))


class _Incoming(io.RawIOBase):
    """What arrives on a timed socket. Closing it leaves the socket open."""

    def __init__(self, timed: _TimedSocket) -> None:
        self._timed = timed

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        self._timed.hurry()
        return self._timed.sock.recv_into(buffer)


class _Response(http.client.HTTPResponse):
    """Passes over the answers before the answer, such as 103, which `http.client` takes for it."""

    def _read_status(self) -> Any:
        while True:
            read = super()._read_status()  # type: ignore[misc]
            if not 100 <= read[1] < 200 or read[1] == http.client.SWITCHING_PROTOCOLS:
                return read
            http.client.parse_headers(self.fp)


class Connection(http.client.HTTPConnection):
    """One connection to a service, directly or through the proxy of the environment."""

    auto_open = 0
    response_class = _Response

    def __init__(self, url: SplitResult) -> None:
        host = url.hostname or ""
        is_tls = url.scheme == "https"
        super().__init__(host, url.port or (443 if is_tls else 80))
        self._is_tls = is_tls
        self.default_port = 443 if is_tls else 80
        self._url = url
        #: The first part of request lines: the whole address for a proxy without a tunnel.
        self.base = ""
        self.proxy_headers: "dict[str, str]" = {}
        self.timed: Optional[_TimedSocket] = None
        self.free_since = 0.0

    def open(self, deadline: float) -> _TimedSocket:
        """Raises OSError, DeadlinePassed or ProxyFailed."""
        proxy = proxy_for(self._url)
        at = (self.host, self.port) if proxy is None else (proxy.host, proxy.port)
        sock = _connect(*at, deadline)
        try:
            if proxy is not None and self._is_tls:
                self.set_tunnel(self.host, self.port, proxy.headers)
            self.timed = self.sock = _TimedSocket(sock, deadline)  # type: ignore[assignment]
            if proxy is not None and self._is_tls:
                self._open_tunnel()
            elif proxy is not None:
                self.base = f"http://{self._url.netloc}"
                self.proxy_headers = proxy.headers
            if self._is_tls:
                self.timed.hurry()
                self.timed.sock = _tls().wrap_socket(sock, server_hostname=self.host)
            return self.timed
        except BaseException:
            self.drop()
            sock.close()
            raise

    def abort(self) -> None:
        """From another thread: what waits on the connection ends at once."""
        timed = self.timed
        if timed is not None:
            try:
                # Not the method of a TLS socket, which would forget its state while another thread uses it.
                socket.socket.shutdown(timed.sock, socket.SHUT_RDWR)
            except OSError:
                pass

    def drop(self) -> None:
        self.close()
        if self.timed is not None:
            self.timed.sock.close()

    def _open_tunnel(self) -> None:
        try:
            self._tunnel()  # type: ignore[attr-defined]
        except (OSError, http.client.HTTPException) as error:
            if isinstance(error, socket.timeout):
                raise DeadlinePassed from None
            raise ProxyFailed("the proxy of the environment opens no way to it") from None


_context: Optional[ssl.SSLContext] = None


def _tls() -> ssl.SSLContext:
    global _context
    if _context is None:
        _context = ssl.create_default_context()
    return _context


def _connect(host: str, port: int, deadline: float) -> socket.socket:
    """To the first address of a host that answers."""
    last: Optional[OSError] = None
    for family, kind, protocol, _, address in _resolve(host, port, deadline):
        left = deadline - time.monotonic()
        if left <= 0:
            break
        sock = socket.socket(family, kind, protocol)
        try:
            sock.settimeout(left)
            sock.connect(address)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            return sock
        except OSError as error:
            sock.close()
            last = error
    if last is None or isinstance(last, socket.timeout):
        raise DeadlinePassed
    raise last


def _resolve(host: str, port: int, deadline: float) -> Sequence[Any]:
    """A look-up of a name knows no time limit, so it runs in a thread that may be left behind."""
    if is_local(host):
        return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    found: List[Any] = []

    def look_up() -> None:
        try:
            found.append(socket.getaddrinfo(host, port, type=socket.SOCK_STREAM))
        except (OSError, UnicodeError) as error:
            found.append(error if isinstance(error, OSError) else socket.gaierror(str(type(error))))

    thread = threading.Thread(target=look_up, name="keyrail-resolve", daemon=True)
    thread.start()
    thread.join(max(0.0, deadline - time.monotonic()))
    if not found:
        raise DeadlinePassed
    if isinstance(found[0], OSError):
        raise found[0]
    return found[0]


class Pool:
    """Connections that no exchange uses. An exchange has its connection to itself."""

    def __init__(self, url: SplitResult) -> None:
        self._url = url
        self._lock = threading.Lock()
        self._idle: List[Connection] = []

    def take(self) -> Optional[Connection]:
        """One that is still open; None if a new one must be opened."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            is_old = time.monotonic() - connection.free_since > _FREE_SECONDS
            if not is_old and connection.timed is not None and not connection.timed.is_dropped():
                return connection
            connection.drop()

    def make(self) -> Connection:
        return Connection(self._url)

    def give_back(self, connection: Connection) -> None:
        connection.free_since = time.monotonic()
        with self._lock:
            if len(self._idle) < _IDLE_MAX:
                self._idle.append(connection)
                return
        connection.drop()

    def close(self) -> None:
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.drop()
