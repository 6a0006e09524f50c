"""Real attestations with the files that they are for, out of the sdist of pypi-attestations, from an index of ours."""

import hashlib
import json
import os
import sys
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.index.server import SimpleIndex, content_answer, serving, status_answer

from fastinstall.core.errors import ExitCode, FailedError
from fastinstall.core.events import Event, Noted, ignore
from fastinstall.index import lookup
from fastinstall.index.attestations import Attestation, AttestationVerdict, read_recorded_attestation
from fastinstall.index.downloads import find_stored_file
from fastinstall.index.offers import PackageIndex
from fastinstall.index.pip_indexes import PipSettings, pip_settings
from fastinstall.model.artefact import Artefact

SOURCE = "pypi_attestations-0.0.30.tar.gz"
NAME = "pypi-attestations"
FILE = "pypi_attestations-0.0.19.tar.gz"
OTHER = "gcb_attestation_test-0.0.0.tar.gz"
PUBLISHER = "GitHub trailofbits/pypi-attestations release.yml"
DOCUMENT = f"/integrity/{FILE}/provenance"
Change = Callable[[dict[str, Any]], None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A distribution and what its index published of its origin."""

    content: bytes
    provenance: bytes


@pytest.fixture(scope="module")
def assets(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Asset]:
    settings = pip_settings(Path(sys.executable), os.environ)
    (sdist,) = lookup.ask_indexes(settings, (NAME,), lambda name: name == SOURCE)
    archive = PackageIndex(settings=settings).fetch(sdist, tmp_path_factory.mktemp("assets"), ignore)
    with tarfile.open(archive) as tar:
        return {
            name: Asset(content=_read(tar, name), provenance=_read(tar, f"{name}.provenance")) for name in (FILE, OTHER)
        }


def _read(tar: tarfile.TarFile, name: str) -> bytes:
    stream = tar.extractfile(f"{SOURCE.removesuffix('.tar.gz')}/test/assets/{name}")
    assert stream is not None
    return stream.read()


@pytest.fixture(autouse=True)
def _home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Sigstore keeps its trust root below the home directory."""
    monkeypatch.setenv("HOME", str(tmp_path / "home"))


@pytest.fixture
def server() -> Iterator[SimpleIndex]:
    with serving() as index:
        yield index


def publish(server: SimpleIndex, content: bytes, document: bytes | None) -> PackageIndex:
    """An index with the file, its true hash, and a provenance document."""
    attributes = f'data-provenance="http://{server.host}{DOCUMENT}"' if document is not None else ""
    server.offer(NAME, {FILE: content}, attributes=attributes)
    if document is not None:
        server.answers[DOCUMENT] = content_answer(document, "application/vnd.pypi.integrity.v1+json")
    return PackageIndex(settings=PipSettings(index_url=server.url))


def offered(index: PackageIndex) -> Artefact:
    assert isinstance(index.settings, PipSettings)
    (artefact,) = lookup.ask_indexes(index.settings, (NAME,), lambda name: name == FILE)
    return artefact


def kept(cache: Path) -> list[str]:
    return [path.name for path in cache.rglob("*") if path.is_file()]


def test_a_file_is_verified_and_its_publisher_is_named_and_remembered(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path
) -> None:
    index = publish(server, assets[FILE].content, assets[FILE].provenance)
    artefact = offered(index)
    events: list[Event] = []

    assert index.fetch(artefact, tmp_path, events.append).read_bytes() == assets[FILE].content
    index.fetch(artefact, tmp_path, events.append)

    assert _recorded(tmp_path, artefact) == Attestation(verdict=AttestationVerdict.VERIFIED, publishers=(PUBLISHER,))
    noted = [event.message for event in events if isinstance(event, Noted)]
    assert noted == [f"{FILE}: attested by {PUBLISHER}"]
    assert server.asked.count(DOCUMENT) == 1


def test_an_index_that_answers_in_json_is_understood_too(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path
) -> None:
    index = publish(server, assets[FILE].content, assets[FILE].provenance)
    file = {
        "url": f"http://{server.host}/files/{FILE}",
        "hashes": {"sha256": hashlib.sha256(assets[FILE].content).hexdigest()},
        "provenance": f"http://{server.host}{DOCUMENT}",
    }
    page = json.dumps({"meta": {"api-version": "1.3"}, "files": [file]}).encode()
    server.answers[f"/simple/{NAME}/"] = content_answer(page, "application/vnd.pypi.simple.v1+json")
    artefact = offered(index)

    index.fetch(artefact, tmp_path, ignore)

    assert _recorded(tmp_path, artefact).publishers == (PUBLISHER,)


def test_a_file_that_was_altered_with_its_hash_is_refused_and_not_kept(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path
) -> None:
    index = publish(server, assets[FILE].content + b"\0", assets[FILE].provenance)
    cache = tmp_path / "cache"

    with pytest.raises(FailedError, match="does not match distribution digest") as failed:
        index.fetch(offered(index), cache, ignore)

    assert failed.value.exit_code == ExitCode.FAILED_UNCHANGED
    assert FILE in failed.value.message
    assert kept(cache) == []


def _other_publisher(document: dict[str, Any]) -> None:
    document["attestation_bundles"][0]["publisher"]["repository"] = "somebody/else"


def _other_workflow(document: dict[str, Any]) -> None:
    document["attestation_bundles"][0]["publisher"]["workflow"] = "other.yml"


def _other_signature(document: dict[str, Any]) -> None:
    envelope = document["attestation_bundles"][0]["attestations"][0]["envelope"]
    envelope["signature"] = (
        envelope["signature"][:20] + ("A" if envelope["signature"][20] != "A" else "B") + envelope["signature"][21:]
    )


def _no_log(document: dict[str, Any]) -> None:
    material = document["attestation_bundles"][0]["attestations"][0]["verification_material"]
    del material["transparency_entries"][0]["inclusionProof"]


def _no_attestation(document: dict[str, Any]) -> None:
    document["attestation_bundles"] = []


@pytest.mark.parametrize("change", [_other_publisher, _other_workflow, _other_signature, _no_log, _no_attestation])
def test_an_altered_attestation_is_refused(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path, change: Change
) -> None:
    document = json.loads(assets[FILE].provenance)
    change(document)
    index = publish(server, assets[FILE].content, json.dumps(document).encode())
    cache = tmp_path / "cache"

    with pytest.raises(FailedError, match=r"its attestation is invalid: ."):
        index.fetch(offered(index), cache, ignore)

    assert kept(cache) == []


@pytest.mark.parametrize("document", [b"", b"{}", b"[]", b"<html>", b'{"version": 2, "attestation_bundles": []}'])
def test_a_document_that_is_none_is_refused(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path, document: bytes
) -> None:
    index = publish(server, assets[FILE].content, document)

    with pytest.raises(FailedError, match=r"its attestation is invalid: ."):
        index.fetch(offered(index), tmp_path / "cache", ignore)


def test_the_attestation_of_another_file_is_refused(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path
) -> None:
    index = publish(server, assets[FILE].content, assets[OTHER].provenance)

    with pytest.raises(FailedError, match="does not match distribution name"):
        index.fetch(offered(index), tmp_path / "cache", ignore)


def test_a_file_that_was_kept_before_is_verified_once_that_is_possible(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = publish(server, assets[FILE].content, assets[FILE].provenance)
    artefact = offered(index)
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pypi_attestations", None)  # as if the extra were not installed
        index.fetch(artefact, tmp_path, ignore)
        before = _recorded(tmp_path, artefact)

    index.fetch(artefact, tmp_path, ignore)

    assert before.verdict is AttestationVerdict.UNVERIFIABLE
    assert "pip install 'fastinstall[attestations]'" in before.reason
    assert _recorded(tmp_path, artefact).verdict is AttestationVerdict.VERIFIED


def test_a_file_that_was_kept_before_goes_once_its_attestation_proves_invalid(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    index = publish(server, assets[FILE].content + b"\0", assets[FILE].provenance)
    artefact, cache = offered(index), tmp_path / "cache"
    with monkeypatch.context() as without:
        without.setitem(sys.modules, "pypi_attestations", None)  # as if the extra were not installed
        index.fetch(artefact, cache, ignore)
    assert FILE in kept(cache)

    with pytest.raises(FailedError, match="does not match distribution digest"):
        index.fetch(artefact, cache, ignore)

    assert kept(cache) == []


def test_an_attestation_that_cannot_be_had_is_said_and_no_failure(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path
) -> None:
    index = publish(server, assets[FILE].content, assets[FILE].provenance)
    server.answers[DOCUMENT] = status_answer(404)
    artefact = offered(index)
    events: list[Event] = []

    index.fetch(artefact, tmp_path, events.append)

    assert _recorded(tmp_path, artefact).verdict is AttestationVerdict.UNVERIFIABLE
    assert any(isinstance(event, Noted) and "404" in event.message for event in events)


def test_where_none_is_published_nothing_is_asked_for(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path
) -> None:
    index = publish(server, assets[FILE].content, None)
    artefact = offered(index)
    events: list[Event] = []

    index.fetch(artefact, tmp_path, events.append)

    stored = find_stored_file(tmp_path, artefact)
    assert stored is not None
    assert read_recorded_attestation(stored) is None
    assert not any(isinstance(event, Noted) for event in events)
    assert server.asked == [f"/simple/{NAME}/", f"/files/{FILE}"]


def test_offline_what_was_verified_before_is_known(
    server: SimpleIndex, assets: dict[str, Asset], tmp_path: Path
) -> None:
    index = publish(server, assets[FILE].content, assets[FILE].provenance)
    artefact = offered(index)
    index.fetch(artefact, tmp_path, ignore)
    server.asked.clear()

    PackageIndex(settings=PipSettings(), offline=True).fetch(artefact, tmp_path, ignore)

    assert server.asked == []
    assert _recorded(tmp_path, artefact).verdict is AttestationVerdict.VERIFIED


def _recorded(cache: Path, artefact: Artefact) -> Attestation:
    """What is known of a file that was fetched."""
    path = find_stored_file(cache, artefact)
    found = read_recorded_attestation(path) if path is not None else None
    assert found is not None
    return found
