"""
ASGI middleware, for Starlette, FastAPI, Quart and others. A request that passes has
`scope["keyrail.verdict"]`. Calls for limits run in threads, so that the event loop goes on.
"""

from __future__ import annotations

from typing import Any, Awaitable, Callable, Dict, Iterable, Iterator, MutableMapping, Optional, Tuple

from .keyring import Keyring
from .protect.gate import Admission, Exchange, Gate
from .protect.problem import Problem

#: Where a handler finds the verdict of its request; absent if no key was sent where it is optional.
VERDICT = "keyrail.verdict"
_EXCHANGE = "keyrail.exchange"
#: "Policy violation": a WebSocket is refused before it is accepted, so its client gets 403.
_REFUSED_CLOSE = 1008

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
AsgiApp = Callable[[Scope, Receive, Send], Awaitable[None]]


def headers_of(scope: Scope) -> Iterator[Tuple[str, str]]:
    for name, value in scope.get("headers", ()):
        yield name.decode("latin-1"), value.decode("latin-1")


def peer_of(scope: Scope) -> Optional[str]:
    """What the server says of the other end of the connection; None if it says nothing."""
    client = scope.get("client")
    return client[0] if isinstance(client, (list, tuple)) and client and isinstance(client[0], str) else None


async def admit(gate: Gate, scope: Scope, request: Any = None) -> Admission:
    """Judges a request, and notes its verdict. `request`: what `get_ip` gets in place of `scope`."""
    exchange = scope.setdefault(_EXCHANGE, Exchange())
    asked = scope if request is None else request
    admission = await gate.admit_async(headers_of(scope), exchange, lambda: gate.ip_of(asked, peer_of(scope)))
    if admission.verdict is not None:
        scope[VERDICT] = admission.verdict
    return admission


class KeyrailMiddleware:
    """
    Lets a request or a WebSocket pass only with a valid key. `public`: paths that need none, compared
    exactly. The other options are those of `Gate`; `get_ip` gets the scope.
    """

    def __init__(self, app: AsgiApp, keyring: Keyring, *, public: Iterable[str] = (), **options: Any) -> None:
        if isinstance(public, str):
            raise ValueError("public must be a list of paths")
        self._app = app
        self._public = frozenset(public)
        self._gate = Gate(keyring, **options)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket") or scope.get("path") in self._public:
            await self._app(scope, receive, send)
            return
        admission = await admit(self._gate, scope)
        if admission.refusal is not None and scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": _REFUSED_CLOSE})
        elif admission.refusal is not None:
            await _refuse(admission.refusal, send)
        else:
            await self._app(scope, receive, _with_headers(send, admission.headers))


def _with_headers(send: Send, headers: Dict[str, str]) -> Send:
    if not headers:
        return send
    added = _encoded(headers)

    async def send_with(message: Message) -> None:
        if message["type"] in ("http.response.start", "websocket.accept"):
            given = list(message.get("headers", ()))
            names = {bytes(name).lower() for name, _ in given}
            message = {**message, "headers": [*given, *(pair for pair in added if pair[0] not in names)]}
        await send(message)

    return send_with


async def _refuse(problem: Problem, send: Send) -> None:
    content = problem.content
    headers = _encoded({**problem.headers, "content-length": str(len(content))})
    await send({"type": "http.response.start", "status": problem.status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


def _encoded(headers: Dict[str, str]) -> "list[tuple[bytes, bytes]]":
    return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
