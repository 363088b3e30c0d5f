"""`teen serve`: the runs below a folder in a browser on this machine, as they grow. It reads, and never writes."""

import json
import re
import sys
from collections.abc import Sequence
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

from ..errors import UserError
from . import listing, page
from .library import Library

ADDRESS, PORT = "127.0.0.1", 8722
OWN_HOST = re.compile(r"(127\.0\.0\.1|localhost)(:\d{1,5})?")
HTML, JSON, TEXT = "text/html", "application/json", "text/plain"
HEADERS = {
    "Content-Security-Policy": f"{page.policy(live=True)}; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def __init__(self, folder: Path, port: int = PORT, seconds: float = page.LIVE_SECONDS):
        self.folder, self.library, self.seconds = folder, Library(folder), seconds
        try:
            super().__init__((ADDRESS, port), Handler)
        except (OSError, OverflowError) as error:
            reason = getattr(error, "strerror", None) or error
            raise UserError(f"port {port} cannot be used: {reason}; choose another --port") from None

    @property
    def url(self) -> str:
        return f"http://{ADDRESS}:{self.server_port}"

    def handle_error(self, request: Any, client_address: Any) -> None:
        if not isinstance(sys.exception(), (ConnectionError, TimeoutError)):  # a browser that went away is no news
            super().handle_error(request, client_address)


class Handler(BaseHTTPRequestHandler):
    server: Server
    server_version, sys_version = "teen", ""
    timeout = 30  # seconds, for a request that never ends

    def do_GET(self) -> None:
        hosts = self.headers.get_all("Host", [])
        if len(hosts) != 1 or not OWN_HOST.fullmatch(hosts[0].lower()):  # somebody else's name that leads here
            return self._say(HTTPStatus.FORBIDDEN, "Only 127.0.0.1 and localhost are served here.")
        try:
            address = urlsplit(self.path)
        except ValueError:
            return self._say(HTTPStatus.BAD_REQUEST, "That is no address.")
        names = parse_qs(address.query).get("name", [])
        try:
            if address.path == "/":
                entries = self.server.library.entries()
                return self._send(listing.render(entries, str(self.server.folder), self.server.seconds), HTML)
            if address.path in ("/run", "/compare") and names:
                return self._page(names)
            if address.path == "/data" and names:
                return self._data(names)
        except KeyError:
            return self._say(HTTPStatus.NOT_FOUND, "There is no such run here.")
        return self._say(HTTPStatus.NOT_FOUND, "There is no such page.")

    def do_HEAD(self) -> None:
        self.do_GET()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("do_"):  # any other method
            return lambda: self._say(HTTPStatus.METHOD_NOT_ALLOWED, "This server only shows.", Allow="GET, HEAD")
        raise AttributeError(name)

    def _page(self, names: Sequence[str]) -> None:
        data, _ = self.server.library.data(names)
        self._send(page.render(json.loads(data), live=True, seconds=self.server.seconds), HTML)

    def _data(self, names: Sequence[str]) -> None:
        data, tag = self.server.library.data(names)
        known = self.headers.get("If-None-Match") == tag
        self._send("" if known else data, JSON, HTTPStatus.NOT_MODIFIED if known else HTTPStatus.OK, ETag=tag)

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


def command_serve(arguments: list[str]) -> int:
    from ..cli.main import Parser

    parser = Parser(prog="teen serve", allow_abbrev=False, description="Runs in a browser on this machine, live.")
    parser.add_argument("folder", type=Path, metavar="RUNS_DIR", help="a folder of run directories")
    parser.add_argument("--port", type=int, default=PORT, help=f"of 127.0.0.1 (default {PORT}; 0: any free one)")
    flags = parser.parse_args(arguments)
    with Server(flags.folder, flags.port) as server:
        print(f"{server.url} shows {flags.folder}; Ctrl-C ends it", flush=True)
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
    return 0
