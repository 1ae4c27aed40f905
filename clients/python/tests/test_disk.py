import hashlib
import json
import os
import stat
import tempfile
import unittest
from pathlib import Path
from typing import Any, List, Optional

from keyrail.disk.cache import DiskCache, Resumed
from keyrail.disk.snapshot_file import Loaded, Times, decode_snapshot, encode_snapshot
from keyrail.feed.kept import Kept
from keyrail.networks import UNREADABLE, read_networks
from keyrail.service_time import ServiceTime
from keyrail.store import Store

from .stage import PROJECT, TENANT, WORKSPACE, draw_key, id_of
from .test_verdicts import SCOPE, StillWorld, key_of

NAME = f"policy-{PROJECT}-live"


class PassingWorld(StillWorld):
    def __init__(self) -> None:
        self.up = 500_000.0

    def uptime(self) -> float:
        return self.up + self.at


MISSING = object()


def with_header(file: bytes, **members: Any) -> bytes:
    """The file with other members in its header."""
    length = int.from_bytes(file[24:28], "little")
    header = {**json.loads(file[28 : 28 + length]), **members}
    text = json.dumps({name: value for name, value in header.items() if value is not MISSING}).encode()
    head = file[:24] + len(text).to_bytes(4, "little") + text
    body = head + bytes(-len(head) % 64) + file[-(-(28 + length) // 64) * 64 : -32]
    return body + hashlib.sha256(body).digest()


class Disk(unittest.TestCase):
    def setUp(self) -> None:
        self.root = tempfile.mkdtemp(prefix="keyrail-python-")
        self.addCleanup(lambda: __import__("shutil").rmtree(self.root))
        self.directory = os.path.join(self.root, "a", "cache")
        self.world = PassingWorld()
        self.notices: List[str] = []

    def cache(self, **more: Any) -> DiskCache:
        time = ServiceTime(self.world)
        time.observe(self.world.wall())
        own = {"directory": self.directory, "scope": SCOPE, "max_keys": 100, "cached_ttl_ms": 60_000}
        notice = lambda code, _: self.notices.append(code)  # noqa: E731
        return DiskCache(**{**own, "world": self.world, "time": time, "notice": notice, **more})

    def save(self) -> Store:
        store = Store(100)
        store.upsert(key_of(draw_key(), 1, scopes=["a"], meta={"plan": "gold"}, rate_limits=[{"id": "m"}]))
        store.upsert(key_of(draw_key(), 2, expires_at="2030-01-01T00:00:00.5Z"))
        store.upsert(key_of(draw_key(), 3, key_id="not a uuid", meta=None))
        store.set_tenant(TENANT, "acme")
        store.set_suspended("beta", True)
        store.upsert(key_of(draw_key(), 4, allowed_cidrs=["10.0.0.0/8"]))
        store.upsert(key_of(draw_key(), 5, allowed_cidrs=[]))
        store.set_tenant_networks("acme", read_networks(["10.0.0.0/8"]))
        store.set_tenant_networks("beta", UNREADABLE)
        store.confirm(self.world.at)
        cache = self.cache()
        cache.load()
        cache.close(Kept(store, 7, WORKSPACE, True, SCOPE.features))
        return store

    def load(self, **more: Any) -> Optional[Resumed]:
        return self.cache(**more).load()

    def test_the_next_process_has_every_key_as_it_was(self) -> None:
        store = self.save()
        self.world.at += 59_999
        resumed = self.load()
        assert resumed is not None
        self.assertTrue(resumed.is_fresh)
        self.assertEqual(resumed.kept[1:], (7, WORKSPACE, True, SCOPE.features))
        self.assertEqual(resumed.service_now, self.world.wall())
        for one, other in zip(store.records(), resumed.kept.store.records()):
            for name in ("digest", "key_id", "env", "scopes", "end", "meta", "used", "networks"):
                self.assertEqual(getattr(one, name), getattr(other, name), name)
            self.assertEqual(one.limits and one.limits.text, other.limits and other.limits.text)
            self.assertEqual(other.tenant.external_id, "acme")
        self.assertEqual(resumed.kept.store.suspended, {"beta"})
        ten = read_networks(["10.0.0.0/8"])
        networks = [record.networks for record in resumed.kept.store.records()]
        self.assertEqual(networks, [None, None, None, ten, read_networks([])])
        self.assertEqual(resumed.kept.store.tenant_networks, {"acme": ten, "beta": UNREADABLE})
        self.world.at += 1
        resumed = self.load()
        assert resumed is not None
        self.assertFalse(resumed.is_fresh)
        self.assertEqual(self.notices, [])

    def test_only_the_owner_reads_the_files(self) -> None:
        self.save()
        self.assertEqual(stat.S_IMODE(os.lstat(self.directory).st_mode), 0o700)
        self.assertEqual(os.listdir(self.directory), [NAME])
        self.assertEqual(stat.S_IMODE(os.lstat(os.path.join(self.directory, NAME)).st_mode), 0o600)

    def test_a_damaged_file_is_refused_whichever_byte_it_is(self) -> None:
        self.save()
        path = Path(self.directory, NAME)
        whole = path.read_bytes()
        for at in range(0, len(whole), 7):
            path.write_bytes(whole[:at] + bytes([whole[at] ^ 1]) + whole[at + 1 :])
            self.assertIsNone(self.load(), at)
        for length in (0, 10, 40, len(whole) - 1):
            path.write_bytes(whole[:length])
            self.assertIsNone(self.load(), length)
        self.assertEqual(set(self.notices), {"disk_file_refused"})

    def test_no_key_loses_its_networks_by_a_file_that_lacks_them(self) -> None:
        store = Store(10)
        key = draw_key()
        store.upsert(key_of(key, 1, allowed_cidrs=["10.0.0.0/8"]))
        times = Times(1.0, 1.0, None)
        whole = encode_snapshot(Kept(store, 7, WORKSPACE, True, SCOPE.features), SCOPE, times)
        right = {"lists": [["10.0.0.0/8"]], "keys": [[0, 0]], "tenants": []}
        self.assertIsInstance(decode_snapshot(with_header(whole, allowed_cidrs=right), SCOPE, 10), Loaded)
        for wrong in (
            MISSING,
            None,
            {},
            {**right, "lists": ["10.0.0.0/8"]},
            {**right, "lists": [["10.0.0.0/8"], ["10.0.0.0/8"]]},
            {**right, "lists": [["10.0.0.1/8"]]},
            {**right, "keys": [[1, 0]]},
            {**right, "keys": [[0, 1]]},
            {**right, "keys": [[0, None]]},
            {**right, "tenants": [["acme", 1]]},
            {**right, "tenants": [["acme", True]]},
            {**right, "lists": [["10.0.0.0/8"], []], "tenants": [["acme", 1]]},
        ):
            file = with_header(whole, allowed_cidrs=wrong)
            self.assertNotIsInstance(decode_snapshot(file, SCOPE, 10), Loaded, wrong)
        # Written before the feature: the service gave that node no key with networks.
        before = {"asked": ["suspended"], "known": ["suspended"]}
        old = decode_snapshot(with_header(whole, allowed_cidrs=MISSING, features=before), SCOPE, 10)
        assert isinstance(old, Loaded)
        self.assertEqual(old.kept.features, ("suspended",))
        # Read before the feature.
        former = SCOPE._replace(features=("external_id", "key_meta", "suspended"))
        self.assertNotIsInstance(decode_snapshot(whole, former, 10), Loaded)

    def test_a_file_for_others_is_refused(self) -> None:
        self.save()
        self.assertIsNone(self.load(scope=SCOPE._replace(service="http://127.0.0.2/")))
        self.assertIsNone(self.load(scope=SCOPE._replace(tenant_ids=(TENANT,))))
        self.assertIsNone(self.load(max_keys=2))
        self.assertEqual(self.notices, ["disk_file_refused", "disk_scope_mismatch", "disk_scope_mismatch"])

    def test_a_directory_that_others_can_write_to_is_not_used(self) -> None:
        os.makedirs(self.directory)
        os.chmod(self.directory, 0o777)
        self.assertIsNone(self.load())
        os.rmdir(self.directory)
        os.symlink(self.root, self.directory)
        self.assertIsNone(self.load())
        self.assertIsNone(self.load(directory=self.directory + "/"))
        os.unlink(self.directory)
        Path(self.directory).touch()
        self.assertIsNone(self.load())
        self.assertEqual(self.notices, ["disk_unusable"] * 4)

    def test_clocks_that_were_set_make_no_file_fresh(self) -> None:
        self.save()
        self.world.at += 120_000
        self.world.wall = lambda: 1_800_000_000_000 + 30_000  # type: ignore[method-assign]
        resumed = self.load()
        self.assertEqual(resumed and resumed.is_fresh, False)
        self.world.at -= 120_000
        self.world.wall = lambda: 1_700_000_000_000  # type: ignore[method-assign]
        resumed = self.load()
        self.assertEqual(resumed and resumed.is_fresh, False)

    def test_between_changes_only_the_confirmation_is_written(self) -> None:
        self.save()
        cache = self.cache()
        resumed = cache.load()
        assert resumed is not None
        before = Path(self.directory, NAME).read_bytes()
        self.world.at += 50_000
        resumed.kept.store.confirm(self.world.at)
        cache.keep(resumed.kept)
        self.assertEqual(Path(self.directory, NAME).read_bytes(), before)
        self.assertEqual(sorted(os.listdir(self.directory)), [NAME, f"{NAME}.confirmed"])
        self.world.at += 50_000
        again = self.load()
        self.assertEqual(again and again.is_fresh, True)
        Path(self.directory, f"{NAME}.confirmed").write_text("{}")
        again = self.load()
        self.assertEqual(again and again.is_fresh, False)

    def test_an_id_that_is_no_uuid_has_the_hash_of_the_sdk(self) -> None:
        from keyrail.disk.key_ids import pack_id, unpack_id

        self.assertEqual(pack_id("a")[0], (0x61 * 0x01000193 & 0xFFFFFFFF).to_bytes(4, "little") + bytes(12))
        packed, is_uuid = pack_id(id_of(1))
        self.assertEqual((unpack_id(memoryview(packed)), is_uuid), (id_of(1), True))


if __name__ == "__main__":
    unittest.main()
