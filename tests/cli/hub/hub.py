"""A model hub on loopback that misbehaves on request: Hub() listens on two ports, add() gives it a repository."""
import hashlib
import json
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import unquote, urlsplit

COMMIT = "0123456789abcdef0123456789abcdef01234567"


class Repo:
    def __init__(self, files, commit=COMMIT, plain=()):
        self.files = dict(files)          # path: content
        self.commit = commit
        self.plain = set(plain)           # paths without a digest in the record
        self.record = None                # function(dict) -> dict: what the record says instead
        self.api = None                   # function(handler, nth) -> True when it has answered
        self.odd = {}                     # path: the same for a file
        self.asked = []                   # (port, path, headers) of every request


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, code, body=b"", headers=()):
        self.send_response(code)
        names = {k.lower() for k, _ in headers}
        for k, v in headers:
            self.send_header(k, v)
        if "content-length" not in names and "transfer-encoding" not in names:
            self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True

    def cut_after(self, body, n, code=200, headers=()):
        """Promises all of the body, sends n bytes, and hangs up."""
        self.reply(code, body[:n], [("Content-Length", str(len(body))), *headers])
        self.wfile.flush()
        self.close_connection = True

    def start(self):
        """The byte a Range header asks for, or None."""
        r = self.headers.get("Range")
        return int(r[len("bytes="):].split("-")[0]) if r else None

    def content(self, body):
        at = self.start()
        if at is None:
            return self.reply(200, body)
        if at >= len(body):
            return self.reply(416, b"", [("Content-Range", "bytes */%d" % len(body))])
        return self.reply(206, body[at:], [("Content-Range", "bytes %d-%d/%d" % (at, len(body) - 1, len(body)))])

    def do_GET(self):
        hub = self.server.hub
        parts = urlsplit(self.path).path.split("/")
        if parts[1] == "elsewhere":  # a redirect's goal
            return hub.elsewhere(self)
        api = parts[1:3] == ["api", "models"]
        name = "/".join(parts[3:5] if api else parts[1:3])
        repo = hub.repos.get(name)
        if not repo:
            return self.reply(404, b'{"error":"Repository not found"}', [("X-Error-Code", "RepoNotFound")])
        with hub.lock:
            repo.asked.append((self.server.server_port, self.path, dict(self.headers)))
            nth = sum(1 for a in repo.asked if a[1] == self.path)
        if api:
            return self.record(repo, unquote(parts[6]), nth)
        path = unquote("/".join(parts[5:]))
        odd = repo.odd.get(path)
        if odd and odd(self, nth):
            return None
        return self.content(repo.files[path]) if path in repo.files else self.reply(404)

    def record(self, repo, revision, nth):
        if repo.api and repo.api(self, nth):
            return None
        if revision not in ("main", "v1", "refs/pr/1", repo.commit):
            return self.reply(404, b"{}", [("X-Error-Code", "RevisionNotFound")])
        rows = []
        for path, body in repo.files.items():
            row = {"rfilename": path, "size": len(body), "blobId": hashlib.sha1(body).hexdigest()}
            if path not in repo.plain:
                row["lfs"] = {"sha256": hashlib.sha256(body).hexdigest(), "size": len(body), "pointerSize": 130}
            rows.append(row)
        record = {"id": "x", "sha": repo.commit, "siblings": rows}
        if repo.record:
            record = repo.record(record)
        body = record if isinstance(record, bytes) else json.dumps(record).encode()
        return self.reply(200, body, [("Content-Type", "application/json")])


class Server(ThreadingHTTPServer):
    def handle_error(self, request, client_address):
        pass  # peers that hang up are what this is about


class Hub:
    def __init__(self):
        self.lock = threading.Lock()
        self.repos = {}
        self.elsewhere_asked = []
        self.elsewhere_body = {}
        self.servers = [Server(("127.0.0.1", 0), Handler) for _ in range(2)]
        for s in self.servers:
            s.hub, s.daemon_threads = self, True
            threading.Thread(target=s.serve_forever, daemon=True).start()
        self.port, self.other_port = (s.server_port for s in self.servers)
        self.url = "http://127.0.0.1:%d" % self.port

    def add(self, name, repo):
        self.repos[name] = repo
        return repo

    def elsewhere(self, h):
        key = urlsplit(h.path).path.split("/")[2]
        with self.lock:
            self.elsewhere_asked.append((key, h.headers.get("Host"), h.headers.get("Authorization")))
        return h.content(self.elsewhere_body[key])

    def close(self):
        for s in self.servers:
            s.shutdown()
            s.server_close()


def trickle(h, body, piece, pause):
    """Sends the body slowly."""
    h.send_response(200)
    h.send_header("Content-Length", str(len(body)))
    h.end_headers()
    try:
        for i in range(0, len(body), piece):
            h.wfile.write(body[i:i + piece])
            h.wfile.flush()
            time.sleep(pause)
    except (BrokenPipeError, ConnectionResetError):
        h.close_connection = True
    return True
