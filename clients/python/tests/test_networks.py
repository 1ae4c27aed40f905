import random
import threading
import unittest
from typing import Any, Optional

from keyrail.networks import Networks, read_address, read_networks
from keyrail.store import Store
from keyrail.verdict import refusal_status

from .stage import TENANT, draw_key
from .test_verdicts import key_of, serving


def networks(*texts: str) -> Networks:
    read = read_networks(list(texts))
    assert read is not None, texts
    return read


class Lists(unittest.TestCase):
    def test_a_key_has_its_own_networks_or_those_of_its_tenant(self) -> None:
        plain, own, free = draw_key(), draw_key(), draw_key()
        verifier, served, _ = serving(
            key_of(plain, 1, scopes=["a"]),
            key_of(own, 2, allowed_cidrs=["10.0.0.0/8"]),
            key_of(free, 3, allowed_cidrs=[]),
        )
        assert served.store is not None
        served.store.set_tenant_networks(TENANT, networks("2001:db8::/32"))
        for key, ip, code in (
            (plain, "2001:db8::1", "valid"),
            (plain, "10.0.0.1", "ip_not_allowed"),
            (plain, None, "ip_unknown"),
            (own, "10.0.0.1", "valid"),
            (own, "::ffff:10.0.0.1", "valid"),
            (own, "2001:db8::1", "ip_not_allowed"),
            (free, "10.0.0.1", "valid"),
            (free, None, "valid"),
        ):
            self.assertEqual(verifier.verify(key, ip=ip).code, code, (ip, code))
        self.assertEqual(verifier.verify(plain, ["b"], ip="10.0.0.1").code, "ip_not_allowed")
        self.assertEqual(verifier.verify(plain, ["b"], ip="2001:db8::1").code, "insufficient_scope")
        self.assertEqual([refusal_status(code) for code in ("ip_unknown", "ip_not_allowed")], [403, 403])

    def test_what_is_no_text_is_no_address(self) -> None:
        key = draw_key()
        verifier, _, _ = serving(key_of(key, 1, allowed_cidrs=["0.0.0.0/0", "::/0"]))
        for odd in (7, b"10.0.0.1", ["10.0.0.1"], object(), 167772161, "", "10.0.0.1\n", "٣.0.0.1"):
            self.assertEqual(verifier.verify(key, ip=odd).code, "ip_unknown", odd)  # type: ignore[arg-type]
        self.assertEqual(verifier.verify(key, ip="10.0.0.1").code, "valid")

    def test_a_key_without_networks_takes_no_memory_for_them_and_reads_no_address(self) -> None:
        plain, own = draw_key(), draw_key()
        verifier, served, _ = serving(key_of(plain, 1), key_of(own, 2, allowed_cidrs=["10.0.0.0/8"]))
        assert served.store is not None
        first, second = served.store.records()
        self.assertNotIn("networks", type(first).__slots__)
        self.assertEqual((first.networks, second.networks), (None, networks("10.0.0.0/8")))
        self.assertFalse(hasattr(first, "__dict__") or hasattr(second, "__dict__"))
        self.assertEqual(verifier.verify(plain, ip=object()).code, "valid")  # type: ignore[arg-type]

    def test_a_key_that_gets_its_own_networks_in_place_of_its_tenant_s_is_never_without(self) -> None:
        key = draw_key()
        verifier, served, _ = serving(key_of(key, 1))
        store = served.store
        assert store is not None
        store.set_tenant_networks(TENANT, networks("10.0.0.0/8"))
        own = key_of(key, 1, allowed_cidrs=["10.0.0.0/8"])
        over, codes = threading.Event(), set()

        def verify() -> None:
            while not over.is_set():
                codes.add(verifier.verify(key, ip="192.0.2.1").code)

        reader = threading.Thread(target=verify)
        reader.start()
        for _ in range(2_000):
            store.upsert(own)
            store.set_tenant_networks(TENANT, None)
            store.set_tenant_networks(TENANT, networks("10.0.0.0/8"))
            store.upsert(key_of(key, 1))
        over.set()
        reader.join()
        self.assertEqual(codes, {"ip_not_allowed"})

    def test_a_record_that_was_replaced_is_judged_anew(self) -> None:
        key = draw_key()
        verifier, served, _ = serving(key_of(key, 1))
        store = served.store
        assert store is not None
        networks_of = store.networks_of

        def change_meanwhile(record: Any) -> Optional[Networks]:
            store.networks_of = networks_of  # type: ignore[method-assign]
            store.upsert(key_of(key, 1, allowed_cidrs=["10.0.0.0/8"]))
            return networks_of(record)

        store.networks_of = change_meanwhile  # type: ignore[method-assign]
        self.assertEqual(verifier.verify(key, ip="192.0.2.1").code, "ip_not_allowed")

    def test_equal_lists_change_nothing(self) -> None:
        store = Store(10)
        store.set_tenant_networks("acme", networks("10.0.0.0/8"))
        revision = store.revision
        store.set_tenant_networks("acme", networks("10.0.0.0/8"))
        store.set_tenant_networks("beta", None)
        self.assertEqual(store.revision, revision)
        store.set_tenant_networks("acme", None)
        self.assertEqual((store.revision, store.tenant_networks), (revision + 1, {}))


# What the property compares with: addresses as texts of 32 or 128 digits, 0 and 1.


def bits_of(text: str) -> str:
    """Empty if it is no address."""
    if "%" in text:
        text, zone = text.split("%", 1)
        if ":" not in text or not zone or any(each in "%/ " for each in zone):
            return ""
    if ":" not in text:
        return decimal_bits(text)
    *groups, last = text.split(":")
    tail = decimal_bits(last)
    groups += [f"{int(tail[:16], 2):x}", f"{int(tail[16:], 2):x}"] if tail else [last]
    halves = ":".join(groups).split("::")
    if len(halves) > 2 or ":::" in ":".join(groups):
        return ""
    sides = [half.split(":") if half else [] for half in halves]
    if len(halves) == 2:
        missing = 8 - len(sides[0]) - len(sides[1])
        sides = [[*sides[0], *["0"] * missing, *sides[1]]] if missing > 0 else [[]]
    digits = ""
    for group in sides[0]:
        if not 1 <= len(group) <= 4 or any(each not in "0123456789abcdefABCDEF" for each in group):
            return ""
        digits += f"{int(group, 16):016b}"
    if len(digits) != 128:
        return ""
    return digits[96:] if digits.startswith("0" * 80 + "1" * 16) else digits


def decimal_bits(text: str) -> str:
    parts = text.split(".")
    if len(parts) != 4 or any(part not in _bytes for part in parts):
        return ""
    return "".join(f"{int(part):08b}" for part in parts)


_bytes = {str(number) for number in range(256)}


def text_of(bits: str) -> str:
    size, form, mark = (8, "d", ".") if len(bits) == 32 else (16, "x", ":")
    return mark.join(format(int(bits[at : at + size], 2), form) for at in range(0, len(bits), size))


def draw_address(chance: random.Random) -> str:
    """Near others: few groups differ, and some texts are no addresses."""
    if chance.random() < 0.3:
        parts = ["0", "10", "127", "128", "192", "255", "1", "256", "01", ""]
        return ".".join(chance.choice(parts[: chance.choice((7, 7, 7, 10))]) for _ in range(4))
    few = "0 1 ff ffff db8 2001 8000 FFFE 00 0000 c000  00001 g +1".split(" ")
    groups = [chance.choice(few[: chance.choice((11, 11, 12, 15))]) for _ in range(chance.randint(1, 9))]
    text = ":".join(groups)
    kind = chance.randrange(6)
    if kind == 0:
        return f"::{text}"
    if kind == 1:
        return f"::ffff:{draw_address(chance)}"
    if kind == 2:
        return text + chance.choice(["%eth0", "%", "%a%b", " ", "/8", ":1.2.3.4", "1.2.3.4", "::"])
    return text


class Property(unittest.TestCase):
    def test_an_address_is_in_a_range_if_its_first_bits_are_those_of_the_range(self) -> None:
        chance = random.Random(7)
        compared = within = 0
        for _ in range(60_000):
            address, other = draw_address(chance), bits_of(draw_address(chance))
            bits = bits_of(address)
            self.assertEqual(read_address(address) is not None, bits != "", repr(address))
            if not bits or not other:
                continue
            length = chance.randint(0, len(other) // chance.choice((1, 4)))
            first = other[:length].ljust(len(other), "0")
            if first.startswith("0" * 80 + "1" * 16):
                continue
            text = f"{text_of(first)}/{length}"
            is_within = len(bits) == len(other) and bits.startswith(other[:length])
            refusal = networks(text).refusal(address)
            self.assertEqual(refusal, None if is_within else "ip_not_allowed", (address, text))
            compared, within = compared + 1, within + is_within
            if "1" in other[length:]:
                self.assertIsNone(read_networks([f"{text_of(other)}/{length}"]))
        self.assertTrue(compared > 5_000 and within > 500, (compared, within))


if __name__ == "__main__":
    unittest.main()
