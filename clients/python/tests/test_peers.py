"""The glue hands over the address of the peer, or what the vendor's function says, and believes no header."""

import asyncio
import json
import warnings
from functools import partial
from types import SimpleNamespace
from typing import Any, Callable, Dict, List, Optional

from keyrail import Gate, Verdict
from keyrail.asgi import KeyrailMiddleware as AsgiMiddleware
from keyrail.wsgi import KeyrailMiddleware as WsgiMiddleware

with warnings.catch_warnings():
    # Of the frameworks themselves.
    warnings.simplefilter("ignore")
    import django
    from django import conf
    from django.http import HttpRequest, HttpResponse
    from fastapi import Depends, FastAPI, Request
    from flask import Flask

    from keyrail.fastapi import RequireKey, install
    from keyrail.flask import require_key

from .test_glue import ask, asgi_app
from .test_keyring import OnService

NET, INSIDE, OUTSIDE = "192.0.2.0/24", "192.0.2.7", "198.51.100.7"
FORGED = {"HTTP_X_FORWARDED_FOR": INSIDE, "HTTP_FORWARDED": f"for={INSIDE}", "HTTP_X_REAL_IP": INSIDE}
#: What each kind of glue must answer: the peer, and the code.
PEERS = ((INSIDE, None), (OUTSIDE, "ip_not_allowed"), (None, "ip_unknown"), ("", "ip_unknown"))

#: Asks a route as this peer, and returns the code of the refusal.
Ask = Callable[[Optional[str]], Optional[str]]


def environ_of(key: str, peer: Optional[str], **more: str) -> Dict[str, Any]:
    sent = {"REQUEST_METHOD": "GET", "PATH_INFO": "/", **FORGED}
    sent.update({"HTTP_AUTHORIZATION": f"Bearer {key}"} if key else {})
    return {**sent, **({} if peer is None else {"REMOTE_ADDR": peer}), **more}


def code_of(status: int, body: bytes) -> Optional[str]:
    return None if status == 200 else json.loads(body)["code"]


def fail(*_: Any) -> Optional[str]:
    raise LookupError("the header of the proxy is not there")


class Peers(OnService):
    def setUp(self) -> None:
        super().setUp()
        self.key = self.service.issue(1, allowed_cidrs=[NET])
        self.keyring = self.open()
        self.keyring.ready(30)

    def expect(self, asking: Callable[..., Ask], real_ip: Callable[[Any], Optional[str]]) -> None:
        """`asking` makes a route; `real_ip` believes X-Real-IP, which says that the caller is inside."""
        by_peer = asking()
        self.assertEqual([by_peer(peer) for peer, _ in PEERS], [code for _, code in PEERS])
        self.assertEqual(asking(get_ip=real_ip)(OUTSIDE), None)
        self.key = ""
        self.assertEqual(asking(get_ip=fail)(OUTSIDE), "missing_key")
        self.assertEqual(asking(get_ip=fail, optional=True)(OUTSIDE), None)

    def test_wsgi(self) -> None:
        def asking(**options: Any) -> Ask:
            def app(_: Any, start_response: Any) -> Any:
                start_response("200 OK", [])
                return [b""]

            guarded = WsgiMiddleware(app, self.keyring, **options)

            def by_peer(peer: Optional[str]) -> Optional[str]:
                statuses: List[str] = []
                environ = environ_of(self.key, peer)
                body = b"".join(guarded(environ, lambda status, _: statuses.append(status)))
                return code_of(int(statuses[0][:3]), body)

            return by_peer

        self.expect(asking, lambda environ: environ["HTTP_X_REAL_IP"])

    def asking_asgi(self, app: Any) -> Ask:
        def by_peer(peer: Optional[str]) -> Optional[str]:
            client = {} if peer is None else {"client": (peer, 50_000)}
            sent = [(name[5:].replace("_", "-").lower().encode(), FORGED[name].encode()) for name in FORGED]
            bearer = [(b"authorization", f"Bearer {self.key}".encode())] if self.key else []
            headers = [*bearer, *sent]
            more = {"method": "GET", "query_string": b"", "root_path": "", "headers": headers, **client}
            start, body = asyncio.run(ask(app, self.key, **more))
            return code_of(start["status"], body["body"])

        return by_peer

    def test_asgi(self) -> None:
        async def app(scope: Any, receive: Any, send: Any) -> None:
            await asgi_app({"keyrail.verdict": SimpleNamespace(external_id=""), **scope}, receive, send)

        def asking(**options: Any) -> Ask:
            return self.asking_asgi(AsgiMiddleware(app, self.keyring, **options))

        # A Unix socket.
        start, _ = asyncio.run(ask(AsgiMiddleware(asgi_app, self.keyring), self.key, client=None))
        self.assertEqual(start["status"], 403)
        self.expect(asking, lambda scope: dict(scope["headers"])[b"x-real-ip"].decode())

    def test_fastapi(self) -> None:
        def asking(**options: Any) -> Ask:
            app = FastAPI()
            install(app)
            require = RequireKey(self.keyring, **options)

            @app.get("/")
            async def route(verdict: Optional[Verdict] = Depends(require)) -> str:
                return "" if verdict is None else verdict.tenant_id

            return self.asking_asgi(app)

        def real_ip(request: Request) -> Optional[str]:
            return request.headers.get("x-real-ip")

        self.expect(asking, real_ip)

    def test_flask(self) -> None:
        def asking(**options: Any) -> Ask:
            app = Flask(__name__)

            @app.get("/")
            @require_key(self.keyring, **options)
            def route() -> str:
                return ""

            def by_peer(peer: Optional[str]) -> Optional[str]:
                environ = environ_of(self.key, peer)
                if peer is None:
                    environ["REMOTE_ADDR"] = None
                answer = app.test_client().get("/", environ_overrides=environ)
                return code_of(answer.status_code, answer.data)

            return by_peer

        self.expect(asking, lambda request: request.headers["X-Real-IP"])

    def test_django(self) -> None:
        if not conf.settings.configured:
            conf.settings.configure(DEFAULT_CHARSET="utf-8")
            django.setup()
        # The settings name no keyring before it is there.
        conf.settings.KEYRAIL_KEYRING = self.keyring
        from keyrail.django import KeyrailMiddleware
        from keyrail.django import require_key as require_in_django

        def view(_: HttpRequest) -> HttpResponse:
            return HttpResponse()

        async def view_async(_: HttpRequest) -> HttpResponse:
            return HttpResponse()

        def request_of(peer: Optional[str]) -> HttpRequest:
            made = HttpRequest()
            made.META = environ_of(self.key, peer)
            return made

        def asking(**options: Any) -> Ask:
            protected = require_in_django(**options)(view)
            protected_async = require_in_django(**options)(view_async)
            conf.settings.KEYRAIL_OPTIONS = options
            middleware = KeyrailMiddleware(view)

            def by_peer(peer: Optional[str]) -> Optional[str]:
                answers = [
                    protected(request_of(peer)),
                    asyncio.run(protected_async(request_of(peer))),
                    middleware.process_view(request_of(peer), view) or HttpResponse(),
                ]
                codes = [code_of(answer.status_code, answer.content) for answer in answers]
                self.assertEqual(len(set(codes)), 1, codes)
                return codes[0]

            return by_peer

        self.expect(asking, lambda request: request.META["HTTP_X_REAL_IP"])

    def test_what_is_no_key_needs_no_address(self) -> None:
        for sent in ("Basic eDp5", "Bearer", f"Bearer {self.key}, Bearer {self.key}"):
            refusal = Gate(self.keyring).admit([("authorization", sent)], ip=fail).refusal
            self.assertEqual(refusal and refusal.code, "malformed_key", sent)
        refusal = Gate(self.keyring, header="x-api-key").admit([("x-api-key", "")], ip=fail).refusal
        self.assertEqual(refusal and refusal.code, "missing_key")

    def test_a_function_that_nothing_awaits_opens_no_route(self) -> None:
        async def find(_: Any) -> str:
            return INSIDE

        class Finder:
            async def __call__(self, _: Any) -> str:
                return INSIDE

        for wrong in ("x-real-ip", find, partial(find), Finder(), Finder().__call__):
            with self.assertRaises(ValueError, msg=str(wrong)):
                Gate(self.keyring, get_ip=wrong)  # type: ignore[arg-type]
        reached: List[Any] = []
        hidden = AsgiMiddleware(
            lambda *_: reached.append(1), self.keyring, get_ip=lambda scope: find(scope)  # type: ignore
        )
        with warnings.catch_warnings(record=True) as warned, self.assertRaises(TypeError):
            warnings.simplefilter("always")
            asyncio.run(ask(hidden, self.key))
        self.assertEqual((reached, warned), ([], []))

    def test_a_refusal_has_no_challenge_and_a_function_that_fails_opens_no_route(self) -> None:
        headers = [("authorization", f"Bearer {self.key}")]
        refusal = Gate(self.keyring).admit(headers, ip=OUTSIDE).refusal
        assert refusal is not None
        self.assertEqual((refusal.status, "www-authenticate" in refusal.headers), (403, False))
        self.assertEqual(Gate(self.keyring).admit(headers, ip=INSIDE).refusal, None)
        reached = SimpleNamespace(count=0)

        def app(*_: Any) -> Any:
            reached.count += 1
            return []

        guarded = WsgiMiddleware(app, self.keyring, get_ip=lambda environ: environ["HTTP_ABSENT"])
        with self.assertRaises(KeyError):
            guarded(environ_of(self.key, INSIDE), lambda *_: None)
        self.assertEqual(reached.count, 0)
