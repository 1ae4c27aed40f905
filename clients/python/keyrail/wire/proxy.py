"""The proxy that the environment names: `HTTPS_PROXY`, `HTTP_PROXY`, `NO_PROXY`, in small letters too."""

from __future__ import annotations

import base64
import re
from typing import Dict, NamedTuple, Optional
from urllib.parse import SplitResult, unquote, urlsplit
from urllib.request import getproxies, proxy_bypass

from .failure import ProxyFailed

_local = re.compile(r"localhost|[A-Za-z0-9_.-]+\.localhost|127(?:\.[0-9]+){3}|::1")


class Proxy(NamedTuple):
    host: str
    port: int
    #: `Proxy-Authorization`, where the address has a user.
    headers: Dict[str, str]


def is_local(host: str) -> bool:
    """Hosts that always mean this machine."""
    return _local.fullmatch(host) is not None


def proxy_for(url: SplitResult) -> Optional[Proxy]:
    """None for this machine, for a host in `NO_PROXY`, and without a proxy."""
    host = url.hostname or ""
    if is_local(host) or proxy_bypass(f"{host}:{url.port}" if url.port else host):
        return None
    given = getproxies()
    address = (given.get("https") if url.scheme == "https" else None) or given.get("http")
    if not address:
        return None
    try:
        parts = urlsplit(address if "://" in address else f"http://{address}")
        port = parts.port or 80
    except ValueError:
        raise ProxyFailed("the proxy of the environment is no http address") from None
    if parts.scheme != "http" or not parts.hostname:
        raise ProxyFailed("the proxy of the environment is no http address")
    headers = {}
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}".encode()
        headers["Proxy-Authorization"] = "Basic " + base64.b64encode(pair).decode()
    return Proxy(parts.hostname, port, headers)
