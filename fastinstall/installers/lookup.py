"""Asking every place that pip's settings name for its files, all at once."""

import threading
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from contextlib import closing
from functools import partial
from pathlib import Path
from typing import TypeVar

from unearth import PackageFinder
from unearth.collector import IndexPage
from unearth.link import Link

from fastinstall.errors import FailedError
from fastinstall.installers.pages import Offer, read_page
from fastinstall.installers.pip import PipSettings
from fastinstall.installers.selection import parse_filename
from fastinstall.installers.urls import local_path
from fastinstall.installers.web import ATTEMPTS, OFFLINE_HINT, Web
from fastinstall.installers.wheelhouse import read_wheelhouse
from fastinstall.model.artefact import Artefact
from fastinstall.rules.secrets import without_credentials
from fastinstall.system import foreign
from fastinstall.system.together import ended

T = TypeVar("T")
_Wanted = Callable[[str], bool]
_Connect = Callable[[], Web]
_PAGE = "index.html"


def ask(settings: PipSettings, names: Sequence[str], wanted: _Wanted, *, timeout: float) -> tuple[Artefact, ...]:
    """The wanted files that the indexes and `find-links` of pip's settings offer, in pip's order of places.

    Yanked files are left out: they are withdrawn.

    Args:
        settings: which places to ask.
        names: of the distributions, normalised.
        wanted: says by its name whether a file matters.
        timeout: seconds to wait for each answer.

    Raises:
        FailedError: a place cannot be reached. One that does not have the distribution is no failure.
        RefusedError: a place is neither encrypted nor trusted.
    """
    indexes = () if settings.no_index else (settings.index_url or _default_index(), *settings.extra_index_urls)
    connect = partial(Web, settings, timeout)
    calls = [
        partial(_read_index, connect, index, name, forbidden_is_absent=position > 0)
        for position, index in enumerate(indexes)
        for name in names
    ]
    pages = _concurrently([*calls, *(partial(_read_links, connect, place) for place in settings.find_links)], timeout)
    offers = (offer for page in pages for offer in page if not offer.link.is_yanked and wanted(offer.link.filename))
    remote = map(_describe, offers)
    local = (artefact for place in settings.find_links for artefact in _read_directory(place, wanted))
    return (*remote, *local)


def _default_index() -> str:
    return PackageFinder().sources[0]["url"]


def _read_index(connect: _Connect, index: str, name: str, *, forbidden_is_absent: bool) -> tuple[Offer, ...]:
    directory = local_path(index)
    if directory is None:
        url = f"{index.rstrip('/')}/{name}/"
        return _read_page(connect, url, forbidden_is_absent=forbidden_is_absent)
    return _read_file(directory / name / _PAGE)


def _read_links(connect: _Connect, place: str) -> tuple[Offer, ...]:
    path = local_path(place)
    return _read_page(connect, place, forbidden_is_absent=True) if path is None else _read_file(path)


def _read_file(path: Path) -> tuple[Offer, ...]:
    if not path.is_file():
        return ()
    try:
        content = foreign.read_text(path, errors="replace").encode()
    except OSError as error:
        raise FailedError(f"{path}: cannot be read: {error.strerror or error}") from None
    page = IndexPage(Link(path.absolute().as_uri()), content, "utf-8", "text/html")
    return read_page(page)


def _read_page(connect: _Connect, url: str, *, forbidden_is_absent: bool) -> tuple[Offer, ...]:
    with closing(connect()) as web:  # one each: a client must not be closed under another thread
        return web.offers(url, forbidden_is_absent=forbidden_is_absent)


def _read_directory(place: str, wanted: _Wanted) -> tuple[Artefact, ...]:
    path = local_path(place)
    return read_wheelhouse(path, wanted) if path is not None and path.is_dir() else ()


def _describe(offer: Offer) -> Artefact:
    link = offer.link
    parsed = parse_filename(link.filename)
    if parsed is None:
        raise AssertionError(f"{link.filename} is wanted, so its name can be read")
    return Artefact(
        name=parsed.name,
        version=str(parsed.version),
        filename=link.filename,
        url=without_credentials(link.normalized),
        sha256=(link.hash_option or {}).get("sha256", [""])[0].lower(),
        requires_python=link.requires_python or "",
        provenance=without_credentials(offer.provenance),
    )


def _concurrently(calls: Iterable[Callable[[], T]], timeout: float) -> list[T]:
    """The results of all calls; if some fail, the failure of the first of them.

    The threads are daemons, so that an interruption need not wait for a silent server.
    """
    futures: list[Future[T]] = []
    for call in calls:
        futures.append(Future())
        threading.Thread(target=_settle, args=(futures[-1], call), daemon=True).start()
    patience = 2 * ATTEMPTS * timeout + 1  # each attempt may wait for a connection and for an answer
    if len(ended(futures, patience)) < len(futures):
        raise FailedError(f"the package index takes more than {patience:g} s to answer", hint=OFFLINE_HINT)
    return [future.result() for future in futures]


def _settle(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 (it is raised where the result is asked for)
        future.set_exception(error)
