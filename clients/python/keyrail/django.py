"""
A middleware and a decorator for Django. A request that passes has `request.api_key`, its verdict. The keyring
is `KEYRAIL_KEYRING` of the settings: a `Keyring`, or a function that returns one, which is called once.
"""

from __future__ import annotations

import asyncio
import threading
from functools import wraps
from typing import Any, Callable, Optional, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse

from .keyring import Keyring
from .protect.gate import Address, Admission, Exchange, Gate
from .wsgi import headers_of, peer_of

View = TypeVar("View", bound=Callable[..., Any])
_made: "dict[int, Keyring]" = {}
_making = threading.Lock()


def keyring() -> Keyring:
    """The keyring of the settings."""
    given = getattr(settings, "KEYRAIL_KEYRING", Keyring)
    if not callable(given):
        return given
    with _making:
        if id(given) not in _made:
            _made[id(given)] = given()
        return _made[id(given)]


def public(view: View) -> View:
    """Marks a view that the middleware lets everyone reach."""
    view.keyrail_public = True  # type: ignore[attr-defined]
    return view


def require_key(**options: Any) -> Callable[[View], View]:
    """
    Lets a request reach a view only with a valid key: `@require_key(scopes=["orders:read"])`. The options are
    those of `Gate`; `get_ip` gets the request. Behind the middleware, a request is still charged and counted
    once.
    """
    # Made when the module is loaded, so that a mistake shows at startup; the keyring may come later.
    Gate(_Later(), **options)  # type: ignore[arg-type]

    def protect(view: View) -> View:
        gate = _Lazy(options)
        if asyncio.iscoroutinefunction(view):

            @wraps(view)
            async def protected_async(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
                admission = await gate.get().admit_async(*_asked(gate.get(), request))
                refusal = _note(request, admission)
                if refusal is not None:
                    return refusal
                return _with_limits(request, await view(request, *args, **kwargs))

            return protected_async  # type: ignore[return-value]

        @wraps(view)
        def protected(request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
            refusal = _note(request, gate.get().admit(*_asked(gate.get(), request)))
            return refusal if refusal is not None else _with_limits(request, view(request, *args, **kwargs))

        return protected  # type: ignore[return-value]

    return protect


class KeyrailMiddleware:
    """
    Lets every request pass only with a valid key, but those to views that are marked as `public`. The options
    of its `Gate` are `KEYRAIL_OPTIONS` of the settings. Django runs it in a thread where the server is
    asynchronous.
    """

    sync_capable = True
    async_capable = False

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self._get_response = get_response
        self._gate = Gate(keyring(), **getattr(settings, "KEYRAIL_OPTIONS", {}))

    def __call__(self, request: HttpRequest) -> HttpResponse:
        return _with_limits(request, self._get_response(request))

    def process_view(self, request: HttpRequest, view: Any, *_: Any) -> Optional[HttpResponse]:
        if getattr(view, "keyrail_public", False):
            return None
        return _note(request, self._gate.admit(*_asked(self._gate, request)))


class _Later:
    """Stands for a keyring while options are checked."""

    def verify(self) -> None:
        raise NotImplementedError


class _Lazy:
    """A gate that is made with the first request, when the settings are there."""

    def __init__(self, options: "dict[str, Any]") -> None:
        self._options = options
        self._gate: Optional[Gate] = None

    def get(self) -> Gate:
        if self._gate is None:
            self._gate = Gate(keyring(), **self._options)
        return self._gate


def _asked(gate: Gate, request: HttpRequest) -> "tuple[Any, Exchange, Address]":
    return headers_of(request.META), _exchange(request), lambda: gate.ip_of(request, peer_of(request.META))


def _exchange(request: Any) -> Exchange:
    if not hasattr(request, "keyrail_exchange"):
        request.keyrail_exchange = Exchange()
    return request.keyrail_exchange


def _note(request: Any, admission: Admission) -> Optional[HttpResponse]:
    """The refusal of a request, if it is refused."""
    problem = admission.refusal
    if problem is None:
        request.api_key = admission.verdict
        request.keyrail_limits = admission.headers
        return None
    response = HttpResponse(
        problem.content, status=problem.status, content_type=problem.headers["content-type"]
    )
    for name, value in problem.headers.items():
        response[name] = value
    return response


def _with_limits(request: Any, response: HttpResponse) -> HttpResponse:
    for name, value in getattr(request, "keyrail_limits", {}).items():
        if name not in response:
            response[name] = value
    return response
