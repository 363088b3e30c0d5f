"""As much of the Hugging Face Hub as its real client needs to upload a folder and to download it, on loopback."""

import base64
import hashlib
import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

SHA = "1" * 40


class Hub:
    """Repositories by name, with their files; `down` answers nothing but 503."""

    def __init__(self, url: str):
        self.url, self.repositories, self.private, self.down = url, {}, {}, False

    def info(self, name):
        files = self.repositories[name]
        siblings = [{"rfilename": path, "size": len(data)} for path, data in files.items()]
        private = bool(self.private.get(name))
        return {"id": name, "modelId": name, "sha": SHA, "private": private, "tags": [], "siblings": siblings}


@contextmanager
def serving() -> Iterator[Hub]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.hub = Hub(f"http://127.0.0.1:{server.server_port}")
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield server.hub
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, content, status=200, headers=()):
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **dict(headers)}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def do_GET(self):
        hub, path = self.server.hub, self.path.partition("?")[0]
        parts = path.strip("/").split("/")
        if hub.down:
            return self.answer({"error": "down"}, 503)
        if parts[:2] == ["api", "models"] and "/".join(parts[2:4]) in hub.repositories:
            info = hub.info("/".join(parts[2:4]))
            if parts[4:5] != ["tree"]:
                return self.answer(info)
            tree = [{"type": "file", "path": f["rfilename"], "size": f["size"], "oid": SHA} for f in info["siblings"]]
            return self.answer(tree)
        name, file = "/".join(parts[:2]), "/".join(parts[4:])
        if len(parts) > 4 and parts[2] == "resolve" and file in hub.repositories.get(name, {}):
            data = hub.repositories[name][file]
            etag = hashlib.sha1(data).hexdigest()
            return self.answer(data, headers={"ETag": f'"{etag}"', "X-Repo-Commit": SHA})
        return self.answer({"error": "not found"}, 404, {"X-Error-Code": "RepoNotFound"})

    def do_HEAD(self):
        self.do_GET()

    def do_POST(self):
        hub, parts = self.server.hub, self.path.partition("?")[0].strip("/").split("/")
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if self.headers.get("Authorization") != "Bearer hf_test":
            return self.answer({"error": "who are you"}, 401)
        if parts == ["api", "repos", "create"]:
            asked = json.loads(body)
            name = f"{asked['organization']}/{asked['name']}" if asked.get("organization") else asked["name"]
            if name in hub.repositories:
                return self.answer({"error": "it exists", "url": f"{hub.url}/{name}"}, 409)
            hub.repositories[name] = {}
            hub.private[name] = asked.get("private") or asked.get("visibility") == "private"
            return self.answer({"url": f"{hub.url}/{name}", "id": name})
        if parts == ["api", "validate-yaml"]:
            return self.answer({"errors": [], "warnings": []})
        name, what = "/".join(parts[2:4]), parts[4]
        if what == "preupload":
            files = [
                {"path": f["path"], "uploadMode": "regular", "shouldIgnore": False} for f in json.loads(body)["files"]
            ]
            return self.answer({"files": files})
        for line in map(json.loads, body.splitlines()):
            if line["key"] == "file":
                hub.repositories[name][line["value"]["path"]] = base64.b64decode(line["value"]["content"])
        url = f"{hub.url}/{name}/commit/{SHA}"
        return self.answer({"success": True, "commitOid": SHA, "commitUrl": url, "hookOutput": ""})
