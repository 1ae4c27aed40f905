import socket
import threading
import time
import tracemalloc
import unittest
import zlib
from typing import Any, Callable, List
from urllib.parse import urlsplit

from keyrail.errors import KeyrailError
from keyrail.secret_key import check_secret_key
from keyrail.wire.call import Abort, Caller
from keyrail.wire.parse import as_integer, parse_json
from keyrail.world import World

from .stage import SECRET_KEY

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"


class Server:
    """Gives each request on each connection to a function."""

    def __init__(self, serve: Callable[[socket.socket], None]) -> None:
        self.connections: List[socket.socket] = []
        self._serve = serve
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._socket.accept()
            except OSError:
                return
            self.connections.append(connection)
            threading.Thread(target=self._run, args=(connection,), daemon=True).start()

    def _run(self, connection: socket.socket) -> None:
        try:
            while connection.recv(65536):
                self._serve(connection)
        except OSError:
            pass

    def close(self) -> None:
        self._socket.close()
        for connection in self.connections:
            connection.close()


class Wire(unittest.TestCase):
    def caller(self, serve: Callable[[socket.socket], None]) -> Caller:
        self.server = Server(serve)
        self.addCleanup(self.server.close)
        caller = Caller(urlsplit(self.server.url), SECRET_KEY, check_secret_key, World())
        self.addCleanup(caller.close)
        return caller

    def code_of(self, caller: Caller, **more: Any) -> str:
        try:
            caller.call("GET", "/v1/x", **{"timeout_ms": 20_000, "max_bytes": 1_000, **more})
        except KeyrailError as error:
            self.assertNotIn(SECRET_KEY, str(error) + repr(error))
            return error.code
        return "answered"

    def test_a_kept_connection_is_used_again_and_a_dropped_one_is_not(self) -> None:
        caller = self.caller(lambda each: each.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}"))
        self.assertEqual([self.code_of(caller) for _ in range(3)], ["answered"] * 3)
        self.assertEqual(len(self.server.connections), 1)
        self.server.connections[0].shutdown(socket.SHUT_RDWR)
        self.assertEqual(self.code_of(caller), "answered")
        self.assertEqual(len(self.server.connections), 2)

    def test_bytes_that_trickle_do_not_move_the_deadline(self) -> None:
        for start in (b"", HEAD, HEAD + b"Content-Length: 900\r\n\r\n{"):

            def trickle(each: socket.socket) -> None:
                each.sendall(start)
                while True:
                    each.sendall(b"x")
                    time.sleep(0.01)

            self.assertEqual(self.code_of(self.caller(trickle), timeout_ms=300), "timeout", start)

    def test_a_body_is_bounded_also_a_compressed_one(self) -> None:
        bomb = zlib.compressobj(wbits=31)
        packed = bomb.compress(bytes(50_000_000)) + bomb.flush()
        length = f"Content-Length: {len(packed)}\r\n\r\n".encode()
        zipped = HEAD + b"Content-Encoding: gzip\r\n" + length + packed
        caller = self.caller(lambda each: each.sendall(zipped))
        tracemalloc.start()
        self.addCleanup(tracemalloc.stop)
        self.assertEqual(self.code_of(caller), "response_too_large")
        self.assertLess(tracemalloc.get_traced_memory()[1], 5_000_000)
        plain = HEAD + b"Content-Length: 1001\r\n\r\n" + bytes(1001)
        self.assertEqual(self.code_of(self.caller(lambda each: each.sendall(plain))), "response_too_large")

    def test_a_body_that_ends_early_is_no_answer(self) -> None:
        def cut(each: socket.socket) -> None:
            each.sendall(HEAD + b"Content-Length: 9\r\n\r\n{}")
            each.shutdown(socket.SHUT_RDWR)

        self.assertEqual(self.code_of(self.caller(cut)), "network_error")

    def test_redirects_and_pages_are_refused(self) -> None:
        moved = b"HTTP/1.1 302 Found\r\nLocation: https://evil.example/?secret\r\nContent-Length: 0\r\n\r\n"
        self.assertEqual(self.code_of(self.caller(lambda each: each.sendall(moved))), "network_error")
        page = HEAD + b"Content-Length: 6\r\n\r\n<html>"
        self.assertEqual(self.code_of(self.caller(lambda each: each.sendall(page))), "bad_response")

    def test_an_abort_from_another_thread_ends_a_call_at_once(self) -> None:
        caller, abort = self.caller(lambda _: None), Abort()
        codes: List[str] = []
        thread = threading.Thread(
            target=lambda: codes.append(self.code_of(caller, timeout_ms=60_000, abort=abort))
        )
        thread.start()
        while not self.server.connections:
            time.sleep(0.01)
        abort.set()
        thread.join(30)
        self.assertEqual(codes, ["aborted"])

    def test_nobody_listens(self) -> None:
        with socket.create_server(("127.0.0.1", 0)) as free:
            port = free.getsockname()[1]
        caller = Caller(urlsplit(f"http://127.0.0.1:{port}"), SECRET_KEY, check_secret_key, World())
        self.assertEqual(self.code_of(caller), "network_error")


class Json(unittest.TestCase):
    def test_what_is_no_json_or_too_much_of_it_is_none(self) -> None:
        for text in ("", "{", "NaN", '{"a":Infinity}', "[" * 200_000, '{"a":' * 200_000, "\ufeff{}", "{} {}"):
            self.assertIsNone(parse_json(text), text[:20])
        self.assertEqual(parse_json('{"a":1,"a":2}'), {"a": 2})
        self.assertEqual(parse_json("[" + "9" * 5_000 + "]"), [float("inf")])

    def test_json_has_one_kind_of_number(self) -> None:
        found = [as_integer(each) for each in (7, 7.0, -1, True, 7.5, 2**53, float("inf"), "7", None)]
        self.assertEqual(found, [7, 7, -1, None, None, None, None, None, None])


if __name__ == "__main__":
    unittest.main()
