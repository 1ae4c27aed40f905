import unittest
from typing import Any

from keyrail.feed.values import Scope, read_key
from keyrail.service_time import ServiceTime
from keyrail.store import Key, Store
from keyrail.verdict import REFUSALS
from keyrail.verify import Served, Verifier
from keyrail.world import World

from .stage import PROJECT, TENANT, draw_key, policy_key

SCOPE = Scope(PROJECT, "live", (), "http://127.0.0.1/")


class StillWorld(World):
    """Clocks that a test moves."""

    at = 1_000.0

    def wall(self) -> float:
        return 1_800_000_000_000 + self.at

    def monotonic(self) -> float:
        return self.at


def key_of(text: str, number: int, **more: Any) -> Key:
    read = read_key(policy_key(text, number, **more), SCOPE)
    assert isinstance(read, Key), read
    return read


def serving(*keys: Key) -> "tuple[Verifier, Served, StillWorld]":
    world, served = StillWorld(), Served()
    served.store = Store(100)
    for key in keys:
        served.store.upsert(key)
    served.store.confirm(world.at)
    return Verifier(served, "live", 60_000, ServiceTime(world), world), served, world


class Order(unittest.TestCase):
    def test_the_first_reason_that_applies_is_the_verdict(self) -> None:
        text = draw_key()
        expired = key_of(text, 1, expires_at="2020-01-01T00:00:00Z")
        verifier, served, world = serving(expired)
        store, served.store = served.store, None
        found = []

        def note(key: Any, **demands: Any) -> None:
            found.append(verifier.verify(key, **demands).code)

        note("")
        note("a b", env="test")
        note(text, env="test", scopes=["a"])
        note(text, scopes=["a"])
        served.store = store
        world.at += 60_000
        note(text, scopes=["a"])
        world.at -= 60_000
        assert store is not None
        store.evictions = 1
        note(draw_key())
        store.evictions = 0
        note(draw_key())
        note(text, scopes=["a"])
        served.ended.add(expired_record := store.records()[0], 0)
        store.remove(expired_record.key_id, None)
        note(text, scopes=["a"])
        valid = draw_key()
        store.upsert(key_of(valid, 2))
        note(valid, scopes=["a"])
        note(valid)
        expected = [
            "missing_key",
            "malformed_key",
            "wrong_env",
            "not_ready",
            "stale",
            "not_held",
            "unknown_key",
        ]
        expected += ["expired_key", "revoked_key", "insufficient_scope", "valid"]
        self.assertEqual(found, expected)
        self.assertEqual([code for code in REFUSALS if code in expected[:7]], expected[:7])

    def test_it_never_raises_and_refuses_what_it_cannot_judge(self) -> None:
        text = draw_key()
        verifier, _, _ = serving(key_of(text, 1, scopes=["a", "b"]))
        for odd in (7, b"kr", [], object(), text.encode()):
            self.assertEqual(verifier.verify(odd).code, "malformed_key")  # type: ignore[arg-type]
        for scopes in ("a", b"a", 7, [7], ["a", None], {"a", "c"}):
            self.assertEqual(verifier.verify(text, scopes).code, "insufficient_scope", scopes)  # type: ignore
        self.assertTrue(verifier.verify(text, ("a", "b")).valid)

    def test_the_edge_of_the_time_without_confirmation_is_refused(self) -> None:
        text = draw_key()
        verifier, _, world = serving(key_of(text, 1))
        world.at += 59_999
        self.assertEqual(verifier.verify(text).code, "valid")
        world.at += 1
        self.assertEqual(verifier.verify(text).code, "stale")


class Values(unittest.TestCase):
    def test_a_valid_verdict_has_the_data_of_the_key_as_copies(self) -> None:
        text = draw_key()
        limits = [{"id": "m", "limit": 1, "new": {"a": [1]}}]
        verifier, served, _ = serving(key_of(text, 1, meta={"plan": "gold"}, rate_limits=limits))
        assert served.store is not None
        served.store.set_tenant(TENANT, "acme")
        verdict = verifier.verify(text)
        assert verdict.meta is not None and verdict.limits is not None
        verdict.meta["plan"] = "free"
        verdict.limits.clear()
        again = verifier.verify(text)
        self.assertEqual((again.external_id, again.meta, again.limits), ("acme", {"plan": "gold"}, limits))
        self.assertIsNone(again.expires_at)

    def test_a_refused_verdict_has_no_data(self) -> None:
        verifier, _, _ = serving()
        with self.assertRaisesRegex(ValueError, "unknown_key"):
            verifier.verify(draw_key()).key_id


class Eviction(unittest.TestCase):
    def test_the_key_that_was_not_used_for_longest_makes_room(self) -> None:
        texts = [draw_key() for _ in range(4)]
        verifier, served, _ = serving()
        store = served.store = Store(3)
        store.confirm(1_000)
        for number, text in enumerate(texts[:3], 1):
            store.upsert(key_of(text, number))
        verifier.verify(texts[0])
        store.upsert(key_of(texts[3], 4))
        codes = [verifier.verify(text).code for text in texts]
        self.assertEqual(codes, ["valid", "not_held", "valid", "valid"])


if __name__ == "__main__":
    unittest.main()
