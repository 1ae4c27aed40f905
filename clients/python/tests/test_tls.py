import os
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import unittest
from typing import List
from unittest import mock
from urllib.parse import urlsplit

from keyrail.errors import KeyrailError
from keyrail.secret_key import check_secret_key
from keyrail.wire import connection
from keyrail.wire.call import Caller
from keyrail.world import World

from .stage import SECRET_KEY

NAME = "keys.keyrail.test"
ANSWER = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"


class Listener:
    """Gives each connection to a function."""

    def __init__(self, serve: "object") -> None:
        self._socket = socket.create_server(("127.0.0.1", 0))
        self.port = self._socket.getsockname()[1]
        self._serve = serve
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        while True:
            try:
                accepted, _ = self._socket.accept()
            except OSError:
                return
            threading.Thread(target=self._run, args=(accepted,), daemon=True).start()

    def _run(self, accepted: socket.socket) -> None:
        try:
            with accepted:
                self._serve(accepted)  # type: ignore[operator]
        except OSError:
            pass

    def close(self) -> None:
        self._socket.close()


def pump(source: socket.socket, target: socket.socket) -> None:
    try:
        while True:
            data = source.recv(65536)
            if not data:
                return
            target.sendall(data)
    except OSError:
        pass


class Tls(unittest.TestCase):
    """A server with a certificate for one name, and a proxy that knows where that name is."""

    def setUp(self) -> None:
        self.folder = tempfile.mkdtemp(prefix="keyrail-python-")
        self.addCleanup(shutil.rmtree, self.folder)
        self.certificate = os.path.join(self.folder, "certificate.pem")
        key = os.path.join(self.folder, "key.pem")
        make = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes"]
        make += ["-days", "2", "-subj", f"/CN={NAME}", "-addext", f"subjectAltName=DNS:{NAME}"]
        subprocess.run([*make, "-keyout", key, "-out", self.certificate], check=True, capture_output=True)
        self.context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.context.load_cert_chain(self.certificate, key)
        self.asked: List[str] = []
        self.server = Listener(self._answer)
        self.proxy = Listener(self._tunnel)
        self.addCleanup(self.server.close)
        self.addCleanup(self.proxy.close)

    def _answer(self, accepted: socket.socket) -> None:
        with self.context.wrap_socket(accepted, server_side=True) as tls:
            while tls.recv(65536):
                tls.sendall(ANSWER)

    def _tunnel(self, accepted: socket.socket) -> None:
        head = accepted.recv(65536).decode()
        self.asked.append(head)
        if NAME not in head:
            accepted.sendall(b"HTTP/1.1 403 Forbidden\r\nContent-Length: 0\r\n\r\n")
            return
        accepted.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        with socket.create_connection(("127.0.0.1", self.server.port)) as target:
            threading.Thread(target=pump, args=(target, accepted), daemon=True).start()
            pump(accepted, target)

    def result(self, url: str, **environment: str) -> str:
        with mock.patch.dict(os.environ, {**environment, "NO_PROXY": "", "no_proxy": ""}), mock.patch.object(
            connection, "_context", None
        ):
            caller = Caller(urlsplit(url), SECRET_KEY, check_secret_key, World())
            self.addCleanup(caller.close)
            try:
                texts = [caller.call("GET", "/v1/x", timeout_ms=20_000, max_bytes=10).text for _ in range(2)]
                return " ".join(texts)
            except KeyrailError as error:
                self.assertNotIn(SECRET_KEY, str(error))
                return str(error)

    def test_a_certificate_must_be_trusted_and_for_the_host(self) -> None:
        local = f"https://localhost:{self.server.port}"
        self.assertIn("certificate is not trusted or belongs to another host", self.result(local))
        wrong_host = self.result(local, SSL_CERT_FILE=self.certificate)
        self.assertIn("certificate is not trusted or belongs to another host", wrong_host)

    def test_a_server_without_tls_is_told_apart(self) -> None:
        plain = Listener(lambda accepted: accepted.sendall(ANSWER))
        self.addCleanup(plain.close)
        self.assertIn("it does not speak TLS", self.result(f"https://localhost:{plain.port}"))

    def test_the_proxy_of_the_environment_carries_one_connection_for_all_calls(self) -> None:
        proxy = f"http://me:a%20b@127.0.0.1:{self.proxy.port}"
        trusted = {"HTTPS_PROXY": proxy, "SSL_CERT_FILE": self.certificate}
        self.assertEqual(self.result(f"https://{NAME}", **trusted), "{} {}")
        self.assertEqual(len(self.asked), 1)
        self.assertIn(f"CONNECT {NAME}:443 ", self.asked[0])
        self.assertIn("Proxy-Authorization: Basic bWU6YSBi\r\n", self.asked[0])
        self.assertNotIn(SECRET_KEY, self.asked[0])

    def test_a_proxy_that_opens_no_way_is_named(self) -> None:
        proxy = f"http://127.0.0.1:{self.proxy.port}"
        refused = self.result("https://elsewhere.keyrail.test", HTTPS_PROXY=proxy)
        self.assertIn("the proxy of the environment opens no way to it", refused)
        self.assertIn(
            "is no http address", self.result(f"https://{NAME}", HTTPS_PROXY="socks5://127.0.0.1:1")
        )


if __name__ == "__main__":
    unittest.main()
