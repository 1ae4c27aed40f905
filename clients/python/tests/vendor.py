"""
Serves an example of the README, or another program of a vendor, on a free port of this machine, and prints
the port. `vendor.py KIND FILE`: `wsgi` (`application`), `asgi` (`app`), `flask` (`app`), `django` (the view
`orders`), or `django-middleware` (the view behind the middleware alone).
"""

from __future__ import annotations

import importlib.util
import signal
import socket
import sys
import threading
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, make_server


class Quiet(WSGIRequestHandler):
    def log_message(self, *_: Any) -> None:
        pass


def load(path: str) -> Any:
    spec = importlib.util.spec_from_file_location("vendor_app", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["vendor_app"] = module
    spec.loader.exec_module(module)
    return module


def serve_wsgi(application: Any) -> None:
    with make_server("127.0.0.1", 0, application, handler_class=Quiet) as server:
        # The interpreter ends by itself, and so sends what was counted. `sys.exit` here would be lost within a
        # request: wsgiref catches every exception.
        signal.signal(signal.SIGTERM, lambda *_: threading.Thread(target=server.shutdown).start())
        print(f"listens on {server.server_port}", flush=True)
        server.serve_forever(0.05)


def serve_asgi(app: Any) -> None:
    import uvicorn

    listening = socket.create_server(("127.0.0.1", 0))
    print(f"listens on {listening.getsockname()[1]}", flush=True)
    uvicorn.Server(uvicorn.Config(app, log_level="warning", lifespan="off")).run(sockets=[listening])


def django_app(path: str, options: "dict[str, Any]") -> Any:
    import django
    from django.conf import settings
    from django.core.wsgi import get_wsgi_application
    from django.urls import path as route

    settings.configure(ROOT_URLCONF="vendor_urls", ALLOWED_HOSTS=["*"], SECRET_KEY="x" * 50, **options)
    django.setup()
    module = load(path)
    urls = type(sys)("vendor_urls")
    urls.urlpatterns = [route("orders", module.orders)]  # type: ignore[attr-defined]
    sys.modules["vendor_urls"] = urls
    return get_wsgi_application()


MIDDLEWARE = {
    "MIDDLEWARE": ["keyrail.django.KeyrailMiddleware"],
    "KEYRAIL_OPTIONS": {"scopes": ["orders:read"]},
}


def main(kind: str, path: str) -> None:
    if kind == "wsgi":
        serve_wsgi(load(path).application)
    elif kind == "asgi":
        serve_asgi(load(path).app)
    elif kind == "flask":
        serve_wsgi(load(path).app.wsgi_app)
    else:
        serve_wsgi(django_app(path, MIDDLEWARE if kind == "django-middleware" else {}))


if __name__ == "__main__":
    main(*sys.argv[1:])
