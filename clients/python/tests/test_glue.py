import asyncio
import threading
from typing import Any, Dict, List

from keyrail import Gate
from keyrail.asgi import KeyrailMiddleware as AsgiMiddleware
from keyrail.protect.gate import Exchange
from keyrail.wsgi import KeyrailMiddleware as WsgiMiddleware

from .stage import LIMIT, draw_key
from .test_keyring import OnService


async def asgi_app(scope: Any, _: Any, send: Any) -> None:
    await send({"type": "http.response.start", "status": 200, "headers": []})
    await send({"type": "http.response.body", "body": scope["keyrail.verdict"].external_id.encode()})


async def ask(app: Any, key: str, **scope: Any) -> List[Dict[str, Any]]:
    sent: List[Dict[str, Any]] = []

    async def send(message: Dict[str, Any]) -> None:
        sent.append(message)

    headers = [(b"Authorization", f"Bearer {key}".encode())]
    await app({"type": "http", "path": "/", "headers": headers, **scope}, None, send)
    return sent


class Glue(OnService):
    def test_a_call_for_limits_does_not_stop_the_event_loop(self) -> None:
        key = self.service.issue(1, rate_limits=[LIMIT])
        keyring = self.open()
        keyring.ready(30)
        app = AsgiMiddleware(asgi_app, keyring)
        went_on = threading.Event()
        check = self.service._check

        def after_the_loop_went_on(body: Any) -> Any:
            went_on.wait(30)
            return check(body)

        self.service._check = after_the_loop_went_on  # type: ignore[method-assign]

        async def both() -> Any:
            async def go_on() -> None:
                went_on.set()

            return (await asyncio.gather(ask(app, key), go_on()))[0]

        start, body = asyncio.run(both())
        self.assertEqual((start["status"], body["body"]), (200, b"acme"))
        self.assertIn((b"ratelimit", b'"minute";r=1;t=60'), start["headers"])

    def test_a_websocket_is_refused_before_it_is_accepted(self) -> None:
        keyring = self.open()
        keyring.ready(30)
        app = AsgiMiddleware(asgi_app, keyring)
        sent = asyncio.run(ask(app, draw_key(), type="websocket"))
        self.assertEqual(sent, [{"type": "websocket.close", "code": 1008}])

    def test_public_paths_need_no_key_and_no_other_path_is_public(self) -> None:
        keyring = self.open()
        keyring.ready(30)
        statuses: List[str] = []

        def app(_: Any, start_response: Any) -> Any:
            start_response("200 OK", [])
            return []

        guarded = WsgiMiddleware(app, keyring, public=["/healthz"])
        for path in ("/healthz", "/healthz/", "/healthz/../orders", "/", ""):
            guarded({"PATH_INFO": path}, lambda status, headers: statuses.append(status[:3]))
        self.assertEqual(statuses, ["200", "401", "401", "401", "401"])
        with self.assertRaises(ValueError):
            WsgiMiddleware(app, keyring, public="/healthz")

    def test_gates_of_one_request_charge_the_highest_cost_and_count_once(self) -> None:
        key = self.service.issue(1, rate_limits=[{**LIMIT, "limit": 100}])
        keyring = self.open()
        keyring.ready(30)
        exchange, headers = Exchange(), [("authorization", f"Bearer {key}")]
        for cost in (None, 5, 3):
            self.assertIsNone(Gate(keyring, cost=cost).admit(headers, exchange).refusal)
        charged = [
            each["body"]["cost"] for each in self.service.asked if each["path"] == "/v1/ratelimit/check"
        ]
        self.assertEqual(charged, [1, 4])
        self.assertEqual(keyring.stats()["usage_pending"], 1)

    def test_an_optional_key_is_demanded_where_something_is_demanded_of_it(self) -> None:
        keyring = self.open()
        keyring.ready(30)
        self.assertIsNone(Gate(keyring, optional=True).admit([]).refusal)
        for options in ({"scopes": ["a"]}, {"cost": 0}):
            refusal = Gate(keyring, optional=True, **options).admit([]).refusal  # type: ignore[arg-type]
            self.assertEqual(refusal and refusal.code, "missing_key")
        sent = Gate(keyring, optional=True).admit([("Authorization", "Basic eDp5")]).refusal
        self.assertEqual(sent and sent.code, "malformed_key")

    def test_a_wrong_option_opens_no_route(self) -> None:
        keyring = self.open()
        for wrong in ({"scopes": "a"}, {"scopes": [""]}, {"env": "prod"}, {"cost": 1_001}, {"header": []}):
            with self.assertRaises(ValueError, msg=str(wrong)):
                Gate(keyring, **wrong)  # type: ignore[arg-type]
        with self.assertRaises(ValueError):
            Gate(keyring, cost=1, limits=False)
        with self.assertRaises(ValueError):
            Gate(None)  # type: ignore[arg-type]
