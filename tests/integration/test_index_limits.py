"""An index that answers too much, too slowly, too late, or with irrelevant content."""

import gzip
import json
import time
from collections.abc import Callable, Iterator
from functools import partial
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from support.index.server import Answer, SimpleIndex, content_answer, in_turn, serving, status_answer

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import ignore
from fastinstall.index import client
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pages import JSON
from fastinstall.index.pip import PipSettings
from fastinstall.model.artefact import Artefact

SDIST = "pillow-13.0.0.tar.gz"
CONTENT = b"pillow" * 1000
PATIENCE = 0.5
PAGE = "/simple/pillow/"


@pytest.fixture
def server() -> Iterator[SimpleIndex]:
    with serving() as index:
        index.offer("pillow", {SDIST: CONTENT})
        yield index


def ask(server: SimpleIndex, timeout: float = 10.0) -> tuple[Artefact, ...]:
    return ask_indexes(PipSettings(index_url=server.url, timeout=timeout), ("pillow",), SDIST.__eq__)


def fetch(server: SimpleIndex, artefact: Artefact, cache: Path) -> Path:
    return PackageIndex(settings=PipSettings(index_url=server.url)).fetch(artefact, cache, ignore)


def endless(head: bytes, piece: bytes, pause: float = 0.0) -> Callable[[SimpleIndex], Answer]:
    """Return an answer that sends `head`, and then `piece` again and again until the server stops."""

    def make(server: SimpleIndex) -> Answer:
        def answer(request: BaseHTTPRequestHandler) -> None:
            request.close_connection = True
            request.wfile.write(head)
            while not server.released.wait(pause):
                request.wfile.write(piece)

        return answer

    return make


HTML_HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n"


def test_an_endless_page_is_given_up_at_a_size(server: SimpleIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_PAGE_LIMIT", 1 << 20)  # 64 MiB over the loopback take too long for a test
    server.answers[PAGE] = endless(HTML_HEAD + b"\r\n", b" " * 65536)(server)
    with pytest.raises(FailedError, match="larger than") as caught:
        ask(server)
    assert f"{server.url}/pillow/" in caught.value.message


def test_a_page_that_is_small_only_when_compressed_is_given_up(
    server: SimpleIndex, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_PAGE_LIMIT", 1 << 20)
    server.answers[PAGE] = content_answer(gzip.compress(bytes(1 << 22)), "text/html", Content_Encoding="gzip")
    with pytest.raises(FailedError, match="larger than"):
        ask(server)


def test_a_compressed_page_is_read(server: SimpleIndex) -> None:
    page = f'<a href="/files/{SDIST}">{SDIST}</a>'.encode()
    server.answers[PAGE] = content_answer(gzip.compress(page), "text/html; charset=utf-8", Content_Encoding="gzip")
    assert [each.filename for each in ask(server)] == [SDIST]


def test_a_page_that_is_not_compressed_as_it_says_is_a_failure(server: SimpleIndex) -> None:
    server.answers[PAGE] = content_answer(b"plain", "text/html", Content_Encoding="gzip")
    with pytest.raises(FailedError, match="cannot reach the package index") as caught:
        ask(server)
    assert f"{server.url}/pillow/" in caught.value.message


def test_a_page_that_trickles_is_given_up_by_name(server: SimpleIndex) -> None:
    server.answers[PAGE] = endless(HTML_HEAD + b"\r\n", b" ", PATIENCE / 10)(server)
    with pytest.raises(FailedError, match=r"did not end within .* came\)") as caught:
        ask(server, PATIENCE)
    assert f"{server.url}/pillow/" in caught.value.message


def test_headers_that_trickle_are_given_up_by_name(server: SimpleIndex, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(client, "_LONGEST_PAUSE", 0.0)
    server.answers[PAGE] = endless(HTML_HEAD + b"X-Long: ", b"x", PATIENCE / 10)(server)
    with pytest.raises(FailedError, match="no complete answer within") as caught:
        ask(server, PATIENCE)
    assert f"{server.url}/pillow/" in caught.value.message


def test_a_download_ends_at_the_size_that_the_index_says(server: SimpleIndex, tmp_path: Path) -> None:
    entry = {"url": f"/files/{SDIST}", "hashes": {"sha256": "00" * 32}, "size": len(CONTENT)}
    server.answers[PAGE] = content_answer(json.dumps({"files": [entry]}).encode(), JSON)
    received = 0

    def answer(request: BaseHTTPRequestHandler) -> None:
        nonlocal received
        request.close_connection = True
        request.wfile.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while not server.released.is_set() and received < 600_000_000:
            received += request.wfile.write(bytes(65536))

    server.answers[f"/files/{SDIST}"] = answer
    (artefact,) = ask(server)
    with pytest.raises(FailedError, match=r"larger than the 6\.0 kB that the index says") as caught:
        fetch(server, artefact, tmp_path)
    assert f"{server.host}/files/{SDIST}" in caught.value.message
    assert received < 50_000_000, "what the kernel's buffers take"
    assert server.asked.count(f"/files/{SDIST}") == 1
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_file_of_unknown_size_has_a_limit(
    server: SimpleIndex, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(client, "_FILE_LIMIT", 1 << 20)
    (artefact,) = ask(server)
    server.answers[f"/files/{SDIST}"] = endless(b"HTTP/1.1 200 OK\r\n\r\n", bytes(65536))(server)
    with pytest.raises(FailedError, match=r"larger than 1\.0 MB"):
        fetch(server, artefact, tmp_path)


def test_a_length_beyond_the_size_is_not_waited_for(server: SimpleIndex, tmp_path: Path) -> None:
    entry = {"url": f"/files/{SDIST}", "size": len(CONTENT) - 1}
    server.answers[PAGE] = content_answer(json.dumps({"files": [entry]}).encode(), JSON)
    (artefact,) = ask(server)
    with pytest.raises(FailedError, match="larger than the"):
        fetch(server, artefact, tmp_path)


@pytest.mark.parametrize("code", [429, 503])
def test_a_busy_server_is_given_the_time_that_it_asks_for(server: SimpleIndex, code: int) -> None:
    server.answers[PAGE] = in_turn(status_answer(code, **{"Retry-After": "1"}), server.answers[PAGE])
    began = time.monotonic()
    assert ask(server)
    assert time.monotonic() - began >= 1.0
    assert server.asked.count(PAGE) == 2


def test_a_server_that_is_busy_for_long_is_not_asked_again(server: SimpleIndex) -> None:
    server.answers[PAGE] = status_answer(429, **{"Retry-After": "3600"})
    with pytest.raises(FailedError, match=r"429 .*3600 s") as caught:
        ask(server)
    assert f"{server.url}/pillow/" in caught.value.message
    assert server.asked.count(PAGE) == 1


@pytest.mark.parametrize("place", [PAGE, f"/files/{SDIST}"])
def test_a_redirect_to_a_file_is_no_matter_of_trust(server: SimpleIndex, tmp_path: Path, place: str) -> None:
    (artefact,) = ask(server)
    server.answers[place] = status_answer(302, Location="file:///etc/hostname")
    request = partial(ask, server) if place == PAGE else partial(fetch, server, artefact, tmp_path)
    with pytest.raises(RefusedError, match=f"{place}: the server redirects to file:///etc/hostname") as caught:
        request()
    assert "trusted-host" not in (caught.value.hint or "")
    assert "PIP_INDEX_URL=" in (caught.value.hint or "")


def test_a_damaged_page_of_a_local_index_is_named(tmp_path: Path) -> None:
    page = tmp_path / "simple" / "pillow" / "index.html"
    page.parent.mkdir(parents=True)
    page.write_text('<a href="http://[">pillow</a>')
    settings = PipSettings(index_url=(tmp_path / "simple").as_uri())
    with pytest.raises(FailedError, match="is not a URL") as caught:
        ask_indexes(settings, ("pillow",), SDIST.__eq__)
    assert str(page) in caught.value.message
