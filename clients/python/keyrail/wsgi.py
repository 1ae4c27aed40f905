"""WSGI middleware. A request that passes has `environ["keyrail.verdict"]`."""

from __future__ import annotations

from typing import Any, Callable, Dict, Iterable, Iterator, List, Optional, Tuple

from .keyring import Keyring
from .protect.gate import Admission, Exchange, Gate
from .protect.problem import Problem

#: Where a handler finds the verdict of its request; absent if no key was sent where it is optional.
VERDICT = "keyrail.verdict"
_EXCHANGE = "keyrail.exchange"

Environ = Dict[str, Any]
WsgiApp = Callable[[Environ, Callable[..., Any]], Iterable[bytes]]


def headers_of(environ: Environ) -> Iterator[Tuple[str, str]]:
    """The headers of a request; a server has joined repeated ones by a comma."""
    for name, value in environ.items():
        if name.startswith("HTTP_") and isinstance(value, str):
            yield name[5:].replace("_", "-").lower(), value


def peer_of(environ: Environ) -> Optional[str]:
    """The address at the other end of the connection; None if it has none, as for a Unix socket."""
    peer = environ.get("REMOTE_ADDR")
    return peer if isinstance(peer, str) else None


def admit(gate: Gate, environ: Environ, request: Any = None) -> Admission:
    """Judges a request, and notes its verdict. `request`: what `get_ip` gets in place of `environ`."""
    exchange = environ.setdefault(_EXCHANGE, Exchange())
    asked = environ if request is None else request
    admission = gate.admit(headers_of(environ), exchange, lambda: gate.ip_of(asked, peer_of(environ)))
    if admission.verdict is not None:
        environ[VERDICT] = admission.verdict
    return admission


class KeyrailMiddleware:
    """
    Lets a request pass only with a valid key. `public`: paths that need none, compared exactly. The other
    options are those of `Gate`; `get_ip` gets `environ`.
    """

    def __init__(self, app: WsgiApp, keyring: Keyring, *, public: Iterable[str] = (), **options: Any) -> None:
        if isinstance(public, str):
            raise ValueError("public must be a list of paths")
        self._app = app
        self._public = frozenset(public)
        self._gate = Gate(keyring, **options)

    def __call__(self, environ: Environ, start_response: Callable[..., Any]) -> Iterable[bytes]:
        if environ.get("PATH_INFO", "") in self._public:
            return self._app(environ, start_response)
        admission = admit(self._gate, environ)
        if admission.refusal is not None:
            return _refuse(admission.refusal, start_response)

        def start(status: str, headers: List[Tuple[str, str]], exc_info: Optional[Any] = None) -> Any:
            given = {name.lower() for name, _ in headers}
            sent = [*headers, *(pair for pair in admission.headers.items() if pair[0] not in given)]
            return (
                start_response(status, sent) if exc_info is None else start_response(status, sent, exc_info)
            )

        return self._app(environ, start if admission.headers else start_response)


def _refuse(problem: Problem, start_response: Callable[..., Any]) -> Iterable[bytes]:
    content = problem.content
    headers = [*problem.headers.items(), ("content-length", str(len(content)))]
    start_response(f"{problem.status} {problem.body['title']}", headers)
    return [content]
