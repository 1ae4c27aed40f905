"""
Protects a route of any framework: checks key, scopes and limits, and counts the request. Refuses what it
cannot check.
"""

from __future__ import annotations

import asyncio
import inspect
import re
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Optional, Sequence, Tuple, Union

from ..keyring import Keyring
from ..limits.limiter import read_cost
from ..limits.verdict import LimitVerdict, unavailable
from ..verdict import REFUSED, Verdict
from .credential import find_credential
from .problem import Problem
from .refusal import to_refusal

Headers = Iterable[Tuple[str, str]]
#: The address of a caller, or a function that finds it.
Address = Union[str, None, Callable[[], Optional[str]]]


class Admission(NamedTuple):
    """The result of a gate: the request passes, or is answered with `refusal`."""

    #: None if no key was sent where it is optional, and for a refusal.
    verdict: Optional[Verdict]
    #: The remaining limits, names in lower case; send them with the answer.
    headers: Dict[str, str]
    refusal: Optional[Problem] = None


async def _in_thread(keyring: Keyring, verdict: Verdict, cost: int) -> LimitVerdict:
    try:
        loop = asyncio.get_running_loop()
        return await loop.run_in_executor(keyring.executor, keyring.limit, verdict, cost)
    except RuntimeError:
        # The keyring was closed meanwhile.
        return unavailable()


def _is_async(function: Any) -> bool:
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(type(function).__call__)


class Exchange:
    """
    What the gates of one request know of each other, so that it is charged and counted once. One for each
    request.
    """

    __slots__ = ("charges", "counted")

    def __init__(self) -> None:
        #: What was charged, by keyring and key: the cost, and the verdict.
        self.charges: Dict[Tuple[int, str], Tuple[int, LimitVerdict]] = {}
        self.counted: List[int] = []


class Gate:
    """
    `header`: where the key is, or several names, of which the first with a key counts. `authorization` holds
    `Bearer <key>`, any other the bare key. `cost`: how much a request takes from every limit, 0 to 1,000.
    `optional`: requests without a key pass, where no scope and no cost is demanded. `get_ip`: takes the request
    of the framework, and returns the address of the caller, where this program is behind a proxy; None: not
    known. Without it, the address is that of the peer. It must not believe a header that callers can set. It is
    called only for requests with a key, and is no `async def`.
    Raises ValueError for a wrong option, so that a mistake leaves no route open.
    """

    def __init__(
        self,
        keyring: Keyring,
        *,
        scopes: Sequence[str] = (),
        env: Optional[str] = None,
        header: Union[str, Sequence[str]] = "authorization",
        cost: Optional[int] = None,
        limits: bool = True,
        usage: bool = True,
        optional: bool = False,
        get_ip: Optional[Callable[[Any], Optional[str]]] = None,
    ) -> None:
        if not callable(getattr(keyring, "verify", None)):
            raise ValueError("a gate takes a keyring")
        if isinstance(scopes, (str, bytes)) or not all(isinstance(scope, str) and scope for scope in scopes):
            raise ValueError("scopes must be a list of scope names")
        if env not in (None, "live", "test", "both"):
            raise ValueError("env must be live, test or both")
        if cost is not None and not limits:
            raise ValueError("cost needs limits, which are turned off")
        if get_ip is not None and not callable(get_ip):
            raise ValueError("get_ip must be a function")
        if _is_async(get_ip):
            raise ValueError("get_ip must be a plain function: nothing awaits an async one")
        names = [header] if isinstance(header, str) else list(header)
        if not names or not all(
            isinstance(name, str) and re.fullmatch(r"[A-Za-z0-9_-]+", name) for name in names
        ):
            raise ValueError("header must be a header name, or a list of them")
        self.keyring = keyring
        self.headers = tuple(name.lower() for name in names)
        self._scopes = tuple(scopes)
        self._env = env
        self._cost = 1 if cost is None else read_cost(cost)
        self._limits = limits
        self._get_ip = get_ip
        self._usage = usage
        # A route that demands something of a key demands a key.
        self._is_optional = optional and not self._scopes and cost is None

    def ip_of(self, request: Any, peer: Optional[str]) -> Optional[str]:
        """The address of a caller: what `get_ip` says, or else the peer. Raises what `get_ip` raises."""
        if self._get_ip is None:
            return peer
        ip: Any = self._get_ip(request)
        if inspect.isawaitable(ip):
            if inspect.iscoroutine(ip):
                ip.close()
            raise TypeError("get_ip returned what must be awaited, and not an address")
        return ip  # type: ignore[no-any-return]

    def admit(self, headers: Headers, exchange: Optional[Exchange] = None, ip: Address = None) -> Admission:
        """
        `headers`: names and values, a repeated name repeated. `ip`: the address of the caller, or a function
        that returns it, called only for a request with a key. Raises only what that function raises.
        """
        exchange = exchange or Exchange()
        judged = self._judge(headers, ip)
        if judged.verdict is None:
            return judged
        limited = self._known(exchange, judged.verdict)
        if limited is None:
            cost = self._left_of(exchange, judged.verdict)
            limited = self.keyring.limit(judged.verdict, cost)
        return self._conclude(exchange, judged.verdict, limited)

    async def admit_async(
        self, headers: Headers, exchange: Optional[Exchange] = None, ip: Address = None
    ) -> Admission:
        """As `admit`; a call of the service runs in a thread, so that the event loop goes on."""
        exchange = exchange or Exchange()
        judged = self._judge(headers, ip)
        if judged.verdict is None:
            return judged
        verdict, keyring = judged.verdict, self.keyring
        limited = self._known(exchange, verdict)
        if limited is None:
            cost = self._left_of(exchange, verdict)
            limited = keyring.limit_here(verdict, cost)
            if limited is None:
                limited = await _in_thread(keyring, verdict, cost)
        return self._conclude(exchange, verdict, limited)

    def _judge(self, headers: Headers, ip: Address) -> Admission:
        key, fault = find_credential(headers, self.headers)
        if self._is_optional and fault is None and key is None:
            return Admission(None, {})
        verdict = REFUSED["malformed_key"]
        if fault is None:
            # A probe without a key need not have what finds an address, such as the header of a proxy.
            address = (ip() if key else None) if callable(ip) else ip
            verdict = self.keyring.verify(key, scopes=self._scopes or None, env=self._env, ip=address)
        if verdict.valid:
            return Admission(verdict, {})
        return Admission(
            None, {}, to_refusal(verdict, scopes=self._scopes, headers=self.headers, fault=fault)
        )

    def _known(self, exchange: Exchange, verdict: Verdict) -> Optional[LimitVerdict]:
        """
        The result that needs no further charge: of several costs the highest counts, since nothing gives
        units back.
        """
        if not self._limits:
            return LimitVerdict(True, "no_limits", {})
        charged = exchange.charges.get(self._charge_of(verdict))
        return charged[1] if charged is not None and charged[0] >= self._cost else None

    def _left_of(self, exchange: Exchange, verdict: Verdict) -> int:
        charged = exchange.charges.get(self._charge_of(verdict))
        return self._cost - (0 if charged is None else charged[0])

    def _charge_of(self, verdict: Verdict) -> Tuple[int, str]:
        return id(self.keyring), verdict.key_id

    def _conclude(self, exchange: Exchange, verdict: Verdict, limited: LimitVerdict) -> Admission:
        if not limited.allowed:
            return Admission(None, {}, limited.problem)
        if self._limits:
            charge = self._charge_of(verdict)
            before = exchange.charges.get(charge, (0, limited))[0]
            exchange.charges[charge] = (max(before, self._cost), limited)
        if self._usage and id(self.keyring) not in exchange.counted:
            exchange.counted.append(id(self.keyring))
            self.keyring.count(verdict)
        return Admission(verdict, limited.headers)
