"""
Sends counted requests, one report after the other. A report without an acknowledgement is sent again under
the same id, so that a restart of the service neither loses counts nor counts twice.
"""

from __future__ import annotations

import uuid
from typing import Any, Dict, Optional

from ..errors import KeyrailError, lasting
from ..reports import Reports
from ..service_time import ServiceTime
from ..wire.call import Answer, Caller
from ..wire.parse import as_number, parse_members
from ..wire.schedule import read_date
from ..world import World
from .counts import UsageCounts

_ANSWER_MAX_BYTES = 16 * 1024


class UsageSender:
    """One thread sends."""

    def __init__(
        self, *, caller: Caller, counts: UsageCounts, time: ServiceTime, reports: Reports, world: World
    ) -> None:
        #: Attempts that have failed since one succeeded.
        self.failures = 0
        self.retry_after_ms: Optional[float] = None
        self.last_error: Optional[str] = None
        #: Requests in reports that the service has acknowledged.
        self.reported = 0
        #: Requests in reports that the service has refused or ignored.
        self.refused = 0
        self._caller = caller
        self._counts = counts
        self._time = time
        self._reports = reports
        self._world = world
        #: The report in flight. Its id and records stay the same until it is acknowledged.
        self._sending: Optional[Dict[str, Any]] = None
        #: The service's time for as long as the feed has not shown it.
        self._own_time = ServiceTime(world)
        self._has_asked_time = False

    def now(self) -> float:
        return self._time.now() if self._time.is_known else self._own_time.now()

    @property
    def pending(self) -> int:
        """Requests that the service has not acknowledged."""
        return self._counts.total + _requests_in(self._sending)

    def send(self, timeout_ms: float) -> None:
        """Sends all counts. Stops at an attempt that fails; the next call repeats that report first."""
        while True:
            if self._sending is None:
                if self._counts and not self._time.is_known and not self._has_asked_time:
                    self._learn_time(timeout_ms)
                records = self._counts.take(self.now())
                if not records:
                    return
                self._sending = {"report_id": str(uuid.uuid4()), "sample_rate": 1, "records": records}
            if not self._attempt(self._sending, timeout_ms):
                return

    def _attempt(self, report: Dict[str, Any], timeout_ms: float) -> bool:
        """Whether the next report may be sent."""
        try:
            answer = self._ask("POST", "/v1/usage/reports", report, (202,), timeout_ms)
        except KeyrailError as error:
            return self._failed(error, report)
        self._learn_from(answer)
        left_out = as_number(parse_members(answer.text).get("ignored")) or 0
        length = len(report["records"])
        if left_out < length:
            self.reported += _requests_in(report)
        else:
            self.refused += _requests_in(report)
        self._sending = None
        self.failures = 0
        self.last_error = "usage_ignored" if left_out > 0 else None
        if left_out > 0:
            self._reports.error(_passed_over(left_out, length))
        else:
            self._reports.success()
        return True

    def _failed(self, error: KeyrailError, report: Dict[str, Any]) -> bool:
        self.last_error = error.code
        self.retry_after_ms = error.retry_after_ms
        if error.code == "insufficient_permission":
            outcome = "Requests are not counted: give the secret key the preset node, or say usage=False"
            error.message = f"{error.message.rstrip('.')}. {outcome}"
        self._reports.error(error)
        # A report that is invalid in itself would block all later reports forever.
        if error.status in (400, 413):
            self.refused += _requests_in(report)
            self._sending = None
            return True
        self.failures += 1
        return False

    def _ask(
        self, method: str, path: str, body: object, accepts: "tuple[int, ...]", timeout_ms: float
    ) -> Answer:
        return self._caller.call(
            method, path, body=body, accepts=accepts, timeout_ms=timeout_ms, max_bytes=_ANSWER_MAX_BYTES
        )

    def _learn_time(self, timeout_ms: float) -> None:
        """
        Asks for the time before the first report, so that the report names hours by the service's clock.
        """
        try:
            self._learn_from(self._ask("GET", "/v1/healthz", None, (200, 404), timeout_ms))
            self._has_asked_time = True
        except KeyrailError:
            # The report will meet and report the same error.
            pass

    def _learn_from(self, answer: Answer) -> None:
        """
        The first answer with a time corrects the hours of requests that were counted by this machine's clock.
        """
        is_first = not self._own_time.is_known and not self._time.is_known
        date = read_date(answer.headers.get("date"))
        if date is not None:
            self._own_time.observe(date)
        if is_first and self._own_time.is_known:
            self._counts.move_by(self._own_time.now() - self._world.wall())


def _requests_in(report: Optional[Dict[str, Any]]) -> int:
    return 0 if report is None else sum(record["count"] for record in report["records"])


def _passed_over(ignored: float, records: int) -> KeyrailError:
    return lasting(
        "usage_ignored",
        f"{ignored} of {records} records of a usage report were ignored: their key is not in this "
        "environment, or their hour is too old or in the future",
    )


def unsent(requests: int) -> KeyrailError:
    return lasting("usage_unsent", f"{requests} counted requests were not reported before the end")
