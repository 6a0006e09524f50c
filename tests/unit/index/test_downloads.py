import hashlib
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest

from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.index.downloads import (
    copy_local_file,
    discarding_refused,
    find_stored_file,
    list_offered_files,
    list_stored_files,
    record_offers,
    store_download,
)
from fastinstall.model.artefact import Artefact

CONTENT = b"an sdist"
INDEX = "https://index.example/simple"
ARTEFACT = Artefact(
    name="pillow-simd",
    version="12.1.1.post0",
    filename="pillow_simd-12.1.1.post0.tar.gz",
    url="https://index.example/pillow_simd-12.1.1.post0.tar.gz",
    sha256=hashlib.sha256(CONTENT).hexdigest(),
    index=INDEX,
)


def is_sdist(name: str) -> bool:
    return name.endswith(".tar.gz")


def write(path: Path) -> None:
    path.write_bytes(CONTENT)


def test_a_file_is_kept_under_its_hash_and_found_again(tmp_path: Path) -> None:
    path = store_download(tmp_path, ARTEFACT, write)

    digest = ARTEFACT.sha256
    assert path == tmp_path / "downloads" / digest[:2] / digest / ARTEFACT.filename
    assert path.read_bytes() == CONTENT
    assert find_stored_file(tmp_path, ARTEFACT) == path
    assert [each.path for each in list_stored_files(tmp_path, is_sdist)] == [path]


def test_a_hash_mismatch_names_file_and_hashes_and_keeps_nothing(tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.write_bytes(b"another")

    with pytest.raises(FailedError) as failed:
        store_download(tmp_path / "cache", ARTEFACT, partial(copy_local_file, other))

    assert ARTEFACT.filename in failed.value.message
    assert ARTEFACT.sha256 in failed.value.message
    assert hashlib.sha256(b"another").hexdigest() in failed.value.message
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == []


def test_an_altered_stored_file_is_never_used_and_gets_replaced(tmp_path: Path) -> None:
    path = store_download(tmp_path, ARTEFACT, write)
    path.write_bytes(b"altered")

    assert find_stored_file(tmp_path, ARTEFACT) is None
    assert list_offered_files(tmp_path, is_sdist, (INDEX,)) == ()
    assert store_download(tmp_path, ARTEFACT, write).read_bytes() == CONTENT


def test_a_file_without_a_known_hash_is_stored_by_its_own_hash(tmp_path: Path) -> None:
    unknown = replace(ARTEFACT, sha256="")

    assert store_download(tmp_path, unknown, write).parent.name == ARTEFACT.sha256
    assert find_stored_file(tmp_path, unknown) is None


def test_an_interruption_leaves_nothing_behind(tmp_path: Path) -> None:
    def interrupted(path: Path) -> None:
        path.write_bytes(b"half")
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        store_download(tmp_path, ARTEFACT, interrupted)

    assert [path for path in tmp_path.rglob("*") if path.is_file()] == []


@pytest.mark.parametrize("filename", ["../../evil", "/etc/passwd", "..", ""])
def test_a_name_that_is_a_path_is_refused(tmp_path: Path, filename: str) -> None:
    with pytest.raises(RefusedError):
        store_download(tmp_path / "cache", replace(ARTEFACT, filename=filename), write)

    assert list(tmp_path.iterdir()) == []


def test_a_hash_that_is_a_path_is_refused(tmp_path: Path) -> None:
    with pytest.raises(RefusedError):
        store_download(tmp_path, replace(ARTEFACT, sha256="../../evil"), write)


def test_a_copy_is_no_link_to_the_original(tmp_path: Path) -> None:
    original = tmp_path / ARTEFACT.filename
    original.write_bytes(CONTENT)

    path = store_download(tmp_path / "cache", ARTEFACT, partial(copy_local_file, original))
    original.write_bytes(b"altered later")

    assert path.read_bytes() == CONTENT


def test_copying_a_file_that_is_gone_names_it(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="gone: no such file"):
        store_download(tmp_path, ARTEFACT, partial(copy_local_file, tmp_path / "gone"))


def test_an_unwritable_cache_names_the_variable_that_moves_it(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("in the way")

    with pytest.raises(FailedError, match="cannot save the download") as failed:
        store_download(blocked, ARTEFACT, write)

    assert "FASTINSTALL_CACHE_DIR" in (failed.value.hint or "")


def test_a_file_is_offered_only_if_its_index_is_configured(tmp_path: Path) -> None:
    path = store_download(tmp_path, ARTEFACT, write)

    assert list_offered_files(tmp_path, is_sdist, ("https://mirror.example", INDEX)) == ((path, INDEX),)
    assert list_offered_files(tmp_path, is_sdist, ("https://mirror.example",)) == ()


def test_a_file_from_no_known_index_is_offered_once_one_lists_it(tmp_path: Path) -> None:
    path = store_download(tmp_path, replace(ARTEFACT, index=""), write)
    assert list_offered_files(tmp_path, is_sdist, (INDEX,)) == ()

    record_offers(tmp_path, (ARTEFACT, replace(ARTEFACT, sha256="0" * 64)))

    assert list_offered_files(tmp_path, is_sdist, (INDEX,)) == ((path, INDEX),)


def test_of_two_files_of_one_name_the_first_index_has_priority(tmp_path: Path) -> None:
    def write_another(path: Path) -> None:
        path.write_bytes(b"another")

    other = store_download(tmp_path, replace(ARTEFACT, sha256="", index="https://mirror.example"), write_another)
    path = store_download(tmp_path, ARTEFACT, write)

    found = list_offered_files(tmp_path, is_sdist, (INDEX, "https://mirror.example"))
    assert [each for each, _index in found] == [path, other]


def test_a_refused_file_leaves_nothing_in_the_store(tmp_path: Path) -> None:
    path = store_download(tmp_path, ARTEFACT, write)

    with pytest.raises(FailedError), discarding_refused(path):
        raise FailedError("it is damaged")

    assert [each for each in tmp_path.rglob("*") if each.is_file()] == []
