"""A double of the Hugging Face Hub that speaks its HTTP, from the standard library alone, in a process of its own.

    python tests/hub/hub_double.py REPOS.json [--log FILE]

prints its address and serves until its stdin closes. REPOS.json is `{"texts": [...], "repos": [...]}`; a repository
has `id`, `sha`, `files` (name -> index into texts), what the Hub lists of it, and may have a `behaviour`:

- `gated`, `disabled`, `no_permission`; `moved_to` (an id) redirects; `loop` redirects for ever
- `huge` (10 MB), `drip` (a byte at a time), `stall` (headers, then nothing), `slow_headers`, `half` (the connection
  ends inside the body), `status_500`, `nonsense` (an API answer that is not JSON)
- `half_once`, `status_503_once`, `throttled_once` (429 with Retry-After, once), `throttled_date_once` (as a date)

`storm` in REPOS.json, `{"every": n, "seconds": s}`: after each n answers all is 429 with Retry-After for s seconds.
"""

from __future__ import annotations

import argparse
import email.utils
import hashlib
import json
import sys
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

PAGE = 100
HUGE_BYTES = 10 << 20
LISTED = ("sha", "gated", "pipeline_tag", "downloads", "lastModified", "library_name", "tags", "config")


class Repos:
    """What the double serves, and how often each path was asked for."""

    def __init__(self, spec: dict[str, Any]) -> None:
        self.texts: list[str] = spec["texts"]
        self.repos: list[dict[str, Any]] = spec["repos"]
        self.by_id = {repo["id"]: repo for repo in self.repos}
        self.storm: dict[str, float] = spec.get("storm") or {}
        self.asked: Counter[str] = Counter()
        self.num_answers = 0
        self.storm_until = 0.0
        self.lock = threading.Lock()

    def in_storm(self) -> bool:
        """Count one answer; say whether a storm is on."""
        with self.lock:
            if time.monotonic() < self.storm_until:
                return True
            self.num_answers += 1
            if self.storm and self.num_answers % int(self.storm["every"]) == 0:
                self.storm_until = time.monotonic() + self.storm["seconds"]
            return False

    def is_first(self, path: str) -> bool:
        """Say whether a path is asked for the first time."""
        with self.lock:
            self.asked[path] += 1
            return self.asked[path] == 1


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    repos: Repos
    log: Any = None

    def do_HEAD(self) -> None:
        self.answer()

    def do_GET(self) -> None:
        self.answer()

    def log_message(self, format: str, *args: Any) -> None:
        if self.log is not None:
            self.log.write(f"{time.monotonic():.3f} {format % args}\n")
            self.log.flush()

    def answer(self) -> None:
        url = urlsplit(self.path)
        if self.repos.in_storm():
            self.send(429, b"slow down", {"Retry-After": str(max(1, round(self.repos.storm["seconds"])))})
        elif url.path == "/api/models":
            self.send_list(parse_qs(url.query))
        elif url.path.startswith("/api/models/"):
            self.send_record(url.path.removeprefix("/api/models/").partition("/revision/")[0])
        elif "/resolve/" in url.path:
            repo_id, _, rest = url.path.lstrip("/").partition("/resolve/")
            self.send_file(repo_id, *rest.split("/", 1))
        else:
            self.send(404, b"no such page")

    def send_list(self, query: dict[str, list[str]]) -> None:
        search, start = query.get("search", [""])[0].lower(), int(query.get("cursor", ["0"])[0])
        page = min(int(query.get("limit", [PAGE])[0]), PAGE)
        found = [repo for repo in self.repos.repos if search in repo["id"].lower() and not repo.get("hidden")]
        if query.get("sort", [""])[0] == "downloads":
            found.sort(key=lambda repo: (-(repo.get("downloads") or 0), repo["id"]))
        shown = [self.record(repo, query.get("expand", [])) for repo in found[start : start + page]]
        headers = {}
        if start + page < len(found):
            following = urlencode({**query, "cursor": start + page}, doseq=True)
            headers["Link"] = f'<http://{self.headers["Host"]}/api/models?{following}>; rel="next"'
        self.send(200, json.dumps(shown).encode(), {"Content-Type": "application/json", **headers})

    def record(self, repo: dict[str, Any], expand: list[str]) -> dict[str, Any]:
        shown = {"_id": repo["sha"][:24], "id": repo["id"], "modelId": repo["id"], "private": False}
        shown |= {name: repo[name] for name in LISTED if name in repo and (name in expand or not expand)}
        if "siblings" in expand or not expand:
            shown["siblings"] = [
                {"rfilename": name} for name in (".gitattributes", *repo["files"], "model.safetensors")
            ]
        return shown

    def send_record(self, repo_id: str) -> None:
        repo = self.by_id_or_404(repo_id)
        if repo is None:
            return
        behaviour = repo.get("behaviour")
        if behaviour == "nonsense":
            self.send(200, b"<html>oops</html>", {"Content-Type": "text/html"})
        elif "moved_to" in repo:
            self.send(307, b"", {"Location": f"/api/models/{repo['moved_to']}?{urlsplit(self.path).query}"})
        elif behaviour == "loop":
            self.send(307, b"", {"Location": self.path})
        else:
            expand = parse_qs(urlsplit(self.path).query).get("expand", [])
            self.send(200, json.dumps(self.record(repo, expand)).encode(), {"Content-Type": "application/json"})

    def send_file(self, repo_id: str, revision: str, name: str) -> None:
        repo = self.by_id_or_404(repo_id)
        if repo is None:
            return
        if "moved_to" in repo:
            self.send(307, b"", {"Location": f"/{repo['moved_to']}/resolve/{revision}/{name}"})
            return
        if revision not in (repo["sha"], "main"):
            self.send(404, b"", {"X-Error-Code": "RevisionNotFound"})
            return
        behave = getattr(self, f"behave_{repo.get('behaviour', 'normal')}", self.send_content)
        behave(repo, name)

    def send_content(self, repo: dict[str, Any], name: str) -> None:
        if name not in repo["files"]:
            self.send(404, b"", {"X-Error-Code": "EntryNotFound", "X-Repo-Commit": repo["sha"]})
            return
        content = self.repos.texts[repo["files"][name]].encode()
        self.send(200, content, self.file_headers(repo, content))

    def file_headers(self, repo: dict[str, Any], content: bytes) -> dict[str, str]:
        etag = hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
        return {"X-Repo-Commit": repo["sha"], "ETag": f'"{etag}"', "Content-Type": "text/plain; charset=utf-8"}

    def behave_gated(self, repo: dict[str, Any], name: str) -> None:
        self.send(401, b"", {"X-Error-Code": "GatedRepo", "X-Error-Message": "Access to model is restricted."})

    def behave_no_permission(self, repo: dict[str, Any], name: str) -> None:
        self.send(403, b"", {"X-Error-Message": "not yours"})

    def behave_disabled(self, repo: dict[str, Any], name: str) -> None:
        self.send(403, b"", {"X-Error-Message": "Access to this resource is disabled."})

    def behave_huge(self, repo: dict[str, Any], name: str) -> None:
        content = b'{"model_type": "bert", "filler": "' + b"x" * HUGE_BYTES + b'"}'
        self.send(200, content, self.file_headers(repo, content))

    def behave_drip(self, repo: dict[str, Any], name: str) -> None:
        self.begin(200, 100_000, {"X-Repo-Commit": repo["sha"]})
        for _ in range(3000):
            self.wfile.write(b" ")
            time.sleep(0.05)

    def behave_stall(self, repo: dict[str, Any], name: str) -> None:
        self.begin(200, 1000, {"X-Repo-Commit": repo["sha"]})
        time.sleep(150)

    def behave_slow_headers(self, repo: dict[str, Any], name: str) -> None:
        self.wfile.write(b"HTTP/1.1 200 OK\r\nX-Filler: ")
        for _ in range(3000):
            self.wfile.write(b"x")
            time.sleep(0.05)

    def behave_half(self, repo: dict[str, Any], name: str) -> None:
        self.begin(200, 1000, {"X-Repo-Commit": repo["sha"]})
        self.wfile.write(b'{"model_type": ')
        self.close_connection = True

    def behave_status_500(self, repo: dict[str, Any], name: str) -> None:
        self.send(500, b"oops")

    def behave_half_once(self, repo: dict[str, Any], name: str) -> None:
        (self.behave_half if self.repos.is_first(self.path) else self.send_content)(repo, name)

    def behave_status_503_once(self, repo: dict[str, Any], name: str) -> None:
        if self.repos.is_first(self.path):
            self.send(503, b"later")
        else:
            self.send_content(repo, name)

    def behave_throttled_once(self, repo: dict[str, Any], name: str) -> None:
        if self.repos.is_first(self.path):
            self.send(429, b"slow down", {"Retry-After": "1"})
        else:
            self.send_content(repo, name)

    def behave_throttled_date_once(self, repo: dict[str, Any], name: str) -> None:
        if self.repos.is_first(self.path):
            self.send(429, b"slow down", {"Retry-After": email.utils.formatdate(time.time() + 1, usegmt=True)})
        else:
            self.send_content(repo, name)

    def by_id_or_404(self, repo_id: str) -> dict[str, Any] | None:
        repo = self.repos.by_id.get(repo_id)
        if repo is None:
            self.send(404, b'{"error": "Repository not found"}', {"X-Error-Code": "RepoNotFound"})
        return repo

    def send(self, status: int, content: bytes, headers: dict[str, str] | None = None) -> None:
        self.begin(status, len(content), headers or {})
        if self.command != "HEAD":
            self.wfile.write(content)

    def begin(self, status: int, length: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in {"Content-Length": str(length), **headers}.items():
            self.send_header(name, value)
        self.end_headers()

    def handle_one_request(self) -> None:
        try:
            super().handle_one_request()
        except (BrokenPipeError, ConnectionResetError):
            self.close_connection = True


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 128


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("repos", type=Path)
    parser.add_argument("--log", type=Path, help="write a line per answer")
    options = parser.parse_args()
    Handler.repos = Repos(json.loads(options.repos.read_text(encoding="utf-8")))
    Handler.log = options.log.open("a", encoding="utf-8") if options.log else None
    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    sys.stdout.write(f"http://127.0.0.1:{server.server_address[1]}\n")
    sys.stdout.flush()
    sys.stdin.read()


if __name__ == "__main__":
    main()
