"""
Counters that have denied. Until units of a counter can be left again the service would deny again, so it is
not called: a flood from one customer costs few calls, and no request is denied that would have passed.
"""

from __future__ import annotations

import re
import threading
from collections import OrderedDict
from typing import Any, Dict, List, NamedTuple, Optional, Sequence

from ..store import Record
from ..wire.parse import to_json
from .answer import CheckAnswer
from .verdict import LimitVerdict, denial, retry_after

#: The longest time for which a denial is reused.
_REMEMBERED_MS = 1_000.0
#: Beyond, the least recently used one is dropped.
_COUNTERS_MAX = 10_000

Rule = Dict[str, Any]


class _Denial(NamedTuple):
    denied_by: List[str]
    retry_after_ms: Optional[float]
    #: `RateLimit-Policy` and `RateLimit`.
    policy: str
    state: str
    #: The cost of the denied request: a cheaper one may fit.
    cost: int
    asked_at: float
    until: float


class Denials:
    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._denials: OrderedDict[str, _Denial] = OrderedDict()

    def __len__(self) -> int:
        return len(self._denials)

    def find(self, record: Record, rules: Sequence[Rule], cost: int, now: float) -> Optional[LimitVerdict]:
        """What the service would answer now about these limits of the key."""
        if not self._denials:
            return None
        with self._lock:
            for name in (*_names_of(record, rules), _whole_of(record, rules)):
                found = self._denials.get(name)
                if found is None or cost < found.cost:
                    continue
                if now >= found.until:
                    del self._denials[name]
                    continue
                self._denials.move_to_end(name)
                return _remembered(found, now - found.asked_at)
        return None

    def add(
        self, record: Record, rules: Sequence[Rule], cost: int, asked_at: float, answer: CheckAnswer
    ) -> None:
        """`asked_at`: when the request was sent, which is not later than the service's answer."""
        wait = answer.retry_after_ms
        if isinstance(wait, bool):
            return
        until = asked_at + (_REMEMBERED_MS if wait is None else min(wait, _REMEMBERED_MS))
        policy = answer.headers.get("ratelimit-policy", "")
        state = answer.headers.get("ratelimit", "")
        at = _only_rule(answer.denied_by, rules)
        if at is None:
            # With several limits it is unknown which has units left first, so only the same key and cost is
            # denied again.
            name = _whole_of(record, rules)
        else:
            # Another key of the tenant gets only the state of this counter.
            own_policy, own_state = _member_at(policy, at, rules), _member_at(state, at, rules)
            if own_policy is None or own_state is None:
                return
            policy, state = own_policy, own_state
            name = _counter_name(record, rules[at])
        with self._lock:
            self._denials.pop(name, None)
            self._denials[name] = _Denial(answer.denied_by, wait, policy, state, cost, asked_at, until)
            if len(self._denials) > _COUNTERS_MAX:
                self._denials.popitem(last=False)


def _only_rule(denied_by: Sequence[str], rules: Sequence[Rule]) -> Optional[int]:
    if len(denied_by) > 1:
        return None
    return next((at for at, rule in enumerate(rules) if denied_by and rule.get("id") == denied_by[0]), None)


def _remembered(found: _Denial, age_ms: float) -> LimitVerdict:
    def aged(match: "re.Match[str]") -> str:
        left = max(0.0, int(match[1]) * 1000 - age_ms)
        return f";t={int(-(-left // 1000))}"

    left = None if found.retry_after_ms is None else found.retry_after_ms - age_ms
    headers = {
        "ratelimit-policy": found.policy,
        "ratelimit": re.sub(r";t=([0-9]+)", aged, found.state),
        **retry_after(left),
    }
    return denial(found.denied_by, headers, "remembered")


def _counter_name(record: Record, rule: Rule) -> str:
    """Contains the whole rule, so that a changed rule is a new counter and the service is asked again."""
    whose = f"tenant {record.tenant.id}" if rule.get("scope") == "tenant" else f"key {record.key_id}"
    return f"{record.env} {whose} {to_json(rule)}"


def _names_of(record: Record, rules: Sequence[Rule]) -> List[str]:
    return [_counter_name(record, rule) for rule in rules]


def _whole_of(record: Record, rules: Sequence[Rule]) -> str:
    return f"whole {' '.join(_names_of(record, rules))} {record.key_id}"


def _member_at(text: str, at: int, rules: Sequence[Rule]) -> Optional[str]:
    """One member of a structured list that has one for each rule; None if an id contains a comma."""
    members = text.split(", ")
    return members[at] if len(members) == len(rules) else None
