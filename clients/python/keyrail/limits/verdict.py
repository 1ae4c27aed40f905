"""The results of a check."""

from __future__ import annotations

from typing import Dict, NamedTuple, Optional, Sequence

from ..protect.problem import Problem, make_problem, misused_problem


class LimitVerdict(NamedTuple):
    """
    Whether a request fits the limits of its key. `bool(verdict)` is `allowed`. Send `headers` with any
    answer.
    """

    allowed: bool
    #: `allowed`; `no_limits`: the key has none; `unchecked`: the service was unavailable, and
    #: `on_unavailable` is `allow`, or the secret key may not check limits; `rate_limited`;
    #: `limits_unavailable`; `misused`.
    code: str
    #: Names in lower case.
    headers: Dict[str, str]
    #: The answer to send if it is not allowed: 429, 503 or 500.
    problem: Optional[Problem] = None
    #: `service`; `remembered`: a denial that still holds; None: nothing was checked.
    source: Optional[str] = None

    def __bool__(self) -> bool:
        return self.allowed


NO_LIMITS = LimitVerdict(True, "no_limits", {})
UNCHECKED = LimitVerdict(True, "unchecked", {})


def denial(denied_by: Sequence[str], headers: Dict[str, str], source: str) -> LimitVerdict:
    names = ", ".join(f'"{each}"' for each in denied_by)
    problem = make_problem(429, "rate_limited", f"The API key has used up its limit {names}", headers)
    return LimitVerdict(False, "rate_limited", headers, problem, source)


def unavailable() -> LimitVerdict:
    headers = {"retry-after": "1"}
    detail = "The limits of the API key cannot be checked now"
    return LimitVerdict(
        False, "limits_unavailable", headers, make_problem(503, "limits_unavailable", detail, headers)
    )


def misused() -> LimitVerdict:
    return LimitVerdict(False, "misused", {}, misused_problem())


def retry_after(milliseconds: Optional[float]) -> Dict[str, str]:
    """Nothing if the request never fits, or the service does not say."""
    if milliseconds is None:
        return {}
    return {"retry-after": str(max(1, int(-(-milliseconds // 1000))))}
