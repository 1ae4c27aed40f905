import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, List
from unittest.mock import patch

from keyrail import Keyring, KeyrailError
from keyrail.disk.cache import DiskCache
from keyrail.feed.body import read_feed_body

from .test_keyring import OnService


class Close(OnService):
    def check_closed_within(self, what: str, work: Callable[..., Any], **more: Any) -> Keyring:
        """A keyring that is closed while its thread has just done the work, and whose thread then goes on."""
        key = self.service.issue(9)
        done, closed = threading.Event(), threading.Event()

        def slow(*args: Any) -> Any:
            result = work(*args)
            done.set()
            closed.wait(30)
            return result

        with patch(what, slow):
            keyring = self.open(**more)
            self.assertTrue(done.wait(30))
            keyring.close(0)
            closed.set()
            keyring._polling.join(30)
        self.assertEqual(keyring.verify(key).code, "not_ready")
        self.assertEqual((keyring.stats()["keys"], keyring.stats()["serving"]), (0, False))
        return keyring

    def test_an_answer_that_arrives_as_it_closes_brings_no_key_back(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            self.check_closed_within("keyrail.feed.sync.read_feed_body", read_feed_body, cache_dir=directory)
            self.assertEqual(list(Path(directory).iterdir()), [])

    def test_a_copy_on_disk_that_is_read_as_it_closes_brings_no_key_back(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            key = self.service.issue(1)
            with self.open(cache_dir=directory) as keyring:
                keyring.ready(30)
            errors: List[KeyrailError] = []
            more: Dict[str, Any] = {"cache_dir": directory, "on_error": errors.append}
            keyring = self.check_closed_within("keyrail.disk.cache.DiskCache.load", DiskCache.load, **more)
            self.assertEqual((keyring.verify(key).code, errors), ("not_ready", []))

    def test_a_child_of_a_process_that_closes_has_no_keys(self) -> None:
        key = self.service.issue(1)
        keyring = self.open()
        keyring.ready(30)
        # As far as a close may be when another thread forks.
        keyring._node.sync.closing.set()
        keyring._polling.join(30)
        with patch.object(keyring, "_is_closed", True):
            keyring.begin_after_fork()
        self.assertEqual(keyring.verify(key).code, "not_ready")


if __name__ == "__main__":
    unittest.main()
