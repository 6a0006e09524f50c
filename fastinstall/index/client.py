"""A client of package indexes: it gets pages and files, with retries, and with limits of time and size.

Error messages show URLs without credentials. `ask_indexes` asks all indexes and `find-links` at the same time. This
module resolves no requirements and caches nothing.
"""

import logging
import re
import ssl
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future
from contextlib import closing, contextmanager
from dataclasses import replace
from email.utils import parsedate_to_datetime
from functools import partial
from pathlib import Path
from typing import TypeVar, cast

import httpx2
from packaging.utils import canonicalize_name
from unearth.auth import MultiDomainBasicAuth
from unearth.collector import IndexPage, is_secure_origin
from unearth.fetchers import Fetcher
from unearth.fetchers.sync import PyPIClient
from unearth.link import Link
from unearth.utils import parse_netloc

from fastinstall.core import foreign
from fastinstall.core.concurrency import wait_for_futures
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.messages import format_bytes, listing, quote
from fastinstall.core.secrets import redact_text, remove_credentials
from fastinstall.index.pages import HTML, JSON, OfferedFile, read_page
from fastinstall.index.pip import PipSettings, local_path, name_place
from fastinstall.index.selection import parse_filename
from fastinstall.index.wheelhouse import read_wheelhouse
from fastinstall.model.artefact import Artefact

T = TypeVar("T")
OFFLINE_HINT = (
    "check the network, the proxy and `python -m pip config list`; or take what was downloaded before: --offline; "
    "or bring the files along: fastinstall setup --offline --wheelhouse DIR"
)
OTHER_INDEX_HINT = "report it to the index's administrator; or use another index: PIP_INDEX_URL=https://..."
ATTEMPTS = 3
_PAUSE = 0.25  # seconds before the second attempt, doubled for each further attempt
_CONNECT_SECONDS = 5.0
_CHUNK = 1 << 16
_PAGE_LIMIT = 1 << 26  # the most bytes that a decoded page may have; PyPI's largest pages have 10 to 20 million
# The most bytes that a file of unknown size may have; the largest files, compilers, have 100 million.
_FILE_LIMIT = 1 << 30
_LONGEST_PAUSE = 20.0  # the most seconds to wait if a busy server asks for a pause (RFC 9110, Retry-After)
_INDEX, _SERVER = "the package index", "the server of a file"
_FORBIDDEN = 403
_LOGIN = (401, _FORBIDDEN)
_ABSENT = (404, 410)
_BUSY = (429, 500, 502, 503, 504, 520, 527)
_ACCEPT = f"{JSON}, application/vnd.pypi.simple.v1+html; q=0.1, text/html; q=0.01"
_SCHEMES = ("http", "https")
_PAGES = (*HTML, JSON)
logging.getLogger("unearth").addHandler(logging.NullHandler())  # no log output: unearth's problems are raised as errors
# These headers describe the content before decoding.
_TRANSFER_HEADERS = ("content-encoding", "content-length", "transfer-encoding")
_LASTING = (httpx2.InvalidURL, httpx2.TooManyRedirects, httpx2.DecodingError)  # errors that a retry would not cure
_ASKS = re.compile(rb"<(?:form|input|script)\b|http-equiv=[\"']?refresh", re.IGNORECASE)


class _BusyError(Exception):
    """The server is busy, but may answer a later attempt.

    Args:
        status: HTTP status of the server's answer, for messages.
        pause: seconds that the server asks to wait; 0 if it does not say.
    """

    def __init__(self, status: str, pause: float) -> None:
        super().__init__(status)
        self.pause = pause


class Web:
    """A client for the indexes that pip's settings name; close it after use.

    Args:
        settings: pip's settings, for credentials, certificates, proxy, trusted hosts and timeout.
    """

    def __init__(self, settings: PipSettings) -> None:
        self._timeout = settings.timeout
        self._client = _make_client(settings)
        self._trusted = tuple(parse_netloc(host) for host in settings.trusted_hosts)
        self._client.event_hooks = {"request": [self._require_web], "response": [self._require_secure_way]}
        self.close = self._client.close

    def offers(self, url: str, *, page_of: str = "", forbidden_is_absent: bool = False) -> tuple[OfferedFile, ...]:
        """Return the files that an index page lists; empty if the index does not have the page.

        Args:
            url: URL of the page; may contain credentials.
            page_of: the distribution whose page is requested; empty for a page that may list any files.
            forbidden_is_absent: treat "403 Forbidden" like "404 Not Found", because some file servers send 403 for
                missing pages.

        Raises:
            FailedError: the server does not answer, or its answer is not an index page.
            RefusedError: the index uses no HTTPS and is not trusted, or it redirects to an insecure server or a local
                file.
        """
        self._require_secure(url)
        response = self._retry(url, lambda: self._get(url))
        if response.status_code in _ABSENT or (forbidden_is_absent and response.status_code == _FORBIDDEN):
            return ()
        _require_success(url, response)
        offered = _parse(url, response)
        if page_of and _is_login(response, page_of, offered):
            asked, told = remove_credentials(url), remove_credentials(str(response.url.copy_with(query=None)))
            place = "" if told == asked else f", led on to {told}"
            raise FailedError(
                f"{asked}: not an index page but another one, such as the login of a network{place}",
                hint=f"log in with a browser; look at what answers: curl -L {quote(asked)}; {OFFLINE_HINT}",
            )
        return offered

    def download(self, url: str, path: Path, report: Callable[[int, int], None], size: int = 0) -> None:
        """Download a file, byte for byte as the server stores it.

        Args:
            url: URL of the file; credentials are taken from the settings.
            path: path of the file to write.
            report: called with the number of bytes received so far and in total (0 if unknown).
            size: size of the file in bytes, as given by the index; 0 if unknown.

        Raises:
            FailedError: the server does not answer or refuses, or its answer is incomplete or larger than `size`.
            RefusedError: the server uses no HTTPS and is not trusted, or it redirects to an insecure server or a local
                file.
        """
        self._require_secure(url)
        self._retry(url, lambda: self._download(url, path, report, size), _SERVER)

    def _require_secure(self, url: str) -> None:
        try:
            link = Link(url)
            secure = is_secure_origin(cast("Fetcher", self._client), link)
        except ValueError as error:
            raise _make_unreachable_error(url, error, self._timeout) from error
        if link.parsed.scheme not in _SCHEMES:
            raise RefusedError(
                f"{remove_credentials(url)}: neither https: nor http:, which an index or its file must have",
                hint=OTHER_INDEX_HINT,
            )
        if not secure:
            host = remove_credentials(url).partition("://")[2].partition("/")[0]
            raise RefusedError(
                f"{remove_credentials(url)}: neither HTTPS nor a trusted host",
                hint=f"use https, or trust it: python -m pip config set global.trusted-host {host}",
            )

    def _require_web(self, request: httpx2.Request) -> None:
        """Refuse a request to an insecure server or for a local file: the HTTP client would read local files, too."""
        self._require_secure(str(request.url))

    def _require_secure_way(self, response: httpx2.Response) -> None:
        """Refuse a redirect to a local file, or from HTTPS to plain HTTP, which anyone on the network could forge.

        A redirect to a host that pip's settings trust is allowed.
        """
        if not response.has_redirect_location:
            return
        source, location = response.request.url, response.headers["Location"]
        target = source.join(location)
        if target.scheme not in _SCHEMES:
            raise RefusedError(
                f"{remove_credentials(str(source))}: the server redirects to {remove_credentials(location)}, "
                "which is no web address",
                hint=OTHER_INDEX_HINT,
            )
        if source.scheme != "https":
            return
        trusted = any(host == target.host and port in (None, target.port) for host, port in self._trusted)
        if target.scheme != "https" and not trusted:
            place = target.netloc.decode("ascii", "replace").rpartition("@")[2]
            raise RefusedError(
                f"{remove_credentials(str(source))}: the server redirects to "
                f"{remove_credentials(str(target))} without HTTPS: anyone on the network could forge "
                "the files and their hashes",
                hint=f"{OTHER_INDEX_HINT} ; or trust that host: python -m pip config set global.trusted-host {place}",
            )

    def _get(self, url: str) -> httpx2.Response:
        """Return a response with its content, within limits of size and time."""
        patience = _compute_patience(self._timeout)
        deadline = time.monotonic() + patience
        with self._client.get_stream(url, headers={"Accept": _ACCEPT}) as response:
            _require_not_busy(response)
            content = bytearray()
            # Chunks of any size: waiting for a full chunk could exceed the deadline.
            for chunk in response.iter_bytes():
                content += chunk
                if len(content) > _PAGE_LIMIT:
                    raise FailedError(
                        f"{remove_credentials(url)}: the answer is larger than {format_bytes(_PAGE_LIMIT)}, "
                        "which no index page is",
                        hint=OTHER_INDEX_HINT,
                    )
                if time.monotonic() > deadline:
                    raise FailedError(
                        f"{remove_credentials(url)}: the answer did not end within {patience:g} s "
                        f"({format_bytes(len(content))} came)",
                        hint=OFFLINE_HINT,
                    )
            headers = [pair for pair in response.headers.multi_items() if pair[0].lower() not in _TRANSFER_HEADERS]
            return httpx2.Response(
                response.status_code, headers=headers, content=bytes(content), request=response.request
            )

    def _download(self, url: str, path: Path, report: Callable[[int, int], None], size: int) -> None:
        headers = {"Accept-Encoding": "identity"}
        with self._client.get_stream(url, headers=headers) as response, path.open("wb") as stream:
            _require_success(url, _require_not_busy(response))
            length = response.headers.get("Content-Length", "")
            total = int(length) if length.isdecimal() else 0
            _require_bounded(url, total, size)
            for chunk in response.iter_raw(_CHUNK):
                _require_bounded(url, stream.tell() + len(chunk), size)
                stream.write(chunk)
                report(stream.tell(), total or size)

    def _retry(self, url: str, act: Callable[[], T], place: str = _INDEX) -> T:
        for pause in (*(_PAUSE * 2**step for step in range(ATTEMPTS - 1)), None):
            try:
                return act()
            except (httpx2.RequestError, httpx2.InvalidURL, _BusyError) as error:
                asked = error.pause if isinstance(error, _BusyError) else 0.0
                if pause is None or asked > _LONGEST_PAUSE or isinstance(error, _LASTING):
                    raise _make_unreachable_error(url, error, self._timeout, place) from error
                time.sleep(max(pause, asked))
        raise AssertionError("unreachable: the last attempt returns or raises")


def _require_bounded(url: str, received: int, size: int) -> None:
    """Raise if a file is larger than its index states or, if the index states no size, larger than the limit."""
    if received <= (size or _FILE_LIMIT):
        return
    limit = f"the {format_bytes(size)} that the index says" if size else format_bytes(_FILE_LIMIT)
    raise FailedError(
        f"{remove_credentials(url)}: the file is larger than {limit}: download stopped, nothing kept",
        hint=OTHER_INDEX_HINT,
    )


@contextmanager
def _explain_errors(what: str) -> Iterator[None]:
    try:
        yield
    except (OSError, ValueError, ImportError) as error:
        raise FailedError(f"{what}: {_describe_error(error)}", hint="python -m pip config debug") from error


def _make_client(settings: PipSettings) -> PyPIClient:
    certificate, proxy = settings.certificate, remove_credentials(settings.proxy)
    verify: ssl.SSLContext | bool = True  # certificates of the system's own store
    if certificate is not None:
        with _explain_errors(f"cannot use the certificates {certificate}"):
            directory = str(certificate) if certificate.is_dir() else None
            verify = ssl.create_default_context(capath=directory, cafile=None if directory else str(certificate))
    with _explain_errors(f"the proxy {proxy or 'of HTTPS_PROXY'} cannot be used"):
        return PyPIClient(
            trusted_hosts=settings.trusted_hosts,
            verify=verify,
            timeout=httpx2.Timeout(settings.timeout, connect=min(settings.timeout, _CONNECT_SECONDS)),
            follow_redirects=True,
            proxy=settings.proxy or None,
            auth=MultiDomainBasicAuth(
                prompting=False, index_urls=[url for url in settings.urls if url.startswith(("http://", "https://"))]
            ),
        )


def _require_not_busy(response: httpx2.Response) -> httpx2.Response:
    if response.status_code in _BUSY:
        pause = _read_pause(response.headers.get("Retry-After", ""))
        request = f", asking to wait {pause:.0f} s" if pause else ""
        raise _BusyError(_format_status(response) + request, pause)
    return response


def _read_pause(text: str) -> float:
    """Return the seconds that a `Retry-After` asks for, as a number or a date (RFC 9110, 10.2.3); 0 if it is neither.

    >>> _read_pause("120"), _read_pause("soon"), _read_pause("Wed, 21 Oct 2015 07:28:00 GMT")
    (120.0, 0.0, 0.0)
    """
    if text.isascii() and text.strip().isdecimal():
        return float(text)
    try:
        return max(parsedate_to_datetime(text).timestamp() - time.time(), 0.0)
    except (ValueError, OverflowError):
        return 0.0


def _require_success(url: str, response: httpx2.Response) -> None:
    if response.is_success:
        return
    hint = OFFLINE_HINT
    if response.status_code in _LOGIN:
        hint = "put the index's user name and password in ~/.netrc or pip's index-url"
    raise FailedError(f"{remove_credentials(url)}: the server returned {_format_status(response)}", hint=hint)


def _parse(url: str, response: httpx2.Response) -> tuple[OfferedFile, ...]:
    content_type = response.headers.get("Content-Type", "")
    page = IndexPage(Link(str(response.url)), response.content, response.encoding, content_type)
    if not content_type.lower().startswith(_PAGES):
        raise FailedError(f"{remove_credentials(url)}: expected an index page, got {content_type!r}", hint=OFFLINE_HINT)
    # a remote index must not offer local files
    return tuple(offer for offer in read_page(page) if offer.link.parsed.scheme in _SCHEMES)


def _is_login(response: httpx2.Response, name: str, offered: Iterable[OfferedFile]) -> bool:
    """Return whether a page was sent not by the index but by something in front of it, such as a network's login.

    A page without files counts as sent by something else in two cases: it contains a form, a script or a refresh, or
    its URL does not contain the distribution's name. Any other page without files is the index's own page about a
    distribution that has no files.
    """
    if not response.headers["Content-Type"].lower().startswith("text/html"):
        return False
    if any(parse_filename(each.link.filename) for each in offered):
        return False
    is_elsewhere = canonicalize_name(name) not in map(canonicalize_name, response.url.path.split("/"))
    return is_elsewhere or _ASKS.search(response.content) is not None


def _format_status(response: httpx2.Response) -> str:
    return f"{response.status_code} {response.reason_phrase}".rstrip()


def _make_unreachable_error(url: str, error: Exception, timeout: float, place: str = _INDEX) -> FailedError:
    shown = remove_credentials(url)
    reason = f"no answer within {timeout:g} s" if isinstance(error, httpx2.TimeoutException) else _describe_error(error)
    return FailedError(
        f"cannot reach {place}: {shown}: {reason}",
        hint=OFFLINE_HINT,
        details=(f"tried up to {ATTEMPTS} times: {shown} ({type(error).__name__})",),
    )


def _describe_error(error: Exception) -> str:
    return redact_text(str(error)) or type(error).__name__


def ask_indexes(settings: PipSettings, names: Sequence[str], wanted: Callable[[str], bool]) -> tuple[Artefact, ...]:
    """Return the wanted files that the indexes and `find-links` offer, in the order of pip's settings.

    Yanked (withdrawn) files are left out.

    Args:
        settings: pip's settings, with the indexes and `find-links`.
        names: names of the distributions, normalised.
        wanted: function that returns whether a file is wanted, given the file's name.

    Raises:
        FailedError: an index or a page cannot be reached. It is no error if an index lacks a distribution.
        RefusedError: an index uses no HTTPS and is not trusted.
    """
    indexes = () if settings.no_index else settings.indexes
    pages = [
        (index, _locate_page(index, name), position > 0) for position, index in enumerate(indexes) for name in names
    ]
    pages += [(place, place, True) for place in settings.find_links]
    calls = [
        (page, partial(_read_place, settings, page, forbidden_is_absent=forbidden_is_absent))
        for _index, page, forbidden_is_absent in pages
    ]
    answers = zip(pages, _run_concurrently(calls, settings.timeout), strict=True)
    offers = ((place, offer) for (place, _page, _absent), page in answers for offer in page)
    found = [
        _describe(offer, place) for place, offer in offers if not offer.link.is_yanked and wanted(offer.link.filename)
    ]
    for place in settings.find_links:
        directory = local_path(place)
        if directory is not None and directory.is_dir():
            found += (replace(each, index=name_place(place)) for each in read_wheelhouse(directory, wanted))
    return tuple(found)


def _locate_page(index: str, name: str) -> str:
    directory = local_path(index)
    return f"{index.rstrip('/')}/{name}/" if directory is None else str(directory / name / "index.html")


def _read_place(settings: PipSettings, place: str, *, forbidden_is_absent: bool) -> tuple[OfferedFile, ...]:
    path = local_path(place)
    if path is not None:
        return _read_file(path)
    with closing(Web(settings)) as web:  # each thread opens and closes its own client
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


def _run_concurrently(calls: Iterable[tuple[str, Callable[[], T]]], timeout: float) -> list[T]:
    """Make each call in a thread of its own; return the results in order, or raise the error of the first failed call.

    The threads are daemons, so that an interruption need not wait for a silent server.

    Args:
        calls: pairs of a URL, for messages, and the function to call.
        timeout: seconds that a request waits for a server's answer.
    """

    def look_up(future: Future[T], call: Callable[[], T]) -> None:
        try:
            future.set_result(call())
        except BaseException as error:  # noqa: BLE001 (it is raised where the result is asked for)
            future.set_exception(error)

    futures: dict[Future[T], str] = {}
    for url, call in calls:
        future: Future[T] = Future()
        futures[future] = url
        threading.Thread(target=look_up, args=(future, call), daemon=True).start()
    patience = _compute_patience(timeout) + (ATTEMPTS - 1) * _LONGEST_PAUSE
    ended = wait_for_futures(tuple(futures), patience)
    pending = [remove_credentials(url) for future, url in futures.items() if future not in ended]
    if pending:
        raise FailedError(
            f"cannot reach {_INDEX}: {listing(pending)}: no complete answer within {patience:g} s", hint=OFFLINE_HINT
        )
    return [future.result() for future in futures]


def _compute_patience(timeout: float) -> float:
    """Return how many seconds to wait for a complete answer to a request, including its retries.

    Each attempt may wait for a connection, and then for an answer.
    """
    return 2 * ATTEMPTS * timeout + 1
