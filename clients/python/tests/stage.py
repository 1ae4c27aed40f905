"""Keys as the service issues them, and a small service on this machine that tests move."""

from __future__ import annotations

import base64
import hashlib
import json
import threading
import time
import uuid
import zlib
from datetime import datetime, timezone
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Callable, Dict, List, Optional
from urllib.parse import parse_qs, urlsplit

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
PROJECT = "01930c3e-8f5a-7c31-9b0e-00000000c000"
WORKSPACE = "01930c3e-8f5a-7c31-9b0e-00000000d000"
TENANT = "01930c3e-8f5a-7c31-9b0e-00000000a000"
LIMIT = {"id": "minute", "limit": 2, "window_ms": 60_000, "algorithm": "fixed", "scope": "key"}


def with_checksum(body: str) -> str:
    rest, digits = zlib.crc32(body.encode()), ""
    for _ in range(6):
        digits = _ALPHABET[rest % 62] + digits
        rest //= 62
    return body + digits


def draw_key(prefix: str = "kr_live") -> str:
    return with_checksum(f"{prefix}_{uuid.uuid4().hex}")


SECRET_KEY = draw_key("krsk_live")


def id_of(number: int) -> str:
    return f"01930c3e-8f5a-7c31-9b0e-{number:012x}"


def policy_key(key: str, number: int, **more: Any) -> Dict[str, Any]:
    """The record of a key in the feed."""
    digest = base64.b64encode(hashlib.sha256(key.encode()).digest()).decode()
    record = {"key_id": id_of(number), "tenant_id": TENANT, "env": "test" if "_test_" in key else "live"}
    return {**record, "lookup_hash": digest, "scopes": [], "expires_at": None, "meta": {}, **more}


def until(holds: Callable[[], Any], what: str) -> None:
    """Waits for a state that no event announces."""
    for _ in range(3_000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError(f"still waiting until {what}")


class Service:
    """Answers at once, and holds nothing. `keys` by number; a change raises the version."""

    def __init__(self) -> None:
        self.version = 1
        self.keys: Dict[int, Dict[str, Any]] = {}
        self.changes: List[Dict[str, Any]] = []
        #: Every request: method, path, query, headers, body.
        self.asked: List[Dict[str, Any]] = []
        self.reported: List[Dict[str, Any]] = []
        self.checks = 0
        #: Answers in place of the service's, such as 503.
        self.status: Optional[int] = None
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        self._server.daemon_threads = True
        # A node that ends leaves its answers unread.
        self._server.handle_error = lambda *_: None  # type: ignore[method-assign]
        self.url = f"http://127.0.0.1:{self._server.server_address[1]}"
        threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True).start()

    def options(self, **more: Any) -> Dict[str, Any]:
        """Options of a keyring that follows it."""
        own = {"url": self.url, "secret_key": SECRET_KEY, "project": PROJECT, "poll_interval": 0.1}
        return {**own, "on_error": lambda _: None, **more}

    def issue(self, number: int, prefix: str = "kr_live", **more: Any) -> str:
        key = draw_key(prefix)
        self.keys[number] = policy_key(key, number, **more)
        self._change({"change": "upsert", **self.keys[number]})
        return key

    def revoke(self, number: int) -> None:
        record = self.keys.pop(number)
        names = {"key_id": record["key_id"], "lookup_hash": record["lookup_hash"]}
        self._change({"change": "tombstone", "cause": "revoked", **names})

    def nodes(self) -> List[str]:
        """The names of the nodes that have polled."""
        return sorted({each["query"]["node"] for each in self.asked if "node" in each["query"]})

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()

    def _change(self, change: Dict[str, Any]) -> None:
        self.version += 1
        self.changes.append({"version": self.version, "change": change})

    def answer(self, path: str, query: Dict[str, str], body: Any) -> "tuple[int, Any]":
        if path == "/v1/policy/snapshot":
            keys = sorted(self.keys.values(), key=lambda each: each["key_id"])
            return 200, {**self._head("policy_snapshot"), "keys": keys, "next_cursor": None}
        if path == "/v1/policy/delta":
            since = int(query["since"])
            changes = [each["change"] for each in self.changes if each["version"] > since]
            return 200, {**self._head("policy_delta"), "since": since, "changes": changes}
        if path == "/v1/ratelimit/check":
            return 200, self._check(body)
        if path == "/v1/usage/reports":
            self.reported.extend(body["records"])
            return 202, {"object": "usage_report", "ignored": 0}
        return 404, {"code": "route_not_found", "detail": "No such route."}

    def _head(self, kind: str) -> Dict[str, Any]:
        now = datetime.now(timezone.utc).strftime("%Y-%m-%dT%H:%M:%S.%f") + "Z"
        tenants = [{"tenant_id": TENANT, "external_id": "acme"}]
        head = {"object": kind, "workspace_id": WORKSPACE, "project_id": PROJECT, "env": "live"}
        more = {"project_deleted": False, "features": ["external_id", "key_meta"], "tenants": tenants}
        return {**head, "version": self.version, **more, "generated_at": now}

    def _check(self, body: Any) -> Dict[str, Any]:
        rule = body["limits"][0]
        self.checks += 1
        left = max(0, rule["limit"] - self.checks)
        is_allowed = self.checks <= rule["limit"]
        headers = {"RateLimit-Policy": f'"{rule["id"]}";q={rule["limit"]};w=60'}
        headers["RateLimit"] = f'"{rule["id"]}";r={left};t=60'
        answer = {"object": "ratelimit_check", "allowed": is_allowed, "headers": headers}
        if is_allowed:
            return answer
        headers["Retry-After"] = "60"
        return {**answer, "denied_by": [rule["id"]], "retry_after_ms": 60_000}

    def _handler(self) -> type:
        service = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def _answer(self) -> None:
                length = int(self.headers.get("content-length") or 0)
                body = json.loads(self.rfile.read(length)) if length else None
                parts = urlsplit(self.path)
                query = {name: values[0] for name, values in parse_qs(parts.query).items()}
                headers = dict(self.headers.items())
                service.asked.append({"path": parts.path, "query": query, "headers": headers, "body": body})
                status, answer = service.answer(parts.path, query, body)
                if service.status is not None:
                    status, answer = service.status, {"code": "unavailable", "detail": "Not now."}
                content = json.dumps(answer).encode()
                self.send_response(status)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            do_GET = do_POST = _answer

            def log_message(self, *_: Any) -> None:
                pass

        return Handler
