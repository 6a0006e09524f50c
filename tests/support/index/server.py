"""A package index on this machine's loopback, which may misbehave as a test requires."""

import base64
import hashlib
import ssl
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec

Answer = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class SimpleIndex:
    """The server's answers by path, and the requests that it received.

    Setting `released` ends every answer that hangs.
    """

    answers: dict[str, Answer] = field(default_factory=dict)
    asked: list[str] = field(default_factory=list)
    released: threading.Event = field(default_factory=threading.Event)
    credentials: str = ""
    host: str = ""

    @property
    def url(self) -> str:
        """The server's address as pip's index-url."""
        return f"http://{self.host}/simple"

    @property
    def url_with_credentials(self) -> str:
        """The server's address with the user and password that the server requires."""
        return f"http://{self.credentials}@{self.host}/simple"

    def offer(self, name: str, files: dict[str, bytes], *, attributes: str = "", sha256: str = "") -> None:
        """Serve the page of the distribution `name` and its files; `sha256` replaces the correct digest."""
        links = []
        for filename, content in files.items():
            digest = sha256 or hashlib.sha256(content).hexdigest()
            links.append(f'<a href="../../files/{filename}#sha256={digest}" {attributes}>{filename}</a>')
            self.answers[f"/files/{filename}"] = content_answer(content, "application/octet-stream")
        page = f"<!DOCTYPE html><html><body>{''.join(links)}</body></html>"
        self.answers[f"/simple/{name}/"] = content_answer(page.encode(), "text/html")


def content_answer(content: bytes, content_type: str, **headers: str) -> Answer:
    """Return an answer with content; `Content_Encoding="gzip"` becomes that header."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Type", content_type)
        request.send_header("Content-Length", str(len(content)))
        for name, value in headers.items():
            request.send_header(name.replace("_", "-"), value)
        request.end_headers()
        request.wfile.write(content)

    return answer


def status_answer(code: int, **headers: str) -> Answer:
    """Return an answer without content."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(code)
        for name, value in {"Content-Length": "0", **headers}.items():
            request.send_header(name, value)
        request.end_headers()

    return answer


def broken_answer(content: bytes) -> Answer:
    """Return an answer that sends half of the content and closes the connection."""

    def answer(request: BaseHTTPRequestHandler) -> None:
        request.send_response(200)
        request.send_header("Content-Length", str(len(content)))
        request.end_headers()
        request.wfile.write(content[: len(content) // 2])
        request.close_connection = True

    return answer


def in_turn(*answers: Answer) -> Answer:
    """Return an answer that uses the given answers in turn, and then repeats the last one."""
    left = list(answers)

    def answer(request: BaseHTTPRequestHandler) -> None:
        (left.pop(0) if len(left) > 1 else left[0])(request)

    return answer


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False

    def handle_error(self, request: object, client_address: object) -> None:
        if not isinstance(sys.exception(), ConnectionError):  # in some tests, clients close the connection early
            super().handle_error(request, client_address)  # type: ignore[arg-type]  # socket types of the base class


def self_signed(directory: Path) -> Path:
    """Write a key and a self-signed certificate for the loopback."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
    now = datetime.now(UTC)
    certificate = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ip_address("127.0.0.1"))]), critical=False)
        .sign(key, hashes.SHA256())
    )
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    file = directory / "loopback.pem"
    file.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    return file


@contextmanager
def serving(encryption: ssl.SSLContext | None = None) -> Iterator[SimpleIndex]:
    """Run an index until the block ends."""
    index = SimpleIndex()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            index.asked.append(self.path)
            _answer_for(index, self)(self)

        def do_HEAD(self) -> None:
            status_answer(405)(self)  # after this refusal, uv requests the whole file

        def log_message(self, *_arguments: object) -> None:
            return

    with _Server(("127.0.0.1", 0), Handler) as server:
        if encryption is not None:
            server.socket = encryption.wrap_socket(server.socket, server_side=True)
        index.host = f"127.0.0.1:{server.server_port}"
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        thread.start()
        try:
            yield index
        finally:
            index.released.set()
            server.shutdown()
            thread.join()


def _answer_for(index: SimpleIndex, request: BaseHTTPRequestHandler) -> Answer:
    expected = "Basic " + base64.b64encode(index.credentials.encode()).decode()
    if index.credentials and request.headers.get("Authorization") != expected:
        return status_answer(401, **{"WWW-Authenticate": 'Basic realm="index"'})
    return index.answers.get(request.path, status_answer(404))
