import gc
import sys
import tempfile
import threading
import unittest
import weakref
from typing import Any, Dict, List

from keyrail import Keyring, KeyrailError

from .stage import LIMIT, SECRET_KEY, Service, draw_key, id_of, until


class OnService(unittest.TestCase):
    """A service, and keyrings that end with the test."""

    def setUp(self) -> None:
        self.service = Service()
        self.addCleanup(self.service.close)

    def open(self, **more: Any) -> Keyring:
        keyring = Keyring(**self.service.options(**more))
        self.addCleanup(keyring.close, 0)
        return keyring


class Following(OnService):
    def test_keys_come_change_and_end(self) -> None:
        first = self.service.issue(1, scopes=["a"], meta={"plan": "gold"})
        keyring = self.open()
        keyring.ready(30)
        verdict = keyring.verify(first, scopes=["a"])
        self.assertEqual((verdict.code, verdict.key_id, verdict.external_id), ("valid", id_of(1), "acme"))
        self.assertEqual(verdict.meta, {"plan": "gold"})
        second = self.service.issue(2)
        until(lambda: keyring.verify(second).valid, "the second key is valid")
        self.service.revoke(1)
        until(lambda: not keyring.verify(first).valid, "the first key is refused")
        self.assertEqual(keyring.verify(first).code, "revoked_key")
        self.assertEqual(keyring.stats()["version"], self.service.version)

    def test_after_close_every_key_is_refused_and_no_thread_is_left(self) -> None:
        key = self.service.issue(1)
        with self.open() as keyring:
            keyring.ready(30)
            self.assertTrue(keyring.verify(key).valid)
        self.assertEqual(keyring.verify(key).code, "not_ready")
        until(
            lambda: not [each for each in threading.enumerate() if each.name == "keyrail-poll"],
            "no poll runs",
        )
        with self.assertRaises(KeyrailError) as raised:
            keyring.ready(30)
        self.assertEqual(raised.exception.code, "closed")
        keyring.close()

    def told(self) -> List[Dict[str, Any]]:
        return [each["query"] for each in self.service.asked if "leaving" in each["query"]]

    def test_a_node_that_closes_tells_the_service_once(self) -> None:
        self.service.issue(1)
        keyring = self.open()
        keyring.ready(30)
        keyring.close()
        keyring.close()
        self.assertEqual([(each["since"], each["leaving"]) for each in self.told()], [("2", "true")])

    def test_a_node_with_a_disk_or_a_name_of_its_own_tells_nothing(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            options: List[Dict[str, Any]] = [{"cache_dir": directory}, {"node": "api"}]
            for each in options:
                with self.open(**each) as keyring:
                    keyring.ready(30)
        self.assertEqual(self.told(), [])

    def test_a_lasting_error_ends_ready_and_a_passing_one_does_not(self) -> None:
        self.service.answer = lambda *_: (401, {"code": "unauthenticated", "detail": "No."})  # type: ignore
        with self.assertRaises(KeyrailError) as raised:
            self.open().ready(30)
        self.assertEqual(raised.exception.code, "unauthenticated")
        self.service.status = 503
        with self.assertRaises(KeyrailError) as raised:
            self.open().ready(0.3)
        self.assertEqual(raised.exception.code, "ready_timeout")
        self.assertIn("503 unavailable: Not now", str(raised.exception))

    def test_a_keyring_shows_no_secret(self) -> None:
        errors: List[KeyrailError] = []
        keyring = self.open(on_error=errors.append)
        told = {"code": "x", "detail": f"It was {SECRET_KEY}"}
        self.service.answer = lambda *_: (500, told)  # type: ignore
        until(lambda: errors, "an error is reported")
        self.assertNotIn(SECRET_KEY, repr(keyring) + repr(errors) + str(errors[0]) + repr(keyring.stats()))
        self.assertIn("[secret key]", str(errors[0]))

    def test_a_listener_that_raises_ends_nothing(self) -> None:
        key = self.service.issue(1)
        self.service.status = 503
        with self.assertLogs("keyrail"):
            keyring = self.open(on_error=lambda error: 1 / 0)
            until(lambda: keyring.stats()["polls"]["error"] > 0, "a poll has failed")
        self.service.status = None
        keyring.ready(30)
        self.assertTrue(keyring.verify(key).valid)

    def test_more_keys_than_it_may_hold_are_refused_at_the_start(self) -> None:
        for number in range(1, 5):
            self.service.issue(number)
        with self.assertRaises(KeyrailError) as raised:
            self.open(max_keys=3).ready(30)
        self.assertEqual(raised.exception.code, "policy_scope_too_large")


class Threads(OnService):
    def test_threads_verify_while_keys_change(self) -> None:
        lasting = self.service.issue(1)
        keyring = self.open()
        keyring.ready(30)
        over = threading.Event()
        wrong: List[str] = []

        def verify() -> None:
            while not over.is_set():
                verdict = keyring.verify(lasting)
                if not verdict.valid or verdict.key_id != id_of(1):
                    wrong.append(verdict.code)

        threads = [threading.Thread(target=verify) for _ in range(2)]
        for thread in threads:
            thread.start()
        for number in range(2, 8):
            key = self.service.issue(number)
            until(lambda: keyring.verify(key).valid, "the new key is valid")
            self.service.revoke(number)
            until(lambda: keyring.verify(key).code == "revoked_key", "it is revoked")
        over.set()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_no_request_is_lost_when_threads_count(self) -> None:
        key = self.service.issue(1)
        keyring = self.open(report_interval=0.1)
        keyring.ready(30)
        verdict = keyring.verify(key)
        # Threads take turns far more often, and so within a count.
        self.addCleanup(sys.setswitchinterval, sys.getswitchinterval())
        sys.setswitchinterval(1e-6)

        together = threading.Barrier(4)

        def count() -> None:
            together.wait()
            for _ in range(5_000):
                keyring.count(verdict)

        threads = [threading.Thread(target=count) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        keyring.close()
        self.assertEqual(sum(record["count"] for record in self.service.reported), 20_000)
        self.assertEqual({record["key_id"] for record in self.service.reported}, {id_of(1)})

    def test_a_closed_keyring_is_collected(self) -> None:
        keyring = Keyring(**self.service.options())
        keyring.ready(30)
        keyring.close()
        left = weakref.ref(keyring)
        del keyring
        until(lambda: gc.collect() >= 0 and left() is None, "nothing holds the keyring")


class Limits(OnService):
    def test_a_limit_is_charged_by_the_service_and_its_denial_remembered(self) -> None:
        key, free = self.service.issue(1, rate_limits=[LIMIT]), self.service.issue(2)
        keyring = self.open()
        keyring.ready(30)
        verdict = keyring.verify(key)
        self.assertEqual([keyring.limit(verdict).code for _ in range(2)], ["allowed", "allowed"])
        denied = [keyring.limit(verdict) for _ in range(3)]
        self.assertEqual({each.code for each in denied}, {"rate_limited"})
        self.assertEqual([each.source for each in denied], ["service", "remembered", "remembered"])
        self.assertEqual(self.service.checks, 3)
        self.assertEqual(keyring.limit(keyring.verify(free)).code, "no_limits")
        self.assertEqual(keyring.limit(keyring.verify(draw_key())).code, "misused")
        self.assertEqual(keyring.limit(verdict, cost=1_001).code, "misused")

    def test_without_the_service_the_option_decides(self) -> None:
        key = self.service.issue(1, rate_limits=[LIMIT])
        for choice, code in (("deny", "limits_unavailable"), ("allow", "unchecked")):
            self.service.status = None
            keyring = self.open(on_unavailable=choice)
            keyring.ready(30)
            self.service.status = 503
            self.assertEqual(keyring.limit(keyring.verify(key)).code, code)


if __name__ == "__main__":
    unittest.main()
