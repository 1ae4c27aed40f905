"""A dependency for FastAPI. `install` once for each app, so that refusals are `application/problem+json`."""

from typing import Any

from fastapi import FastAPI, HTTPException, Request, Response
from fastapi.openapi.models import APIKey, APIKeyIn, HTTPBearer
from fastapi.security.base import SecurityBase

from .asgi import admit
from .keyring import Keyring
from .protect.gate import Gate
from .protect.problem import Problem
from .verdict import Verdict


class Refused(HTTPException):
    """
    A refused request. Without `install` its body is that of an `HTTPException`, with the same status and
    headers.
    """

    def __init__(self, problem: Problem) -> None:
        headers = {name: value for name, value in problem.headers.items() if name != "content-type"}
        super().__init__(problem.status, problem.body["detail"], headers)
        self.problem = problem


def install(app: FastAPI) -> None:
    """Answers refusals with problem documents."""

    async def answer(_: Request, refused: Any) -> Response:
        problem: Problem = refused.problem
        return Response(problem.content, problem.status, problem.headers)

    app.add_exception_handler(Refused, answer)


class RequireKey(SecurityBase):
    """
    Lets a request pass only with a valid key, and gives its verdict. The options are those of `Gate`;
    `get_ip` gets the request. With `optional`, the verdict of a request without a key is None.
    """

    # Without annotations as texts: FastAPI looks for them in a place that an instance does not have.

    def __init__(self, keyring: Keyring, **options: Any) -> None:
        self._gate = Gate(keyring, **options)
        name = self._gate.headers[0]
        self.scheme_name = "ApiKey"
        is_bearer = name == "authorization"
        self.model = HTTPBearer() if is_bearer else APIKey(**{"in": APIKeyIn.header}, name=name)

    async def __call__(self, request: Request, response: Response) -> Verdict:
        admission = await admit(self._gate, request.scope, request)
        if admission.refusal is not None:
            raise Refused(admission.refusal)
        response.headers.update(admission.headers)
        return admission.verdict  # type: ignore[return-value]
