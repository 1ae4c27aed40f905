"""
The driver of `clients/conformance`: reads commands from its standard input, and writes answers to its
standard output.
"""

from __future__ import annotations

import json
import sys
import threading
from pathlib import Path
from typing import Any, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent))

from keyrail.errors import KeyrailError  # noqa: E402
from keyrail.limits.verdict import LimitVerdict  # noqa: E402
from keyrail.node import Node  # noqa: E402
from keyrail.options import read_settings  # noqa: E402
from keyrail.protect.gate import Gate  # noqa: E402
from keyrail.verdict import Verdict  # noqa: E402
from keyrail.world import World  # noqa: E402

Fields = Dict[str, Any]


class PlayedWorld(World):
    """A clock that only `advance` moves, and a chance that is told."""

    def __init__(self, wall: float, uptime: float, random: float, timeout: Optional[float]) -> None:
        self._wall = wall
        self._uptime = uptime
        self._monotonic = 0.0
        self._random = random
        self.timeout_most = float("inf") if timeout is None else timeout

    def advance(self, milliseconds: float, wall: float) -> None:
        self._monotonic += milliseconds
        self._uptime += milliseconds
        self._wall += wall

    def wall(self) -> float:
        return self._wall

    def monotonic(self) -> float:
        return self._monotonic

    def uptime(self) -> float:
        return self._uptime

    def random(self) -> float:
        return self._random

    def pause(self, milliseconds: float, closing: threading.Event) -> None:
        pass


class PlayedNode:
    """A node whose polls come when the driver says so. It has what a gate uses of a keyring."""

    def __init__(self, fields: Fields) -> None:
        self.reports: List[str] = []
        self._world = PlayedWorld(fields["wall"], fields["uptime"], fields["random"], fields.get("timeout"))
        self._node = Node(_settings_of(fields, lambda error: self.reports.append(error.code)), self._world)
        self._node.begin()
        self._lock = threading.Lock()
        self.limit = self._node.limiter.limit

    def drop(self) -> None:
        self._node.sync.closing.set()
        self._node.client.abort.set()
        self._node.caller.close()

    def advance(self, fields: Fields) -> Fields:
        self._world.advance(fields["ms"], fields.get("wall", fields["ms"]))
        return {}

    def poll(self, _: Fields) -> Fields:
        self.reports.clear()
        delay = self._node.poller.poll_once()
        outcome, error = self._node.poller.outcome, self._node.poller.last_error
        answer = {"outcome": outcome, "reports": list(self.reports), "delay": delay}
        return {**answer, "code": error.code} if outcome == "error" and error is not None else answer

    def verify(
        self, key: Optional[str], scopes: Any = None, env: Optional[str] = None, ip: Optional[str] = None
    ) -> Verdict:
        return self._node.verifier.verify(key, scopes, env, ip)

    def verdict(self, fields: Fields) -> Fields:
        verdict = self.verify(fields["key"], fields.get("scopes"), fields.get("env"), fields.get("ip"))
        if not verdict.valid:
            return {"code": verdict.code}
        names = (
            "code",
            "key_id",
            "tenant_id",
            "env",
            "scopes",
            "expires_at",
            "limits",
            "external_id",
            "meta",
        )
        return {name: getattr(verdict, name) for name in names}

    def ready(self, _: Fields) -> Fields:
        return {"ready": self._node.poller.is_ready}

    def save(self, _: Fields) -> Fields:
        self._node.save(self._node.sync.kept)
        return {}

    def charge(self, fields: Fields) -> Fields:
        limited: LimitVerdict = self.limit(self._valid(fields["key"]), fields.get("cost", 1))
        problem = limited.problem
        status = None if problem is None else problem.status
        headers = {**limited.headers, **({} if problem is None else problem.headers)}
        return {"allowed": limited.allowed, "code": limited.code, "status": status, "headers": headers}

    def count(self, verdict: Verdict, requests: int = 1) -> None:
        self._node.counts.add(verdict.key_id, requests, self._node.sender.now())

    def counted(self, fields: Fields) -> Fields:
        self.count(self._valid(fields["key"]), fields.get("requests", 1))
        return {}

    def report(self, _: Fields) -> Fields:
        self._node.sender.send(10_000)
        return {"code": self._node.sender.last_error, "pending": self._node.sender.pending}

    def gate(self, fields: Fields) -> Fields:
        scopes, cost, header = (
            fields.get("scopes", ()),
            fields.get("cost"),
            fields.get("header", "authorization"),
        )
        gate = Gate(self, scopes=scopes, cost=cost, header=header, usage=False)  # type: ignore[arg-type]
        admission = gate.admit((tuple(pair) for pair in fields["headers"]), ip=fields.get("ip"))
        refusal, verdict = admission.refusal, admission.verdict
        if refusal is not None:
            return {
                "status": refusal.status,
                "code": refusal.code,
                "headers": refusal.headers,
                "key_id": None,
            }
        key_id = None if verdict is None else verdict.key_id
        return {"status": 200, "code": None, "headers": admission.headers, "key_id": key_id}

    def _valid(self, key: str) -> Verdict:
        verdict = self.verify(key)
        if not verdict.valid:
            raise ValueError(f"the key is {verdict.code}")
        return verdict


def _settings_of(fields: Fields, on_error: Any) -> Any:
    optional: Fields = {}
    for name, of in (("tenants", "tenants"), ("max_keys", "max_keys"), ("cache_dir", "cache_dir")):
        if fields.get(of) is not None:
            optional[name] = fields[of]
    for name in ("cached_ttl", "poll_interval"):
        if fields.get(name) is not None:
            optional[name] = fields[name] / 1000
    return read_settings(
        url=fields["url"],
        secret_key=fields["secret_key"],
        project=fields["project"],
        env=fields["env"],
        on_error=on_error,
        **optional,
    )


class Driver:
    def __init__(self) -> None:
        self._node: Optional[PlayedNode] = None
        self._writing = threading.Lock()

    def run(self) -> None:
        for line in sys.stdin:
            command = json.loads(line)
            # In a thread: time advances while a poll is under way.
            if command["op"] in ("poll", "limit", "report", "gate"):
                threading.Thread(target=self._answer, args=(command,), daemon=True).start()
            else:
                self._answer(command)

    def _answer(self, command: Fields) -> None:
        try:
            answer = self._obey(command["op"], command)
        except (KeyrailError, Exception) as error:
            answer = {"failed": f"{type(error).__name__}: {error}"}
        with self._writing:
            sys.stdout.write(json.dumps({"id": command["id"], **answer}) + "\n")
            sys.stdout.flush()

    def _obey(self, op: str, fields: Fields) -> Fields:
        if op == "open":
            if self._node is not None:
                self._node.drop()
            self._node = PlayedNode(fields)
            return {"reports": list(self._node.reports)}
        node = self._node
        if node is None:
            raise ValueError("no node is open")
        ops = {"verify": node.verdict, "limit": node.charge, "count": node.counted}
        names = ("poll", "advance", "ready", "save", "report", "gate")
        work = ops.get(op) or (getattr(node, op) if op in names else None)
        return {"unsupported": True} if work is None else work(fields)


if __name__ == "__main__":
    Driver().run()
