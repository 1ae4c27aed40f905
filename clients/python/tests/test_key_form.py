import unittest

from keyrail.key_form import read_key_form
from keyrail.options import read_settings
from keyrail.secret_key import secret_key_env

from .stage import PROJECT, SECRET_KEY, draw_key, with_checksum


class KeyForms(unittest.TestCase):
    def test_an_issued_key_has_the_environment_of_its_text(self) -> None:
        self.assertEqual(read_key_form(draw_key()), "live")
        self.assertEqual(read_key_form(draw_key("acme_test")), "test")

    def test_any_changed_character_is_malformed(self) -> None:
        key = draw_key()
        for at in range(len(key)):
            other = "b" if key[at] == "a" else "a"
            self.assertIsNone(read_key_form(key[:at] + other + key[at + 1 :]), at)

    def test_nothing_beside_the_form_passes(self) -> None:
        key = draw_key()
        for odd in (
            "",
            key + "\n",
            " " + key,
            key[:-1],
            key + "0",
            "\ud800" + key,
            key.replace("live", "prod"),
        ):
            self.assertIsNone(read_key_form(odd), repr(odd))
        for prefix in ("k", "1k", "K_", "k" * 17):
            self.assertIsNone(read_key_form(with_checksum(f"{prefix}_live_" + "0" * 32)), prefix)


class SecretKeys(unittest.TestCase):
    def test_a_mistake_is_named_and_shows_no_secret(self) -> None:
        for wrong, words in (
            (SECRET_KEY + "\n", "white space"),
            ("Bearer " + SECRET_KEY, "begins with Bearer"),
            (SECRET_KEY[:-1], "47 characters"),
            (draw_key(), "is an API key"),
            (f'"{SECRET_KEY}"', "quotation marks"),
            (None, "type NoneType"),
        ):
            with self.assertRaises(ValueError) as raised:
                secret_key_env(wrong, "secret_key")
            self.assertIn(words, str(raised.exception))
            self.assertNotIn(SECRET_KEY[10:-1], str(raised.exception))

    def test_settings_show_no_secret(self) -> None:
        settings = read_settings(url="http://127.0.0.1:1", secret_key=SECRET_KEY, project=PROJECT)
        self.assertNotIn(SECRET_KEY, repr(settings))
        self.assertNotIn(SECRET_KEY, str(settings))


class Options(unittest.TestCase):
    def test_a_wrong_option_is_named(self) -> None:
        right = {"url": "https://keys.example.com", "secret_key": SECRET_KEY, "project": PROJECT}
        for wrong, words in (
            ({"url": "http://keys.example.com"}, "is not this machine"),
            ({"url": "https://keys.example.com/v1"}, "leave it out"),
            ({"url": "https://u:p@keys.example.com"}, "no user"),
            ({"url": "https://keys.example.com:port"}, "http or https address"),
            ({"project": "payments"}, "project must be a uuid"),
            ({"env": "prod"}, "env must be"),
            ({"cached_ttl": 61}, "cached_ttl must be"),
            ({"cached_ttl": 4}, "greater than poll_interval"),
            ({"tenants": "all"}, "tenants must be a list"),
            ({"max_keys": 0}, "max_keys must be"),
            ({"cache_dir": ""}, "cache_dir must be"),
        ):
            with self.assertRaisesRegex(ValueError, words):
                read_settings(**{**right, **wrong})  # type: ignore[arg-type]

    def test_the_address_in_files_is_that_of_the_sdk(self) -> None:
        for given, expected in (
            ("https://Keys.Example.com", "https://keys.example.com/"),
            ("https://keys.example.com:443/a/", "https://keys.example.com/a/"),
            ("http://127.0.0.1:8080", "http://127.0.0.1:8080/"),
            ("http://[::1]:8080/x", "http://[::1]:8080/x"),
        ):
            settings = read_settings(url=given, secret_key=SECRET_KEY, project=PROJECT)
            self.assertEqual(settings.scope.service, expected)


if __name__ == "__main__":
    unittest.main()
