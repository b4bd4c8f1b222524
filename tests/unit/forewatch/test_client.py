"""The client of the service's socket."""

import ssl
import threading
from http.server import BaseHTTPRequestHandler
from socketserver import UnixStreamServer

import pytest

from forewatch.client import Client


class Answering(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b'{"accounts": 1}')

    def address_string(self) -> str:
        return "a socket"  # which has no address

    def log_message(self, format: str, *arguments: object) -> None:
        pass


def test_no_certificates_are_loaded_for_a_socket_of_this_machine(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """That took most of the time of a command that asks the service."""

    def refuse(self: ssl.SSLContext, *arguments: object, **named: object) -> None:
        raise AssertionError("certificates are loaded")

    monkeypatch.setattr(ssl.SSLContext, "load_verify_locations", refuse)
    path = tmp_path_factory.mktemp("h") / "s"  # short: the path of a socket has a limit
    with UnixStreamServer(str(path), Answering) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            assert Client(path).get("/status") == {"accounts": 1}
        finally:
            server.shutdown()
            thread.join()
