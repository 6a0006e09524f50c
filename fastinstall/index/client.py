"""The client of package indexes: pages of links, and files, with retries and a bounded wait.

All places that pip's settings name are asked at once. A page is read for its links, and for where the attestations of
each file are (PEP 740). What the client raises names the URL without credentials.

It is neither a resolver nor a cache.
"""

import logging
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from functools import partial
from pathlib import Path
from typing import TypeVar, cast
from urllib.parse import urljoin

import httpx2
from unearth import PackageFinder
from unearth.auth import MultiDomainBasicAuth
from unearth.collector import IndexHTMLParser, IndexPage, is_secure_origin, parse_html_page, parse_json_response
from unearth.fetchers import Fetcher
from unearth.fetchers.sync import PyPIClient
from unearth.link import Link
from unearth.utils import parse_netloc

from fastinstall.core import foreign
from fastinstall.core.concurrency import wait_for_futures
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.parsing import json_data
from fastinstall.core.secrets import redact_text, remove_credentials
from fastinstall.core.values import immutable
from fastinstall.index.offers import local_path
from fastinstall.index.pip import PipSettings
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_wheelhouse
from fastinstall.model.artefact import Artefact

JSON = "application/vnd.pypi.simple.v1+json"  # PEP 691
_ATTRIBUTE = "data-provenance"
_KEY = "provenance"


@immutable
class OfferedFile:
    """A file that a page offers.

    Attributes:
        link: to the file, with its hashes.
        provenance: URL of its attestations; empty if none are published.
    """

    link: Link
    provenance: str = ""


def read_page(page: IndexPage) -> tuple[OfferedFile, ...]:
    """What a page offers, in its order.

    Raises:
        ValueError: it is malformed.
        LookupError: its encoding is unknown.
    """
    is_json = page.content_type.lower().startswith(JSON)
    links = tuple((parse_json_response if is_json else parse_html_page)(page))
    published = dict(_list_json_provenance(page) if is_json else _list_html_provenance(page))
    return tuple(OfferedFile(link=link, provenance=published.get(link.url, "")) for link in links)


def _list_json_provenance(page: IndexPage) -> Iterator[tuple[str, str]]:
    if f'"{_KEY}"'.encode() not in page.content:
        return
    base = page.link.url_without_fragment
    for file in json_data(page.content).get("files", []):
        if file.get("url") and isinstance(file.get(_KEY), str):
            yield urljoin(base, file["url"]), urljoin(base, file[_KEY])


def _list_html_provenance(page: IndexPage) -> Iterator[tuple[str, str]]:
    if _ATTRIBUTE.encode() not in page.content:
        return
    parser = IndexHTMLParser()
    parser.feed(page.content.decode(page.encoding or "utf-8"))
    base = parser.base_url or page.link.url_without_fragment
    for anchor in parser.anchors:
        href, provenance = anchor.get("href"), anchor.get(_ATTRIBUTE)
        if href and provenance:
            yield urljoin(base, href), urljoin(base, provenance)


T = TypeVar("T")

OFFLINE_HINT = (
    "check the network, the proxy and `python -m pip config list`; "
    "or bring the files along: fastinstall setup --offline --wheelhouse DIR"
)
ATTEMPTS = 3
_PAUSE = 0.25  # seconds before the second attempt, doubled for each further one
_CONNECT_SECONDS = 5.0
_CHUNK = 1 << 16
_NOT_FOUND = 404
_UNAUTHORISED = 401
_FORBIDDEN = 403
_ABSENT = (_NOT_FOUND, 410)
_BUSY = (429, 500, 502, 503, 504, 520, 527)
_ACCEPT = (
    "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01"  # PEP 691
)
_SCHEMES = ("http", "https")
_PAGES = ("text/html", "application/vnd.pypi.simple.v1+html", JSON)

logging.getLogger("unearth").addHandler(logging.NullHandler())  # what it would log, we raise


class _BusyError(Exception):
    """A server that may answer when asked again."""


class Web:
    """A client for the indexes that pip's settings name; close it after use.

    Args:
        settings: where credentials, certificates, proxy and trusted hosts come from.
        timeout: seconds to wait for each answer of a server.
    """

    def __init__(self, settings: PipSettings, timeout: float) -> None:
        self._timeout = timeout
        self._client = _make_client(settings, timeout)
        self._trusted = tuple(parse_netloc(host) for host in settings.trusted_hosts)
        self._client.event_hooks = {"request": [self._require_web], "response": [self._require_secure_way]}

    def close(self) -> None:
        """Give the connections back."""
        self._client.close()

    def offers(self, url: str, *, forbidden_is_absent: bool = False) -> tuple[OfferedFile, ...]:
        """Return what an index page offers, empty if the index lacks the page.

        Args:
            url: of the page; may bear credentials.
            forbidden_is_absent: read "403 Forbidden" as "not there", as some stores of files mean it.

        Raises:
            FailedError: no answer, or none that is an index page.
            RefusedError: the index is neither encrypted nor trusted, or leads on to a place that is not.
        """
        self._require_secure(url)
        response = self._retry(url, lambda: self._get_page(url))
        absent = (*_ABSENT, _FORBIDDEN) if forbidden_is_absent else _ABSENT
        if response.status_code in absent:
            return ()
        _require_success(url, response)
        return _parse(url, response)

    def download(self, url: str, path: Path, report: Callable[[int, int], None]) -> None:
        """Write what a URL gives to a file, byte for byte as it is stored there.

        Args:
            url: of a file; credentials are taken from the settings.
            path: of the file to write.
            report: called with the bytes done, and all of them (0 if unknown).

        Raises:
            FailedError: no answer, a broken one, or a refusal.
            RefusedError: the server is neither encrypted nor trusted, or leads on to a place that is not.
        """
        self._require_secure(url)
        self._retry(url, lambda: self._download(url, path, report))

    def _require_secure(self, url: str) -> None:
        if not self._is_secure(url):
            raise _make_insecure_error(url)

    def _is_secure(self, url: str) -> bool:
        try:
            return is_secure_origin(cast("Fetcher", self._client), Link(url))
        except ValueError as error:
            raise _make_unreachable_error(url, error, self._timeout) from error

    def _require_web(self, request: httpx2.Request) -> None:
        """Ask servers alone, and those that may be asked: the client would read files of this machine as well."""
        if request.url.scheme not in _SCHEMES or not self._is_secure(str(request.url)):
            raise _make_insecure_error(str(request.url))

    def _require_secure_way(self, response: httpx2.Response) -> None:
        """Follow no redirect from an encrypted answer to one that anybody on the way may write, hashes included.

        A host that pip's settings trust may be led to, as it may be asked.
        """
        if not response.has_redirect_location or response.request.url.scheme != "https":
            return
        target = response.request.url.join(response.headers["Location"])
        if target.scheme != "https" and not self._is_trusted(target):
            raise _make_downgrade_error(response.request.url, target)

    def _is_trusted(self, url: httpx2.URL) -> bool:
        return any(host == url.host and port in (None, url.port) for host, port in self._trusted)

    def _get_page(self, url: str) -> httpx2.Response:
        return _require_not_busy(self._client.get(url, headers={"Accept": _ACCEPT}))

    def _download(self, url: str, path: Path, report: Callable[[int, int], None]) -> None:
        headers = {"Accept-Encoding": "identity"}
        with self._client.get_stream(url, headers=headers) as response, path.open("wb") as stream:
            _require_success(url, _require_not_busy(response))
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else 0
            for chunk in response.iter_raw(_CHUNK):
                stream.write(chunk)
                report(stream.tell(), total)

    def _retry(self, url: str, act: Callable[[], T]) -> T:
        for pause in (*(_PAUSE * 2**step for step in range(ATTEMPTS - 1)), None):
            try:
                return act()
            except (httpx2.TransportError, _BusyError) as error:
                if pause is None:
                    raise _make_unreachable_error(url, error, self._timeout) from error
                time.sleep(pause)
            except (httpx2.InvalidURL, httpx2.TooManyRedirects) as error:
                raise _make_unreachable_error(url, error, self._timeout) from error
        raise AssertionError("unreachable: the last attempt returns or raises")


@contextmanager
def _explain_errors(what: str, hint: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        raise FailedError(f"{what}: {_describe_error(error)}", hint=hint) from error


def _make_client(settings: PipSettings, timeout: float) -> PyPIClient:
    with _explain_errors(f"the certificates {settings.certificate} cannot be used", "python -m pip config debug"):
        verify = _trust(settings.certificate)
    proxy = remove_credentials(settings.proxy)
    with _explain_errors(f"the proxy {proxy or 'of HTTPS_PROXY'} cannot be used", "python -m pip config debug"):
        return PyPIClient(
            trusted_hosts=settings.trusted_hosts,
            verify=verify,
            timeout=httpx2.Timeout(timeout, connect=min(timeout, _CONNECT_SECONDS)),
            follow_redirects=True,
            proxy=settings.proxy or None,
            auth=MultiDomainBasicAuth(prompting=False, index_urls=_list_remote_urls(settings)),
        )


def _trust(certificate: Path | None) -> ssl.SSLContext | bool:
    if certificate is None:
        return True  # the system's own store
    if certificate.is_dir():
        return ssl.create_default_context(capath=str(certificate))
    return ssl.create_default_context(cafile=str(certificate))


def _list_remote_urls(settings: PipSettings) -> tuple[str, ...]:
    urls = (settings.index_url, *settings.extra_index_urls, *settings.find_links)
    return tuple(url for url in urls if url.startswith(("http://", "https://")))


def _require_not_busy(response: httpx2.Response) -> httpx2.Response:
    if response.status_code in _BUSY:
        raise _BusyError(_format_status(response))
    return response


def _require_success(url: str, response: httpx2.Response) -> None:
    if response.is_success:
        return
    login = response.status_code in (_UNAUTHORISED, _FORBIDDEN)
    hint = "put the index's user and password into ~/.netrc or pip's index-url" if login else OFFLINE_HINT
    raise FailedError(f"{remove_credentials(url)}: the server answers {_format_status(response)}", hint=hint)


def _parse(url: str, response: httpx2.Response) -> tuple[OfferedFile, ...]:
    content_type = response.headers.get("Content-Type", "")
    page = IndexPage(Link(str(response.url)), response.content, response.encoding, content_type)
    if not content_type.lower().startswith(_PAGES):
        raise FailedError(f"{remove_credentials(url)}: no index page, but {content_type!r}", hint=OFFLINE_HINT)
    try:
        # an index elsewhere has no say about files of this machine
        return tuple(offer for offer in read_page(page) if offer.link.parsed.scheme in _SCHEMES)
    except (ValueError, LookupError) as error:
        raise FailedError(f"{remove_credentials(url)}: not readable as an index page", hint=OFFLINE_HINT) from error


def _format_status(response: httpx2.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".rstrip()


def _make_insecure_error(url: str) -> RefusedError:
    host = remove_credentials(url).partition("://")[2].partition("/")[0]
    return RefusedError(
        f"{remove_credentials(url)}: neither encrypted nor trusted",
        hint=f"use https, or trust it: python -m pip config set global.trusted-host {host}",
    )


def _make_downgrade_error(source: httpx2.URL, target: httpx2.URL) -> RefusedError:
    shown = remove_credentials(str(target))
    return RefusedError(
        f"{remove_credentials(str(source))}: the server leads on to {shown}, which is not encrypted: "
        "anybody on the way could answer there, and give the hashes, too",
        hint="tell the index's keeper; or name another index: PIP_INDEX_URL=https://... ; or trust that place: "
        f"python -m pip config set global.trusted-host {target.netloc.decode('ascii', 'replace').rpartition('@')[2]}",
    )


def _make_unreachable_error(url: str, error: Exception, timeout: float) -> FailedError:
    shown = remove_credentials(url)
    reason = f"no answer within {timeout:g} s" if isinstance(error, httpx2.TimeoutException) else _describe_error(error)
    return FailedError(
        f"the package index cannot be reached: {shown}: {reason}",
        hint=OFFLINE_HINT,
        details=(f"tried up to {ATTEMPTS} times: {shown} ({type(error).__name__})",),
    )


def _describe_error(error: Exception) -> str:
    return redact_text(str(error)) or type(error).__name__


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
    indexes = () if settings.no_index else (settings.index_url or _find_default_index(), *settings.extra_index_urls)
    connect = partial(Web, settings, timeout)
    calls = [
        partial(_read_index, connect, index, name, forbidden_is_absent=position > 0)
        for position, index in enumerate(indexes)
        for name in names
    ]
    pages = _run_concurrently(
        [*calls, *(partial(_read_links, connect, place) for place in settings.find_links)], timeout
    )
    offers = (offer for page in pages for offer in page if not offer.link.is_yanked and wanted(offer.link.filename))
    remote = map(_describe, offers)
    local = (artefact for place in settings.find_links for artefact in _read_directory(place, wanted))
    return (*remote, *local)


def _find_default_index() -> str:
    return PackageFinder().sources[0]["url"]


def _read_index(connect: _Connect, index: str, name: str, *, forbidden_is_absent: bool) -> tuple[OfferedFile, ...]:
    directory = local_path(index)
    if directory is None:
        url = f"{index.rstrip('/')}/{name}/"
        return _read_page(connect, url, forbidden_is_absent=forbidden_is_absent)
    return _read_file(directory / name / _PAGE)


def _read_links(connect: _Connect, place: str) -> tuple[OfferedFile, ...]:
    path = local_path(place)
    return _read_page(connect, place, forbidden_is_absent=True) if path is None else _read_file(path)


def _read_file(path: Path) -> tuple[OfferedFile, ...]:
    if not path.is_file():
        return ()
    try:
        content = foreign.read_text(path, errors="replace").encode()
    except OSError as error:
        raise FailedError(f"{path}: cannot be read: {error.strerror or error}") from None
    page = IndexPage(Link(path.absolute().as_uri()), content, "utf-8", "text/html")
    return read_page(page)


def _read_page(connect: _Connect, url: str, *, forbidden_is_absent: bool) -> tuple[OfferedFile, ...]:
    with closing(connect()) as web:  # one each: a client must not be closed under another thread
        return web.offers(url, forbidden_is_absent=forbidden_is_absent)


def _read_directory(place: str, wanted: _Wanted) -> tuple[Artefact, ...]:
    path = local_path(place)
    return read_wheelhouse(path, wanted) if path is not None and path.is_dir() else ()


def _describe(offer: OfferedFile) -> Artefact:
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
        provenance=remove_credentials(offer.provenance),
    )


def _run_concurrently(calls: Iterable[Callable[[], T]], timeout: float) -> list[T]:
    """The results of all calls; if some fail, the failure of the first of them.

    The threads are daemons, so that an interruption need not wait for a silent server.
    """
    futures: list[Future[T]] = []
    for call in calls:
        futures.append(Future())
        threading.Thread(target=_finalize_lookup, args=(futures[-1], call), daemon=True).start()
    patience = 2 * ATTEMPTS * timeout + 1  # each attempt may wait for a connection and for an answer
    if len(wait_for_futures(futures, patience)) < len(futures):
        raise FailedError(f"the package index takes more than {patience:g} s to answer", hint=OFFLINE_HINT)
    return [future.result() for future in futures]


def _finalize_lookup(future: Future[T], call: Callable[[], T]) -> None:
    try:
        future.set_result(call())
    except BaseException as error:  # noqa: BLE001 (it is raised where the result is asked for)
        future.set_exception(error)
