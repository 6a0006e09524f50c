import hashlib
import io
import os
import signal
import socket
import ssl
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest
from support.index.server import (
    Answer,
    SimpleIndex,
    broken_answer,
    content_answer,
    in_turn,
    self_signed,
    serving,
    status_answer,
)
from support.values.builders import changed, healthy_facts, recipe

from fastinstall.core.errors import ExitCode, FailedError, RefusedError
from fastinstall.core.events import Event, Progressed, ignore
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip import PipSettings, pip_settings
from fastinstall.model.artefact import Releases

INTERPRETER = healthy_facts().interpreter
SDIST = "pillow_simd-12.1.1.post0.tar.gz"
WHEEL = "pillow-12.1.1-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
PATIENCE = 0.25  # seconds; how long a client waits for an answer that never comes


def sdist() -> bytes:
    metadata = b"Metadata-Version: 2.4\nRequires-Python: >=3.10\n"
    content = io.BytesIO()
    with tarfile.open(fileobj=content, mode="w:gz") as archive:
        member = tarfile.TarInfo("pillow_simd-12.1.1.post0/PKG-INFO")
        member.size = len(metadata)
        archive.addfile(member, io.BytesIO(metadata))
        ballast = os.urandom(200_000)
        member = tarfile.TarInfo("pillow_simd-12.1.1.post0/ballast")
        member.size = len(ballast)
        archive.addfile(member, io.BytesIO(ballast))
    return content.getvalue()


CONTENT = sdist()


@pytest.fixture
def server() -> Iterator[SimpleIndex]:
    with serving() as index:
        index.offer("pillow-simd", {SDIST: CONTENT}, attributes='data-requires-python="&gt;=3.10"')
        index.offer("pillow", {WHEEL: b"a wheel"})
        yield index


LINKING = changed(
    recipe(),
    {
        "name": "pillow-fast",
        "source": {"pypi": "pillow"},
        "libraries": {
            "jpeg": {
                "static": {
                    "pypi": "fast-jpeg",
                    "directory": "src",
                    "configure": [],
                    "archive": "libjpeg.a",
                    "headers": ["."],
                    "reason": "a test",
                }
            }
        },
    },
)
UPSTREAM = "pillow-13.0.0.tar.gz"
LINKED = "fast_jpeg-3.0.tar.gz"


def hang(server: SimpleIndex) -> Answer:
    def answer(_request: BaseHTTPRequestHandler) -> None:
        server.released.wait(60)

    return answer


def asking(url: str, timeout: float = 10.0, **settings: tuple[str, ...]) -> PackageIndex:
    return PackageIndex(settings=PipSettings(index_url=url, timeout=timeout, **settings))  # type: ignore[arg-type]


def releases(index: PackageIndex) -> Releases:
    return index.releases(recipe(), INTERPRETER)


def test_an_index_offers_sdists_and_official_wheels_with_hashes(server: SimpleIndex) -> None:
    found = releases(asking(server.url))

    assert [each.filename for each in found.sources] == [SDIST]
    assert [each.filename for each in found.wheels] == [WHEEL]
    assert found.sources[0].sha256 == hashlib.sha256(CONTENT).hexdigest()
    assert found.sources[0].requires_python == ">=3.10"
    assert found.sources[0].url == f"http://{server.host}/files/{SDIST}"
    assert found.origin == "the package index"


def test_a_file_is_downloaded_once_with_progress_to_its_end(server: SimpleIndex, tmp_path: Path) -> None:
    index = asking(server.url)
    source = releases(index).sources[0]
    events: list[Event] = []

    path = index.fetch(source, tmp_path, events.append)
    again = index.fetch(source, tmp_path, events.append)

    assert path.read_bytes() == CONTENT
    assert again == path
    assert server.asked.count(f"/files/{SDIST}") == 1
    assert events[-1] == Progressed(stage="download", done=len(CONTENT), total=len(CONTENT))


def test_yanked_files_are_not_offered(server: SimpleIndex) -> None:
    server.offer("pillow-simd", {"pillow_simd-12.2.0.post0.tar.gz": b"", SDIST: CONTENT}, attributes='data-yanked=""')

    with pytest.raises(FailedError, match="sdist of pillow-simd"):
        releases(asking(server.url))


def test_a_wrong_hash_fails_with_both_hashes_and_changes_nothing(server: SimpleIndex, tmp_path: Path) -> None:
    server.offer("pillow-simd", {SDIST: CONTENT}, sha256="0" * 64)
    index = asking(server.url)

    with pytest.raises(FailedError) as failed:
        index.fetch(releases(index).sources[0], tmp_path, ignore)

    assert failed.value.exit_code == ExitCode.FAILED_UNCHANGED
    for expected in (SDIST, "0" * 64, hashlib.sha256(CONTENT).hexdigest()):
        assert expected in failed.value.message
    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


def test_a_silent_server_is_given_up_after_a_bounded_time(server: SimpleIndex) -> None:
    server.answers["/simple/pillow-simd/"] = hang(server)
    began = time.monotonic()

    with pytest.raises(FailedError, match=rf"cannot reach .*: {server.url}/pillow-simd/: no answer within") as failed:
        releases(asking(server.url, timeout=PATIENCE))

    assert time.monotonic() - began < 3 * PATIENCE + 20
    while server.asked.count("/simple/pillow-simd/") < 3 and time.monotonic() < began + 60:
        time.sleep(0.01)  # the server may record a request only after the client has given up
    assert server.asked.count("/simple/pillow-simd/") == 3
    assert "--offline --wheelhouse DIR" in (failed.value.hint or "")
    assert "tried up to 3 times" in failed.value.details[0]


def test_a_port_where_nobody_listens_is_named() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{unused.getsockname()[1]}/simple"

        with pytest.raises(FailedError, match=f"cannot reach the package index: {url}/pillow-simd/") as failed:
            releases(asking(url))

    assert failed.value.exit_code == ExitCode.FAILED_UNCHANGED


LOGIN = b"<html><head><title>Sign in</title></head><body><form action=/go><input name=user></form></body></html>"


@pytest.mark.parametrize(
    ("page", "is_index"),
    {
        "a form": (LOGIN, False),
        "a portal that leads on": (b"<html><meta http-equiv='refresh' content='0;url=/login'></html>", False),
        "a portal that leads on by a script": (b"<html><script>location='/login'</script></html>", False),
        "nothing is left of it": (b"<!DOCTYPE html><html><body><h1>Links for pillow</h1></body></html>", True),
        "a list without our files": (b'<a href="pillow-1.0.zip">pillow-1.0.zip</a> <a href="../">up</a>', True),
        "a list with a form above it": (LOGIN + f'<a href="/files/{WHEEL}">{WHEEL}</a>'.encode(), True),
    }.values(),
)
def test_a_login_page_in_place_of_an_index_page_is_named(server: SimpleIndex, page: bytes, *, is_index: bool) -> None:
    server.answers["/simple/pillow/"] = content_answer(page, "text/html; charset=utf-8")
    if is_index:
        releases(asking(server.url))
        return
    with pytest.raises(FailedError, match="not an index page") as caught:
        releases(asking(server.url))
    assert f"{server.url}/pillow/" in caught.value.message
    assert f"curl -L {server.url}/pillow/" in (caught.value.hint or "")


def test_a_redirect_to_a_login_page_is_named_with_where_it_led(server: SimpleIndex) -> None:
    server.answers["/simple/pillow/"] = status_answer(302, Location="/login?next=/simple/pillow/&key=hunter22")
    server.answers["/login"] = server.answers["/login?next=/simple/pillow/&key=hunter22"] = content_answer(
        b"<html><body>Welcome</body></html>", "text/html"
    )
    with pytest.raises(FailedError, match="not an index page") as caught:
        releases(asking(server.url))
    assert f"{server.url}/pillow/" in caught.value.message
    assert "/login" in caught.value.message
    assert "hunter22" not in caught.value.message


def test_an_unreachable_index_is_not_needed_if_all_is_cached(server: SimpleIndex, tmp_path: Path) -> None:
    index = replace(asking(server.url), cache=tmp_path)
    settings = PipSettings(index_url=server.url, proxy="http://127.0.0.1:9", timeout=PATIENCE)
    unreachable = PackageIndex(settings=settings)
    index.fetch(releases(index).sources[0], tmp_path, ignore)
    with pytest.raises(FailedError, match="cannot reach") as caught:
        releases(replace(unreachable, cache=tmp_path))
    assert "downloaded before: --offline" in (caught.value.hint or "")
    assert "--wheelhouse" in (caught.value.hint or "")
    assert releases(replace(index, offline=True)).sources


def test_a_distribution_the_index_lacks_is_named_with_the_query(server: SimpleIndex) -> None:
    del server.answers["/simple/pillow-simd/"]

    with pytest.raises(FailedError, match="sdist of pillow-simd") as failed:
        releases(asking(server.url))

    assert failed.value.details == (f"asked: {server.url}",)


def test_a_base_wheel_that_the_index_does_not_have_is_no_failure(server: SimpleIndex) -> None:
    del server.answers["/simple/pillow/"]

    assert releases(asking(server.url)).wheels == ()


def test_a_server_that_is_busy_is_asked_again(server: SimpleIndex, tmp_path: Path) -> None:
    for path, answer in list(server.answers.items()):
        server.answers[path] = in_turn(status_answer(503), answer)
    index = asking(server.url)

    assert index.fetch(releases(index).sources[0], tmp_path, ignore).read_bytes() == CONTENT


def test_a_download_that_breaks_off_is_begun_again(server: SimpleIndex, tmp_path: Path) -> None:
    path = f"/files/{SDIST}"
    server.answers[path] = in_turn(broken_answer(CONTENT), server.answers[path])
    index = asking(server.url)

    assert index.fetch(releases(index).sources[0], tmp_path, ignore).read_bytes() == CONTENT
    assert server.asked.count(path) == 2


def test_a_file_is_kept_as_stored_even_if_declared_encoded(server: SimpleIndex, tmp_path: Path) -> None:
    server.answers[f"/files/{SDIST}"] = content_answer(CONTENT, "application/x-tar", Content_Encoding="gzip")
    index = asking(server.url)

    assert index.fetch(releases(index).sources[0], tmp_path, ignore).read_bytes() == CONTENT


def test_redirects_are_followed(server: SimpleIndex, tmp_path: Path) -> None:
    server.answers["/files/elsewhere"] = server.answers[f"/files/{SDIST}"]
    server.answers[f"/files/{SDIST}"] = status_answer(302, Location="/files/elsewhere")
    index = asking(server.url)

    assert index.fetch(releases(index).sources[0], tmp_path, ignore).read_bytes() == CONTENT


@pytest.fixture
def encrypted(server: SimpleIndex, tmp_path: Path) -> Iterator[tuple[SimpleIndex, PipSettings]]:
    """Yield an index behind TLS, and pip settings with its certificate."""
    certificate = self_signed(tmp_path)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate)
    with serving(context) as index:
        index.answers.update(server.answers)
        yield index, PipSettings(index_url=f"https://{index.host}/simple", certificate=certificate)


def test_no_redirect_leads_from_https_to_an_untrusted_http_page(
    server: SimpleIndex, encrypted: tuple[SimpleIndex, PipSettings]
) -> None:
    index, settings = encrypted
    index.answers["/simple/pillow-simd/"] = status_answer(302, Location="/simple/hop/")
    index.answers["/simple/hop/"] = status_answer(301, Location=f"http://{server.host}/simple/pillow-simd/")

    with pytest.raises(RefusedError, match=f"/simple/hop/: .* http://{server.host}/") as refused:
        releases(PackageIndex(settings=settings))

    assert "/simple/pillow-simd/" not in server.asked
    assert f"trusted-host {server.host}" in (refused.value.hint or "")
    trusting = replace(settings, trusted_hosts=(server.host,))
    assert releases(PackageIndex(settings=trusting)).sources


@pytest.mark.parametrize("place", ["http://{host}/files/{name}", "file://{directory}/{name}"])
def test_a_file_of_an_encrypted_index_comes_encrypted(
    server: SimpleIndex, encrypted: tuple[SimpleIndex, PipSettings], tmp_path: Path, place: str
) -> None:
    index, settings = encrypted
    asked = PackageIndex(settings=settings)
    source = releases(asked).sources[0]
    (tmp_path / SDIST).write_bytes(CONTENT)
    location = place.format(host=server.host, name=SDIST, directory=tmp_path)
    index.answers[f"/files/{SDIST}"] = status_answer(307, Location=location)

    with pytest.raises(RefusedError, match=r"without HTTPS|which is no web address"):
        asked.fetch(source, tmp_path / "cache", ignore)

    assert f"/files/{SDIST}" not in server.asked


def test_a_file_of_this_machine_is_no_answer_of_an_index(server: SimpleIndex, tmp_path: Path) -> None:
    (tmp_path / SDIST).write_bytes(CONTENT)
    server.answers[f"/files/{SDIST}"] = status_answer(302, Location=(tmp_path / SDIST).as_uri())
    index = asking(server.url)

    with pytest.raises(RefusedError, match="which is no web address"):
        index.fetch(releases(index).sources[0], tmp_path / "cache", ignore)


def test_an_index_offers_no_files_of_this_machine(server: SimpleIndex, tmp_path: Path) -> None:
    newer = SDIST.replace("12.1.1", "12.1.2")
    (tmp_path / newer).write_bytes(CONTENT)
    links = f'<a href="{(tmp_path / newer).as_uri()}">{newer}</a><a href="../../files/{SDIST}">{SDIST}</a>'
    server.answers["/simple/pillow-simd/"] = content_answer(links.encode(), "text/html")

    assert [each.filename for each in releases(asking(server.url)).sources] == [SDIST]


def test_a_trusted_index_leads_to_no_other_one_without_https(server: SimpleIndex) -> None:
    server.answers["/simple/pillow-simd/"] = status_answer(302, Location="http://index.invalid/simple/pillow-simd/")

    with pytest.raises(RefusedError, match=r"http://index\.invalid/simple/pillow-simd/: neither HTTPS"):
        releases(asking(server.url))


def test_credentials_reach_pages_and_files_but_never_artefacts(server: SimpleIndex, tmp_path: Path) -> None:
    server.credentials = "user:hunter2"
    index = asking(server.url_with_credentials)

    source = releases(index).sources[0]

    assert "hunter2" not in repr((index, source))
    assert index.fetch(source, tmp_path, ignore).read_bytes() == CONTENT


@pytest.mark.parametrize("answer", [status_answer(403), status_answer(503), content_answer(b"PK", "application/zip")])
def test_credentials_are_kept_out_of_messages(server: SimpleIndex, answer: Answer) -> None:
    server.credentials = "user:hunter2"
    server.answers["/simple/pillow-simd/"] = answer

    with pytest.raises(FailedError) as failed:
        releases(asking(server.url_with_credentials))

    assert "hunter2" not in repr((failed.value.message, failed.value.hint, failed.value.details))


def test_a_missing_password_fails_and_says_where_to_put_it(server: SimpleIndex) -> None:
    server.credentials = "user:hunter2"

    with pytest.raises(FailedError, match="401 Unauthorized") as failed:
        releases(asking(server.url))

    assert ".netrc" in (failed.value.hint or "")


def test_an_extra_index_answering_403_for_a_project_is_skipped(server: SimpleIndex) -> None:
    with serving() as extra:
        extra.answers["/simple/pillow-simd/"] = status_answer(403)
        found = releases(asking(server.url, extra_index_urls=(extra.url,)))

    assert [each.filename for each in found.sources] == [SDIST]


def test_an_index_without_encryption_is_refused_unless_trusted() -> None:
    with pytest.raises(RefusedError, match="neither HTTPS nor") as refused:
        releases(asking("http://index.invalid/simple"))

    assert "trusted-host index.invalid" in (refused.value.hint or "")


def test_an_address_that_is_none_is_a_failure_and_no_bug() -> None:
    with pytest.raises(FailedError, match="cannot reach the package index"):
        releases(asking("https://[not-an-address/simple"))


@pytest.mark.parametrize("content", [None, "not a certificate"])
def test_certificates_that_cannot_be_used_are_named(tmp_path: Path, content: str | None) -> None:
    certificate = tmp_path / "company.pem"
    if content is not None:
        certificate.write_text(content)
    index = PackageIndex(settings=PipSettings(certificate=certificate))

    with pytest.raises(FailedError, match=r"cannot use the certificates .*company\.pem"):
        releases(index)


def test_a_local_index_and_a_directory_of_files_are_asked_too(server: SimpleIndex, tmp_path: Path) -> None:
    page = tmp_path / "simple" / "pillow" / "index.html"
    page.parent.mkdir(parents=True)
    later = WHEEL.replace("12.1.1", "12.2.0")
    page.write_text(f'<a href="../../files/{later}#sha256={"a" * 64}">{later}</a>')
    links = tmp_path / "links"
    links.mkdir()
    (links / SDIST.replace("12.1.1", "12.2.0")).write_bytes(CONTENT)

    found = releases(asking(server.url, extra_index_urls=((tmp_path / "simple").as_uri(),), find_links=(str(links),)))

    assert [each.version for each in found.wheels] == ["12.2.0", "12.1.1"]
    assert found.wheels[0].url == (tmp_path / "files" / later).as_uri()
    assert [each.version for each in found.sources] == ["12.2.0.post0", "12.1.1.post0"]


def test_no_index_leaves_the_index_alone(server: SimpleIndex, tmp_path: Path) -> None:
    (tmp_path / SDIST).write_bytes(CONTENT)
    settings = PipSettings(index_url=server.url, find_links=(str(tmp_path),), no_index=True)

    found = releases(PackageIndex(settings=settings))

    assert server.asked == []
    assert [each.filename for each in found.sources] == [SDIST]


def test_offline_only_the_wheelhouse_is_asked_and_files_copied(server: SimpleIndex, tmp_path: Path) -> None:
    house = tmp_path / "house with spaces é"
    house.mkdir()
    (house / SDIST).write_bytes(CONTENT)
    index = PackageIndex(settings=PipSettings(index_url=server.url), wheelhouse=house, offline=True)

    found = releases(index)
    path = index.fetch(found.sources[0], tmp_path / "cache", ignore)

    assert server.asked == []
    assert path.read_bytes() == CONTENT
    assert path.stat().st_ino != (house / SDIST).stat().st_ino
    assert found.sources[0].requires_python == ">=3.10"
    assert found.origin == f"the wheelhouse {house}"


def test_offline_what_was_downloaded_before_is_on_offer(server: SimpleIndex, tmp_path: Path) -> None:
    online = asking(server.url)
    source = releases(online).sources[0]
    path = online.fetch(source, tmp_path, ignore)
    offline = replace(online, offline=True, cache=tmp_path)

    found = releases(offline)

    assert [(each.filename, each.sha256) for each in found.sources] == [(SDIST, source.sha256)]
    assert offline.fetch(source, tmp_path, ignore) == path


def test_offline_a_file_of_an_unconfigured_index_is_not_offered(server: SimpleIndex, tmp_path: Path) -> None:
    online = asking(server.url)
    online.fetch(releases(online).sources[0], tmp_path, ignore)
    other = PackageIndex(settings=PipSettings(), offline=True, cache=tmp_path)

    with pytest.raises(FailedError) as caught:
        releases(other)

    assert [line for line in caught.value.details if SDIST in line and server.url in line]


def test_a_wheelhouse_file_is_in_the_cache_for_this_process_only(tmp_path: Path) -> None:
    house, cache = tmp_path / "house", tmp_path / "cache"
    house.mkdir()
    (house / SDIST).write_bytes(CONTENT)
    index = PackageIndex(settings=PipSettings(), offline=True, wheelhouse=house, cache=cache)
    path = index.fetch(releases(index).sources[0], cache, ignore)
    assert path.read_bytes() == CONTENT

    with pytest.raises(FailedError):
        releases(replace(index, wheelhouse=None))
    assert not (cache / "downloads").exists()


def test_offline_a_planned_file_is_taken_from_the_wheelhouse(server: SimpleIndex, tmp_path: Path) -> None:
    source = releases(asking(server.url)).sources[0]
    (tmp_path / SDIST).write_bytes(CONTENT)
    offline = PackageIndex(settings=PipSettings(), wheelhouse=tmp_path, offline=True)

    assert offline.fetch(source, tmp_path / "cache", ignore).read_bytes() == CONTENT


def test_offline_a_missing_file_fails_and_says_how_to_get_it(server: SimpleIndex, tmp_path: Path) -> None:
    source = releases(asking(server.url)).sources[0]
    offline = PackageIndex(settings=PipSettings(), offline=True)

    with pytest.raises(FailedError, match=f"offline, and {SDIST} is not in the cache") as failed:
        offline.fetch(source, tmp_path, ignore)

    assert "--wheelhouse DIR" in (failed.value.hint or "")


def test_offline_with_nothing_to_build_from_is_a_failure(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match=f"looked in the wheelhouse {tmp_path}"):
        releases(PackageIndex(settings=PipSettings(), wheelhouse=tmp_path, offline=True))


def test_a_damaged_wheel_of_ours_in_the_wheelhouse_is_named(tmp_path: Path) -> None:
    wheel = tmp_path / WHEEL.replace("12.1.1", "12.1.1+simd.v3")
    wheel.write_bytes(b"PK but no wheel")

    with pytest.raises(FailedError, match="damaged") as failed:
        releases(PackageIndex(settings=PipSettings(), wheelhouse=tmp_path, offline=True))

    assert wheel.name in failed.value.message
    assert failed.value.exit_code == ExitCode.FAILED_UNCHANGED


def test_an_interruption_does_not_wait_for_a_silent_server(
    server: SimpleIndex,
) -> None:
    def interrupt(request: BaseHTTPRequestHandler) -> None:
        os.kill(os.getpid(), signal.SIGINT)
        hang(server)(request)

    server.answers["/simple/pillow-simd/"] = interrupt
    began = time.monotonic()

    with pytest.raises(KeyboardInterrupt):
        releases(asking(server.url, timeout=60))

    assert time.monotonic() - began < 60


def test_a_recipe_asks_once_for_each_distribution_that_goes_in(server: SimpleIndex) -> None:
    server.offer("pillow", {WHEEL: b"a wheel", UPSTREAM: CONTENT})
    server.offer("fast-jpeg", {LINKED: CONTENT})

    found = asking(server.url).releases(LINKING, INTERPRETER)

    assert sorted(server.asked) == ["/simple/fast-jpeg/", "/simple/pillow/", "/simple/ziglang/"]
    assert [each.filename for each in found.sources] == [UPSTREAM]
    assert [each.filename for each in found.statics["jpeg"]] == [LINKED]


def test_what_goes_in_is_looked_up_at_the_same_time(server: SimpleIndex) -> None:
    server.offer("pillow", {WHEEL: b"a wheel", UPSTREAM: CONTENT})
    together = threading.Barrier(2, timeout=10)

    def met(answer: Answer) -> Answer:
        def wait(request: BaseHTTPRequestHandler) -> None:
            together.wait()  # raises an error unless both requests arrive before either is answered
            answer(request)

        return wait

    for name in ("pillow", "fast-jpeg"):
        path = f"/simple/{name}/"
        server.answers[path] = met(server.answers.get(path, status_answer(404)))

    assert len(asking(server.url).releases(LINKING, INTERPRETER).sources) == 1


def test_an_ingredient_missing_from_the_index_is_no_failure(server: SimpleIndex) -> None:
    server.offer("pillow", {UPSTREAM: CONTENT})

    found = asking(server.url).releases(LINKING, INTERPRETER)

    assert found.statics == {"jpeg": ()}


def test_of_several_recipes_each_distribution_is_looked_up_once(server: SimpleIndex) -> None:
    server.offer("pillow", {WHEEL: b"a wheel", UPSTREAM: CONTENT})

    found = asking(server.url).releases_for((recipe(), LINKING), INTERPRETER)

    assert len(server.asked) == len(set(server.asked)) == 4
    assert [each.filename for each in found["pillow-simd"].sources] == [SDIST]
    assert [each.filename for each in found["pillow-fast"].sources] == [UPSTREAM]


def test_offline_ingredients_come_from_the_wheelhouse_and_cache(server: SimpleIndex, tmp_path: Path) -> None:
    server.offer("pillow", {UPSTREAM: CONTENT})
    cache, house = tmp_path / "cache", tmp_path / "house"
    online = asking(server.url)
    online.fetch(online.releases(LINKING, INTERPRETER).sources[0], cache, ignore)
    house.mkdir()
    (house / LINKED).write_bytes(CONTENT)

    offline = replace(online, offline=True, wheelhouse=house, cache=cache)
    found = offline.releases(LINKING, INTERPRETER)

    assert [each.filename for each in (*found.sources, *found.statics["jpeg"])] == [UPSTREAM, LINKED]


def test_our_wheel_is_taken_only_by_the_recipe_that_built_it(tmp_path: Path) -> None:
    wheel = tmp_path / WHEEL.replace("12.1.1", "12.1.1+simd.v3")
    with zipfile.ZipFile(wheel, "w") as archive:
        archive.writestr("pillow-12.1.1+simd.v3.dist-info/METADATA", "Name: pillow")
        archive.writestr("pillow-12.1.1+simd.v3.dist-info/fastinstall.json", '{"recipe": "pillow-fast"}')
    index = PackageIndex(settings=PipSettings(), wheelhouse=tmp_path, offline=True)

    found = index.releases_for((recipe(), LINKING), INTERPRETER)

    assert found["pillow-simd"].prebuilt == ()
    assert [each.filename for each in found["pillow-fast"].prebuilt] == [wheel.name]
    with pytest.raises(FailedError) as caught:
        index.releases(recipe(), INTERPRETER)
    (skipped,) = caught.value.details
    assert f"{wheel.name}: the recipe 'pillow-fast'" in skipped


def test_the_real_index_has_pillow_simd_and_official_wheels(tmp_path: Path) -> None:
    index = PackageIndex(settings=pip_settings(Path(sys.executable), os.environ))

    found = releases(index)

    assert "12.1.1.post0" in {each.version for each in found.sources}
    assert "12.1.1" in {each.version for each in found.wheels}
    assert all(each.sha256 for each in (*found.sources, *found.wheels))
    source = next(each for each in found.sources if each.version == "12.1.1.post0")
    assert source.requires_python == ">=3.10"
    path = index.fetch(source, tmp_path, ignore)
    assert hashlib.sha256(path.read_bytes()).hexdigest() == source.sha256
