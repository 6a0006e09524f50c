"""Credentials of an index are sent to the index's host only, not to other hosts that its answers name."""

from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from urllib.parse import quote

import pytest
from support.index.server import SimpleIndex, content_answer, serving, status_answer

from fastinstall.core.errors import FailedError
from fastinstall.core.events import ignore
from fastinstall.core.secrets import redact_text
from fastinstall.index.client import ask_indexes
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings

CREDENTIALS = "me:p@ss/word"
CONTENT = b"a source"


@pytest.fixture
def indexes() -> Iterator[tuple[SimpleIndex, SimpleIndex]]:
    """Yield an index that requires a password, and a second index."""
    with serving() as own, serving() as other:
        own.credentials = CREDENTIALS
        yield own, other


def _settings(index: SimpleIndex) -> PipSettings:
    return PipSettings(index_url=f"http://{quote(CREDENTIALS, safe=':')}@{index.host}/simple")


def test_a_redirect_to_another_server_carries_no_credentials(
    indexes: tuple[SimpleIndex, SimpleIndex], tmp_path: Path
) -> None:
    own, other = indexes
    heard: list[str | None] = []

    def hear(request: BaseHTTPRequestHandler) -> None:
        heard.extend((request.headers.get("Authorization"), request.headers.get("Referer")))
        content_answer(CONTENT, "application/octet-stream")(request)

    own.offer("pillow", {"pillow-13.0.0.tar.gz": CONTENT})
    own.answers["/files/pillow-13.0.0.tar.gz"] = status_answer(302, Location=f"http://{other.host}/elsewhere")
    other.answers["/elsewhere"] = hear
    (found,) = ask_indexes(_settings(own), ("pillow",), lambda _: True)
    path = PackageIndex(settings=_settings(own)).fetch(found, tmp_path, ignore)
    assert path.read_bytes() == CONTENT
    assert heard == [None, None]


def test_an_address_saved_without_its_token_is_looked_up_again(
    indexes: tuple[SimpleIndex, SimpleIndex], tmp_path: Path
) -> None:
    own, _ = indexes
    own.offer("pillow", {"pillow-13.0.0.tar.gz": CONTENT})
    (found,) = ask_indexes(_settings(own), ("pillow",), lambda _: True)
    signed = f'<a href="/files/pillow-13.0.0.tar.gz?sig=Zq1#sha256={found.sha256}">pillow-13.0.0.tar.gz</a>'
    own.answers["/simple/pillow/"] = content_answer(signed.encode(), "text/html")
    own.answers["/files/pillow-13.0.0.tar.gz?sig=Zq1"] = content_answer(CONTENT, "application/octet-stream")
    (told,) = ask_indexes(_settings(own), ("pillow",), lambda _: True)
    saved = replace(told, url=redact_text(told.url))
    assert saved.url.endswith("?sig=***")
    assert PackageIndex(settings=_settings(own)).fetch(saved, tmp_path, ignore).read_bytes() == CONTENT
    assert own.asked[-1].endswith("?sig=Zq1")


def test_a_refusal_names_the_index_without_the_password(indexes: tuple[SimpleIndex, SimpleIndex]) -> None:
    own, _ = indexes
    wrong = PipSettings(index_url=f"http://me:Zq-wrong@{own.host}/simple")
    with pytest.raises(FailedError) as refusal:
        ask_indexes(wrong, ("pillow",), lambda _: True)
    told = " ".join((refusal.value.message, refusal.value.hint or "", *refusal.value.details))
    assert own.host in told
    assert "Zq-wrong" not in told
