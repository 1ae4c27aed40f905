import unittest
from typing import Any

from keyrail.disk.snapshot_file import Loaded, Times, decode_snapshot, encode_snapshot
from keyrail.feed.apply import apply_delta
from keyrail.feed.body import Delta, read_feed_body
from keyrail.feed.kept import Kept
from keyrail.key_form import is_other_form

from .stage import PROJECT, WORKSPACE, draw_key
from .test_verdicts import SCOPE, key_of, serving

OLD = "old-key_of.another/system+1="


def delta_of(**more: Any) -> Delta:
    head = {
        "object": "policy_delta",
        "workspace_id": WORKSPACE,
        "project_id": PROJECT,
        "env": "live",
        "version": 8,
        "project_deleted": False,
        "generated_at": "2027-01-01T00:00:00Z",
        "since": 7,
        "changes": [],
    }
    read = read_feed_body({**head, **more}, SCOPE)
    assert isinstance(read, Delta)
    return read


class Imported(unittest.TestCase):
    def test_the_form_of_a_key_from_elsewhere(self) -> None:
        for text in ("x", "!", "~" * 512, OLD):
            self.assertTrue(is_other_form(text), text)
        for text in ("", "~" * 513, "a b", "a\n", "\x7f", "é", "ключ", "\ud800"):
            self.assertFalse(is_other_form(text), repr(text))

    def test_a_text_of_any_form_is_a_key_where_the_project_takes_them(self) -> None:
        verifier, served, world = serving(key_of(OLD, 1, env="live"))
        assert served.store is not None
        self.assertEqual(verifier.verify(OLD).code, "malformed_key")
        served.store.accepts_imported = True
        self.assertEqual(verifier.verify(OLD).code, "valid")
        self.assertEqual(verifier.verify(OLD, env="test").code, "wrong_env")
        self.assertEqual(verifier.verify(OLD, ["a"]).code, "insufficient_scope")
        self.assertEqual(verifier.verify("another").code, "unknown_key")
        self.assertEqual(verifier.verify("a b").code, "malformed_key")
        self.assertEqual(verifier.verify(draw_key("kr_test")).code, "wrong_env")
        served.store.evictions = 1
        self.assertEqual(verifier.verify("another").code, "not_held")
        world.at += 60_000
        self.assertEqual(verifier.verify(OLD).code, "stale")
        served.store = None
        self.assertEqual(verifier.verify(OLD).code, "not_ready")
        self.assertEqual(verifier.verify("a b").code, "malformed_key")

    def test_while_nobody_knows_whether_the_project_takes_them_each_text_may_be_a_key(self) -> None:
        verifier, served, world = serving(key_of(OLD, 1, env="live"))
        assert served.store is not None
        served.store.accepts_imported = None
        self.assertEqual(verifier.verify(OLD).code, "not_ready")
        self.assertEqual(verifier.verify("a b").code, "malformed_key")
        self.assertEqual(verifier.verify(draw_key()).code, "unknown_key")
        served.store.accepts_imported = False
        self.assertEqual(verifier.verify(OLD).code, "malformed_key")
        world.at += 60_000
        self.assertEqual(verifier.verify(OLD).code, "stale")
        self.assertEqual(verifier.verify("a b").code, "malformed_key")

    def test_a_delta_says_whether_the_project_takes_keys_from_elsewhere(self) -> None:
        _, served, _ = serving(key_of(OLD, 1, env="live"))
        store = served.store
        assert store is not None
        for more, accepts, is_odd in (
            ({"features": ["imported"], "accepts_imported": True}, True, False),
            # A process of before the feature does not say.
            ({}, True, False),
            ({"features": ["imported"]}, False, False),
            ({"accepts_imported": True}, True, False),
            ({"features": ["imported"], "accepts_imported": 1}, False, True),
            ({"features": ["imported"], "accepts_imported": None}, False, True),
        ):
            delta = delta_of(**more)
            apply_delta(delta, store, served.ended)
            self.assertEqual((store.accepts_imported, delta.is_imported_odd), (accepts, is_odd), more)
        for more in ({}, {"project_deleted": True}):
            store.accepts_imported, revision = None, store.revision
            apply_delta(delta_of(**more), store, served.ended)
            self.assertIs(store.accepts_imported, False)
            self.assertGreater(store.revision, revision)

    def test_a_file_says_whether_the_project_takes_keys_from_elsewhere(self) -> None:
        _, served, _ = serving(key_of(OLD, 1, env="live"))
        store = served.store
        assert store is not None
        for known, accepts in ((("imported",), True), (("imported",), False), ((), True), ((), None)):
            store.accepts_imported = accepts
            kept = Kept(store, 7, WORKSPACE, True, known)
            file = encode_snapshot(kept, SCOPE, Times(1.0, 1.0, None))
            self.assertEqual(b'"accepts_imported"' in file, accepts is True)
            loaded = decode_snapshot(file, SCOPE, 100)
            assert isinstance(loaded, Loaded), loaded
            self.assertIs(loaded.kept.store.accepts_imported, accepts)


if __name__ == "__main__":
    unittest.main()
