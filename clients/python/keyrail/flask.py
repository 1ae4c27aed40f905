"""A decorator for Flask views. A request that passes has `flask.g.api_key`, its verdict."""

from __future__ import annotations

from functools import wraps
from typing import Any, Callable, TypeVar

from flask import Response, after_this_request, current_app, g, request

from .keyring import Keyring
from .protect.gate import Gate
from .wsgi import admit

View = TypeVar("View", bound=Callable[..., Any])


def require_key(keyring: Keyring, **options: Any) -> Callable[[View], View]:
    """
    Lets a request pass only with a valid key: `@require_key(keyring, scopes=["orders:read"])`, below
    `@app.get(…)`. The options are those of `Gate`; `get_ip` gets the request.
    """
    gate = Gate(keyring, **options)

    def protect(view: View) -> View:
        @wraps(view)
        def protected(*args: Any, **kwargs: Any) -> Any:
            admission = admit(gate, request.environ, request)
            if admission.refusal is not None:
                problem = admission.refusal
                return Response(problem.content, problem.status, problem.headers)
            g.api_key = admission.verdict
            if admission.headers:

                @after_this_request
                def add_limits(response: Response) -> Response:
                    response.headers.update(admission.headers)
                    return response

            return current_app.ensure_sync(view)(*args, **kwargs)

        return protected  # type: ignore[return-value]

    return protect
