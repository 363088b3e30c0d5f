"""Serve the runs below a folder to a browser on this machine, as they grow. Nothing is written."""

import re
import socket
import sys
from contextlib import suppress
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit

from ..errors import UserError, one_line
from . import listing, page
from .library import Library
from .terminal import say

ADDRESS, PORT = "127.0.0.1", 8722
LOCAL_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?")
HTML, JSON, TEXT = "text/html", "application/json", "text/plain"
HEADERS = {
    "Content-Security-Policy": f"{page.policy(live=True)}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


def named(query: str) -> list[str]:
    """Return the runs that a query names. The bytes of a name need not be text; a form can send such a name only if it
    is quoted once more."""
    pairs = parse_qsl(query, errors="surrogateescape")
    return [
        unquote(value, errors="surrogateescape") if key == "quoted" else value
        for key, value in pairs
        if key in ("name", "quoted")
    ]


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 1024  # connections that wait to be accepted: further ones would be dropped

    def __init__(self, folder: Path, port: int = PORT, seconds: float = page.LIVE_SECONDS):
        self.library, self.seconds = Library(folder), seconds
        self._connections: set[Any] = set()
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"port {port} cannot be used: {reason}; choose another --port") from None

    def process_request(self, request: Any, client_address: Any) -> None:
        self._connections.add(request)
        super().process_request(request, client_address)

    def shutdown_request(self, request: Any) -> None:
        self._connections.discard(request)
        super().shutdown_request(request)

    def server_close(self) -> None:
        """Close the port and all connections. A browser opens some ahead of need: on one that stayed open, this server
        would answer what is meant for the next at the same port."""
        super().server_close()
        for connection in self._connections.copy():
            with suppress(OSError):  # it has just ended
                connection.shutdown(socket.SHUT_RDWR)
        self.library.close()

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        error = sys.exception()
        if error and not isinstance(error, (ConnectionError, TimeoutError)):  # the browser closed the connection
            say(f"teen: a request failed: {type(error).__name__}: {one_line(error)}", sys.stderr)


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "teen", ""
    timeout = 30  # seconds, for a request that never ends

    def do_GET(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not LOCAL_HOST.fullmatch(hosts[0].lower()):  # a foreign name that leads here
            return self._say(HTTPStatus.FORBIDDEN, "Only 127.0.0.1 and localhost are served here.")
        try:
            address = urlsplit(self.path)
        except ValueError:
            return self._say(HTTPStatus.BAD_REQUEST, "That is no address.")
        names, folder, seconds = named(address.query), str(self.server.library.root), self.server.seconds
        try:
            nothing_chosen = address.path == "/compare" and not names
            if address.path == "/" or nothing_chosen:
                runs = self.server.library.summaries()
                jobs = self.server.library.jobs()
                return self._send(listing.render(runs, folder, seconds, nothing_chosen, jobs), HTML)
            if address.path in ("/run", "/compare") and names:
                data, _ = self.server.library.data(names)
                return self._send(page.rendered(data, True, seconds, folder), HTML)
            if address.path == "/data" and names:
                data, tag = self.server.library.data(names)
                if self.headers.get("If-None-Match") == tag:
                    return self._send("", JSON, HTTPStatus.NOT_MODIFIED, ETag=tag)
                return self._send(data, JSON, ETag=tag)
        except KeyError:
            return self._say(HTTPStatus.NOT_FOUND, "There is no such run here.")
        return self._say(HTTPStatus.NOT_FOUND, "There is no such page.")

    def do_HEAD(self) -> None:
        self.do_GET()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # any other method
            return lambda: self._say(HTTPStatus.METHOD_NOT_ALLOWED, "This server only shows.", Allow="GET, HEAD")
        raise AttributeError(name)

    def _say(self, status: HTTPStatus, text: str, **headers: str) -> None:
        self._send(text + "\n", TEXT, status, **headers)

    def _send(self, text: str, kind: str, status: HTTPStatus = HTTPStatus.OK, **headers: str) -> None:
        content = text.encode(errors="replace")
        self.send_response(status)
        for name, value in {"Content-Type": f"{kind}; charset=utf-8", **headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def end_headers(self) -> None:
        for name, value in HEADERS.items():
            self.send_header(name, value)
        super().end_headers()

    def log_message(self, format: str, *arguments: Any) -> None:  # the terminal stays quiet
        pass
