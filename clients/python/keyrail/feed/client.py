"""
One exchange with the feed. No request is conditional, because a cache could answer it without the service.
For the same reason each request has a parameter that never repeats, which the service ignores.
"""

from __future__ import annotations

import re
import uuid
from contextlib import suppress
from typing import Any, Dict, NamedTuple, Optional

from ..errors import KeyrailError, closed_error
from ..wire.call import Abort, Caller, ages_of
from ..wire.parse import parse_json
from ..wire.schedule import read_date
from .values import Scope

#: A page of 5,000 keys with eight limits each has about 6 MiB; sixty-four scopes of 200 characters make it 64
#: MiB.
_BODY_MAX_BYTES = 96 * 1024 * 1024
#: Sent with every request: this node supports paging. The largest page that the service sends.
_PAGE_KEYS = 5_000
#: With it, a held answer says for how long it was held.
_HELD = "held_ms"
#: A process that stops waits no longer than this for a service that hangs.
_LEAVE_TIMEOUT_MS = 1_000.0


class FeedAnswer(NamedTuple):
    body: Any
    #: Whether the service holds unchanged answers as requested (RFC 7240, `Preference-Applied`).
    waits: bool
    #: `Date` in milliseconds since the epoch; None if absent.
    date: Optional[float]
    age_seconds: int


class FeedClient:
    def __init__(self, caller: Caller, scope: Scope, max_keys: int, node: str) -> None:
        self._caller = caller
        self._scope = scope
        self._max_keys = max_keys
        self.node = node
        self.abort = Abort()

    def snapshot(self, cursor: Optional[str], held: int, timeout_ms: float) -> FeedAnswer:
        more = {} if cursor is None else {"cursor": cursor}
        return self._ask("snapshot", self._query(held, more), 0, timeout_ms)

    def delta(self, since: int, held: int, wait: int, timeout_ms: float) -> FeedAnswer:
        """`wait`: seconds for which the service may hold an unchanged answer. 0: answer at once."""
        return self._ask("delta", self._query(held, {"since": str(since)}), wait, timeout_ms)

    def leave(self, since: int) -> None:
        """
        Tells the service that this node has stopped and refuses every key, so that no revocation waits for it.
        If that fails, the node counts as live for 90 s, as one that was killed.
        """
        self.abort = Abort()
        query = self._query(0, {"since": str(since), "leaving": "true"})
        # Python 3.12 cannot start the thread of a look-up while the interpreter ends.
        with suppress(KeyrailError, RuntimeError):
            self._ask("delta", query, 0, _LEAVE_TIMEOUT_MS)

    def _query(self, held: int, more: Dict[str, str]) -> Dict[str, str]:
        """The service learns how full the node is."""
        scope = self._scope
        features = scope.features + ((_HELD,) if "since" in more else ())
        query = {"project_id": scope.project_id}
        if scope.env != "both":
            query["env"] = scope.env
        if scope.tenant_ids:
            query["tenant_id"] = ",".join(scope.tenant_ids)
        query.update(node=self.node, features=",".join(features), max_keys=str(_PAGE_KEYS))
        query.update(held_keys=str(held), held_keys_max=str(self._max_keys), **more)
        query["nonce"] = str(uuid.uuid4())
        return query

    def _ask(self, what: str, query: Dict[str, str], wait: int, timeout_ms: float) -> FeedAnswer:
        headers = {"Cache-Control": "no-store"}
        if wait > 0:
            headers["Prefer"] = f"wait={wait}"
        try:
            answer = self._caller.call(
                "GET",
                f"/v1/policy/{what}",
                query=query,
                headers=headers,
                timeout_ms=timeout_ms,
                max_bytes=_BODY_MAX_BYTES,
                abort=self.abort,
            )
        except KeyrailError as error:
            raise closed_error() if error.code == "aborted" else error from None
        applied = answer.headers.get("preference-applied", "")
        return FeedAnswer(
            parse_json(answer.text),
            wait > 0 and re.search(r"(?:^|[\s,;])wait\b", applied, re.IGNORECASE) is not None,
            read_date(answer.headers.get("date")),
            ages_of(dict(answer.headers)),
        )
