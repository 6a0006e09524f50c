"""A web server for static files that records its requests."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote


@dataclass
class StaticServer:
    """The server's address, and the paths that were requested from it, in order."""

    url: str
    asked: list[str] = field(default_factory=list)

    def names(self) -> list[str]:
        """Return the last part of each requested path."""
        return [unquote(path.rstrip("/").rpartition("/")[2]) for path in self.asked]


@contextmanager
def serving_files(directory: Path) -> Iterator[StaticServer]:
    """Serve a directory on the loopback until the block ends."""
    asked: list[str] = []

    class Handler(SimpleHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            asked.append(self.path)
            super().do_GET()

        def log_message(self, *_arguments: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), partial(Handler, directory=str(directory))) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield StaticServer(url=f"http://127.0.0.1:{server.server_port}", asked=asked)
        finally:
            server.shutdown()
            thread.join()
