"""The parts of a node, on one clock and without threads. `keyring.py` runs them."""

from __future__ import annotations

import threading
from typing import Optional

from .disk.cache import DiskCache
from .feed.client import FeedClient
from .feed.kept import Kept
from .feed.poller import Poller
from .feed.sync import Sync
from .limits.limiter import Limiter
from .options import Settings
from .reports import Reports
from .secret_key import check_secret_key
from .service_time import ServiceTime
from .usage.counts import UsageCounts
from .usage.sender import UsageSender
from .verify import Served, Verifier
from .wire.call import Abort, Caller
from .world import World


class Node:
    def __init__(self, settings: Settings, world: World) -> None:
        self.settings = settings
        self.world = world
        self.name = settings.node_name()
        #: `service`, or `disk` until the service has answered; None before there are keys.
        self.source: Optional[str] = None
        self.served = Served()
        self.time = ServiceTime(world)
        self.reports = Reports(settings.on_error)
        self.caller = Caller(settings.url, settings.secret_key, check_secret_key, world)
        self._open_feed()
        self._open_calls()

    def _open_feed(self) -> None:
        settings, world, served = self.settings, self.world, self.served
        self.verifier = Verifier(served, settings.env, settings.cached_ttl_ms, self.time, world)
        self.client = FeedClient(self.caller, settings.scope, settings.max_keys, self.name)
        self.sync = Sync(
            client=self.client,
            world=world,
            scope=settings.scope,
            cached_ttl_ms=settings.cached_ttl_ms,
            max_keys=settings.max_keys,
            served=served,
            time=self.time,
            on_odd=self.reports.error,
            on_held=lambda keys: self.reports.holds(keys, settings.max_keys),
        )
        self.poller = Poller(
            sync=self.sync,
            served=served,
            world=world,
            poll_interval_ms=settings.poll_interval_ms,
            reports=self.reports,
            on_polled=self._keep,
        )
        self.disk: Optional[DiskCache] = None
        if settings.cache_dir is not None:
            self.disk = DiskCache(
                directory=settings.cache_dir,
                scope=settings.scope,
                max_keys=settings.max_keys,
                cached_ttl_ms=settings.cached_ttl_ms,
                world=world,
                time=self.time,
                notice=self.reports.notice,
            )

    def _open_calls(self) -> None:
        settings = self.settings
        self.limiter = Limiter(
            caller=self.caller,
            project=settings.scope.project_id,
            node=self.name,
            timeout_ms=settings.limit_timeout_ms,
            lets_pass=settings.lets_pass,
            reports=self.reports,
            world=self.world,
        )
        self._open_usage()

    def _open_usage(self) -> None:
        self.counts = UsageCounts()
        self.sender = UsageSender(
            caller=self.caller, counts=self.counts, time=self.time, reports=self.reports, world=self.world
        )

    def begin(self) -> None:
        """Takes what an earlier process left on the disk."""
        resumed = None if self.disk is None else self.disk.load()
        if resumed is None:
            return
        self.sync.resume(resumed.kept)
        self.source = "disk"
        if resumed.is_fresh:
            self.time.resume(resumed.service_now)
            self.poller.set_ready()

    def save(self, kept: Optional[Kept]) -> None:
        """Writes what is not yet on the disk."""
        if self.disk is not None:
            self.disk.close(kept)

    def renew(self) -> None:
        """After a fork: connections, counts and name of the parent belong to the parent."""
        self.name = self.settings.node_name()
        self.client.node = self.limiter.node = self.name
        self.client.abort = Abort()
        self.sync.closing = threading.Event()
        self.caller.renew()
        self.limiter.renew()
        self.poller.renew()
        self._open_usage()

    def _keep(self) -> None:
        self.source = "service"
        kept = self.sync.kept
        if self.disk is not None and kept is not None:
            self.disk.keep(kept)
