"""Reads the options of a keyring. A mistake is a ValueError that names the option and shows no secret."""

from __future__ import annotations

import os
import re
from typing import Callable, Iterable, NamedTuple, Optional, Tuple, Union
from urllib.parse import SplitResult, urlsplit

from .feed.values import Scope
from .reports import OnError
from .secret_key import secret_key_env
from .wire.proxy import is_local
from .world import make_node_id

_uuid = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TENANTS_MAX = 50
_DAY_SECONDS = 86_400


class Settings(NamedTuple):
    """The options, read, checked and completed."""

    url: SplitResult
    secret_key: Union[str, Callable[[], str]]
    env: str
    scope: Scope
    poll_interval_ms: float
    cached_ttl_ms: float
    max_keys: int
    cache_dir: Optional[str]
    #: None: drawn by each process.
    node: Optional[str]
    limit_timeout_ms: float
    #: Whether requests pass when limits cannot be checked.
    lets_pass: bool
    report_interval_ms: float
    on_error: Optional[OnError]

    def __repr__(self) -> str:
        return f"Settings(project={self.scope.project_id!r}, env={self.env!r})"

    @property
    def tells_end(self) -> bool:
        """
        Whether the node tells the service that it has stopped. Not with keys on a disk, which the next process
        serves before its first answer; nor with a name that another process may have too.
        """
        return self.node is None and self.cache_dir is None

    def node_name(self) -> str:
        return self.node or make_node_id()


def read_settings(
    *,
    url: Optional[str] = None,
    secret_key: Union[str, Callable[[], str], None] = None,
    project: Optional[str] = None,
    env: Optional[str] = None,
    tenants: Iterable[str] = (),
    cached_ttl: float = 60.0,
    poll_interval: float = 5.0,
    max_keys: int = 100_000,
    cache_dir: Union[str, "os.PathLike[str]", None] = None,
    insecure: bool = False,
    node: Optional[str] = None,
    limit_timeout: float = 1.0,
    on_unavailable: str = "deny",
    report_interval: float = 10.0,
    on_error: Optional[OnError] = None,
) -> Settings:
    """Times in seconds."""
    service = _read_url(url, insecure)
    secret, key_env = _read_secret_key(secret_key)
    accepted = env if env is not None else key_env
    if accepted not in ("live", "test", "both"):
        raise ValueError("env must be live, test or both")
    if isinstance(secret, str) and key_env == "test" and accepted != "test":
        raise ValueError(f"a test secret key cannot see env {accepted}: give a live one, or leave env out")
    poll_interval_ms = _read_seconds("poll_interval", poll_interval, 0.1, _DAY_SECONDS)
    # At most 60 s: the service assumes that a node without a request for 90 s serves no keys.
    cached_ttl_ms = _read_seconds("cached_ttl", cached_ttl, 0.1, 60)
    if cached_ttl_ms <= poll_interval_ms:
        raise ValueError("cached_ttl must be greater than poll_interval")
    if isinstance(max_keys, bool) or not isinstance(max_keys, int) or not 1 <= max_keys <= 10_000_000:
        raise ValueError("max_keys must be an integer from 1 to 10000000")
    if node is not None and not re.fullmatch(r"[A-Za-z0-9._:-]{1,128}", node):
        raise ValueError("node must be 1 to 128 of A-Z a-z 0-9 . _ : -")
    if on_unavailable not in ("allow", "deny"):
        raise ValueError("on_unavailable must be allow or deny")
    if on_error is not None and not callable(on_error):
        raise ValueError("on_error must be a function")
    directory = None if cache_dir is None else os.fspath(cache_dir)
    if directory is not None and (not isinstance(directory, str) or not directory or "\0" in directory):
        raise ValueError("cache_dir must be the path of a directory")
    address = f"{service.scheme}://{service.netloc}{service.path or '/'}"
    return Settings(
        url=service,
        secret_key=secret,
        env=accepted,
        scope=Scope(_read_project(project), accepted, _read_tenants(tenants), address),
        poll_interval_ms=poll_interval_ms,
        cached_ttl_ms=cached_ttl_ms,
        max_keys=max_keys,
        cache_dir=directory,
        node=node,
        limit_timeout_ms=_read_seconds("limit_timeout", limit_timeout, 0.001, 60),
        lets_pass=on_unavailable == "allow",
        report_interval_ms=_read_seconds("report_interval", report_interval, 0.1, 3600),
        on_error=on_error,
    )


def _environment(name: str) -> Optional[str]:
    """The default of an option. An empty variable counts as unset."""
    return os.environ.get(name) or None


def _read_url(value: Optional[str], insecure: bool) -> SplitResult:
    name = "KEYRAIL_URL" if value is None else "url"
    given = _environment("KEYRAIL_URL") if value is None else value
    if given is None:
        raise ValueError("url is not given, and KEYRAIL_URL is not set")
    try:
        parts = urlsplit(str(given).strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        parts, host, port = urlsplit(""), None, None
    if (
        parts.scheme not in ("https", "http")
        or not host
        or re.search(r"[\x00-\x20\x7f-\uffff]", parts.netloc)
    ):
        raise ValueError(f"{name} must be an http or https address, such as https://keys.example.com")
    if parts.username is not None or parts.query or parts.fragment:
        raise ValueError(f"{name} must have no user, query or fragment")
    if re.search(r"/v1/*$", parts.path):
        raise ValueError(f"{name} ends in /v1, which this package adds: leave it out")
    if parts.scheme == "http" and not insecure and not is_local(host):
        raise ValueError(
            f"{name} is http, and {host} is not this machine: anyone on the network could read the secret "
            "key. Use https, or set insecure=True on a network that you trust"
        )
    shown = f"[{host}]" if ":" in host else host
    is_default = port is None or port == (443 if parts.scheme == "https" else 80)
    return parts._replace(netloc=shown if is_default else f"{shown}:{port}")


def _read_secret_key(value: object) -> "Tuple[Union[str, Callable[[], str]], str]":
    if callable(value):
        return value, "live"
    if value is not None:
        env = secret_key_env(value, "secret_key")
        return str(value), env
    given = _environment("KEYRAIL_SECRET_KEY")
    if given is None:
        raise ValueError("secret_key is not given, and KEYRAIL_SECRET_KEY is not set")
    return given, secret_key_env(given, "KEYRAIL_SECRET_KEY")


def _read_project(value: Optional[str]) -> str:
    if value is not None:
        return _read_uuid("project", value)
    given = _environment("KEYRAIL_PROJECT")
    if given is None:
        raise ValueError("project is not given, and KEYRAIL_PROJECT is not set")
    return _read_uuid("KEYRAIL_PROJECT", given)


def _read_uuid(name: str, value: object) -> str:
    text = value.lower() if isinstance(value, str) else ""
    if not _uuid.fullmatch(text):
        raise ValueError(f"{name} must be a uuid")
    return text


def _read_tenants(value: Iterable[str]) -> Tuple[str, ...]:
    if isinstance(value, (str, bytes)):
        raise ValueError("tenants must be a list of ids")
    ids = tuple(sorted({_read_uuid(f"tenants.{at}", each) for at, each in enumerate(value)}))
    if len(ids) > _TENANTS_MAX:
        raise ValueError(f"tenants takes at most {_TENANTS_MAX} tenants")
    return ids


def _read_seconds(name: str, value: object, least: float, most: float) -> float:
    """In milliseconds."""
    is_right = isinstance(value, (int, float)) and not isinstance(value, bool) and least <= value <= most
    if not is_right:
        raise ValueError(f"{name} must be a number of seconds from {least:g} to {most:g}")
    return float(value) * 1000  # type: ignore[arg-type]
