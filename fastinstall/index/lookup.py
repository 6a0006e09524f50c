"""Ask all places that pip's settings name, at once, for the files of some distributions."""

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TypeVar

from unearth.collector import IndexPage
from unearth.link import Link

from fastinstall.core import foreign
from fastinstall.core.concurrency import wait_for_futures
from fastinstall.core.errors import FailedError
from fastinstall.core.secrets import remove_credentials
from fastinstall.index.client import ATTEMPTS, OFFLINE_HINT, OfferedFile, Web, read_page
from fastinstall.index.pip_indexes import PipSettings, local_path, name_place
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_wheelhouse
from fastinstall.model.artefact import Artefact

T = TypeVar("T")


def ask_indexes(settings: PipSettings, names: Sequence[str], wanted: Callable[[str], bool]) -> tuple[Artefact, ...]:
    """Return the wanted files that the indexes and `find-links` of pip's settings offer, in pip's order of places.

    Yanked files are left out: they are withdrawn.

    Args:
        settings: which places to ask.
        names: of the distributions, normalised.
        wanted: says by its name whether a file matters.

    Raises:
        FailedError: a place cannot be reached. One that does not have the distribution is no failure.
        RefusedError: a place is neither encrypted nor trusted.
    """
    indexes = () if settings.no_index else settings.indexes
    pages = [
        (index, _locate_page(index, name), position > 0) for position, index in enumerate(indexes) for name in names
    ]
    pages += [(place, place, True) for place in settings.find_links]
    calls = [
        partial(_read_place, settings, page, forbidden_is_absent=forbidden_is_absent)
        for _index, page, forbidden_is_absent in pages
    ]
    answers = zip(pages, _run_concurrently(calls, settings.timeout), strict=True)
    offers = ((place, offer) for (place, _page, _absent), page in answers for offer in page)
    remote = [
        _describe(offer, place) for place, offer in offers if not offer.link.is_yanked and wanted(offer.link.filename)
    ]
    return (*remote, *_list_linked_files(settings.find_links, wanted))


def _list_linked_files(places: Iterable[str], wanted: Callable[[str], bool]) -> Iterator[Artefact]:
    """Yield the wanted files of those `find-links` that are directories."""
    for place in places:
        directory = local_path(place)
        if directory is not None and directory.is_dir():
            for artefact in read_wheelhouse(directory, wanted):
                yield replace(artefact, index=name_place(place))


def _locate_page(index: str, name: str) -> str:
    directory = local_path(index)
    return f"{index.rstrip('/')}/{name}/" if directory is None else str(directory / name / "index.html")


def _read_place(settings: PipSettings, place: str, *, forbidden_is_absent: bool) -> tuple[OfferedFile, ...]:
    path = local_path(place)
    if path is not None:
        return _read_file(path)
    with closing(Web(settings)) as web:  # one each: a client must not be closed under another thread
        page_of = "" if place in settings.find_links else place.rstrip("/").rpartition("/")[2]
        return web.offers(place, page_of=page_of, forbidden_is_absent=forbidden_is_absent)


def _read_file(path: Path) -> tuple[OfferedFile, ...]:
    if not path.is_file():
        return ()
    try:
        content = foreign.read_text(path, errors="replace").encode()
    except OSError as error:
        raise FailedError(f"{path}: cannot be read: {error.strerror or error}") from None
    return read_page(IndexPage(Link(path.absolute().as_uri()), content, "utf-8", "text/html"))


def _describe(offer: OfferedFile, place: str) -> Artefact:
    link = offer.link
    parsed = parse_filename(link.filename)
    if parsed is None:
        raise AssertionError(f"{link.filename} is wanted, so its name can be read")
    return Artefact(
        name=parsed.name,
        version=str(parsed.version),
        filename=link.filename,
        url=remove_credentials(link.normalized),
        sha256=(link.hash_option or {}).get("sha256", [""])[0].lower(),
        requires_python=link.requires_python or "",
        size=offer.size,
        index=name_place(place),
    )


def _run_concurrently(calls: Iterable[Callable[[], T]], timeout: float) -> list[T]:
    """Return the results of all calls; raise the failure of the first one that fails.

    The threads are daemons, so that an interruption need not wait for a silent server.
    """
    futures: list[Future[T]] = []
    for call in calls:
        futures.append(Future())
        threading.Thread(target=_finalize_lookup, args=(futures[-1], call), daemon=True).start()
    patience = 2 * ATTEMPTS * timeout + 1  # each attempt may wait for a connection and for an answer
    if len(wait_for_futures(futures, patience)) < len(futures):
        raise FailedError(f"the package index has not answered for {patience:g} s", hint=OFFLINE_HINT)
    return [future.result() for future in futures]


def _finalize_lookup(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 (it is raised where the result is asked for)
        future.set_exception(error)
