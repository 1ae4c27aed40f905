"""
Charges requests to the limits of their keys, with one call of the service. A key without limits needs none,
and neither does one that was denied and still has nothing left. No check is repeated, because one without an
answer may have been charged.
"""

from __future__ import annotations

from typing import Dict, Optional

from ..errors import KeyrailError, is_outage, lasting
from ..reports import Reports
from ..store import Record
from ..verdict import Verdict
from ..wire.breaker import Breaker
from ..wire.call import Caller
from ..wire.parse import parse_members
from ..world import World
from .answer import bad_answer, read_answer
from .denials import Denials
from .verdict import NO_LIMITS, UNCHECKED, LimitVerdict, denial, misused, unavailable

_ANSWER_MAX_BYTES = 64 * 1024
_COST_MAX = 1_000
#: For how long the service is not asked again after it answered that the secret key lacks the permission.
_LACKING_MS = 10_000
_LACKING = "insufficient_permission"


def read_cost(cost: object) -> int:
    """Raises ValueError."""
    if isinstance(cost, bool) or not isinstance(cost, int) or not 0 <= cost <= _COST_MAX:
        raise ValueError(f"cost must be an integer from 0 to {_COST_MAX}")
    return cost


class Limiter:
    def __init__(
        self,
        *,
        caller: Caller,
        project: str,
        node: str,
        timeout_ms: float,
        lets_pass: bool,
        reports: Reports,
        world: World,
    ) -> None:
        self.node = node
        self.calls = 0
        self.remembered = 0
        self._caller = caller
        self._project = project
        self._timeout_ms = timeout_ms
        self._lets_pass = lets_pass
        self._reports = reports
        self._world = world
        self._lacking_until = float("-inf")
        self.renew()

    def renew(self) -> None:
        """After a fork: a thread of the parent may have held a lock."""
        self._denials = Denials()
        self._breaker = Breaker()

    def limit(self, verdict: Verdict, cost: int = 1) -> LimitVerdict:
        """Charges a request to all limits of its key, or to none. Never raises."""
        try:
            known = self.limit_here(verdict, cost)
            return self._ask(verdict, cost) if known is None else known
        except Exception as error:
            return self._failed(error)

    def limit_here(self, verdict: Verdict, cost: int = 1) -> Optional[LimitVerdict]:
        """The result where it needs no call; None if the service must be asked. Never raises."""
        record = verdict._record if isinstance(verdict, Verdict) else None
        if record is None or not verdict.valid:
            what = f"a key refused as {verdict.code}" if isinstance(verdict, Verdict) else "no verdict"
            return self._misused(f"limit was given {what}: call it only if verdict.valid is true")
        try:
            read_cost(cost)
        except ValueError as error:
            return self._misused(str(error))
        if record.limits is None:
            return NO_LIMITS
        now = self._world.monotonic()
        if now < self._lacking_until:
            return UNCHECKED
        denied = self._denials.find(record, record.limits.rules, cost, now)
        if denied is not None:
            self.remembered += 1
        return denied

    def _ask(self, verdict: Verdict, cost: int) -> LimitVerdict:
        record = verdict._valid_record
        rules = record.limits.rules if record.limits is not None else ()
        asked_at = self._world.monotonic()
        answer = read_answer(self._call(record, rules, cost))
        if answer.allowed:
            return LimitVerdict(True, "allowed", answer.headers, None, "service")
        self._denials.add(record, rules, cost, asked_at, answer)
        return denial(answer.denied_by, answer.headers, "service")

    def _call(self, record: Record, rules: object, cost: int) -> "Dict[str, object]":
        check = {
            "project_id": self._project,
            "env": record.env,
            "key_id": record.key_id,
            "tenant_id": record.tenant.id,
            "cost": cost,
            # Unchanged: the service checks them, and may know more kinds than this version.
            "limits": rules,
        }

        def send() -> "Dict[str, object]":
            self.calls += 1
            answer = self._caller.call(
                "POST",
                "/v1/ratelimit/check",
                headers={"Keyrail-Node": self.node},
                body=check,
                timeout_ms=self._timeout_ms,
                max_bytes=_ANSWER_MAX_BYTES,
            )
            self._reports.success()
            return parse_members(answer.text)

        return self._breaker.call(send)

    def _failed(self, error: Exception) -> LimitVerdict:
        if not isinstance(error, KeyrailError):
            error = bad_answer("it cannot be read")
        is_lacking = error.code == _LACKING
        if is_lacking:
            self._lacking_until = self._world.monotonic() + _LACKING_MS
            outcome = "Requests pass without limits: give the secret key the preset node, or say limits=False"
            error.message = f"{error.message.rstrip('.')}. {outcome}"
        # The call that finds out whether the service answers again reports it.
        if error.code != "service_hangs":
            self._reports.error(error)
        # What says nothing about the key: no answer, and no room for a further counter.
        is_unchecked = is_outage(error) or error.code == "counter_limit_reached"
        return UNCHECKED if is_lacking or (self._lets_pass and is_unchecked) else unavailable()

    def _misused(self, message: str) -> LimitVerdict:
        self._reports.error(lasting("misused", message))
        return misused()
