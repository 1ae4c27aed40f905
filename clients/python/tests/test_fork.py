import os
import subprocess
import sys
import unittest
from pathlib import Path

from .stage import Service, until

PROGRAM = """
import os, sys, time
from keyrail import Keyring
url, secret, project, key = sys.argv[1:]
keyring = Keyring(url=url, secret_key=secret, project=project, poll_interval=0.1, cached_ttl=2)
keyring.ready(30)
parent = keyring.stats()["node"]
keyring.count(keyring.verify(key))
children = []
for _ in range(3):
    child = os.fork()
    if child == 0:
        assert keyring.stats()["node"] != parent
        assert keyring.stats()["usage_pending"] == 0, "the parent reports what it has counted"
        verdict = keyring.verify(key)
        assert verdict.valid, verdict
        keyring.count(verdict)
        # A child that did not poll by itself would refuse the key as stale after two seconds.
        while keyring.verify(key).valid:
            time.sleep(0.01)
        assert keyring.verify(key).code == "revoked_key", keyring.verify(key)
        keyring.close()
        os._exit(0)
    children.append(child)
print("forked", flush=True)
for child in children:
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
keyring.close()
print("ended", flush=True)
"""


@unittest.skipUnless(hasattr(os, "fork"), "this system has no fork")
class Fork(unittest.TestCase):
    def test_each_child_follows_the_service_by_itself(self) -> None:
        service = Service()
        self.addCleanup(service.close)
        key = service.issue(1)
        options = service.options()
        source = str(Path(__file__).resolve().parents[1])
        child = subprocess.Popen(
            [sys.executable, "-c", PROGRAM, options["url"], options["secret_key"], options["project"], key],
            stdout=subprocess.PIPE,
            env={**os.environ, "PYTHONPATH": source, "PYTHONDONTWRITEBYTECODE": "1"},
            text=True,
        )
        assert child.stdout is not None
        self.assertEqual(child.stdout.readline(), "forked\n")
        until(lambda: len(service.nodes()) == 4, "the parent and three children have polled")
        # Longer than keys are served without a confirmation, by the polls of all four.
        seen = len(service.asked)
        until(lambda: len(service.asked) > seen + 4 * 25, "all have polled for more than two seconds")
        service.revoke(1)
        self.assertEqual(child.stdout.read(), "ended\n")
        self.assertEqual(child.wait(), 0)
        child.stdout.close()
        self.assertEqual(sum(record["count"] for record in service.reported), 4)
        told = [each["query"]["node"] for each in service.asked if "leaving" in each["query"]]
        self.assertEqual(len(told), 3, "each child tells its end, and the parent does not")
        self.assertNotIn(service.asked[0]["query"]["node"], told)


if __name__ == "__main__":
    unittest.main()
