import json
import shutil
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from support.index.wheels import write_wheel

from fastinstall.core.errors import DocumentError, FailedError, FastinstallError
from fastinstall.core.files import sha256
from fastinstall.observe.session import Session, open_session
from fastinstall.wheelbuild.package_index import publish_wheel, require_wheelhouse


@pytest.fixture
def session(tmp_path: Path) -> Session:
    return open_session({"FASTINSTALL_CACHE_DIR": str(tmp_path / "cache"), "HOME": str(tmp_path)})


@pytest.fixture
def wheel(tmp_path: Path) -> Path:
    return write_wheel(tmp_path / "built")


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    return tmp_path / "wheelhouse"


def _publish(session: Session, wheel: Path, directory: Path) -> Path:
    return publish_wheel(session, wheel, sha256(wheel), directory)


def _offered(directory: Path, name: str = "pillow") -> list[str]:
    page = directory / "simple" / name / "index.json"
    return [file["filename"] for file in json.loads(page.read_text())["files"]] if page.exists() else []


def _content(directory: Path) -> dict[str, bytes]:
    return {str(path): path.read_bytes() for path in directory.rglob("*") if path.is_file()}


def test_a_wheel_comes_with_its_sum_its_metadata_and_its_pages(session: Session, wheel: Path, directory: Path) -> None:
    placed = _publish(session, wheel, directory)

    assert placed == directory / wheel.name
    assert (directory / "SHA256SUMS").read_text() == f"{sha256(wheel)}  {wheel.name}\n"
    assert (directory / f"{wheel.name}.metadata").read_text().startswith("Metadata-Version")
    (file,) = json.loads((directory / "simple/pillow/index.json").read_text())["files"]
    assert file["hashes"]["sha256"] == sha256(wheel)
    assert file["core-metadata"]["sha256"] == sha256(directory / f"{wheel.name}.metadata")
    assert file["requires-python"] == ">=3.8"
    assert "pillow/" in (directory / "simple/index.html").read_text()


def test_wheels_are_added_and_republishing_one_changes_nothing(
    session: Session, wheel: Path, directory: Path, tmp_path: Path
) -> None:
    other = write_wheel(tmp_path / "built", "pillow_simd", "12.1.1.post0+simd.v3")
    _publish(session, wheel, directory)
    _publish(session, other, directory)
    before = {path: path.stat().st_mtime_ns for path in directory.rglob("simple/**/*.*")}

    _publish(session, wheel, directory)

    assert _offered(directory) == [wheel.name]
    assert _offered(directory, "pillow-simd") == [other.name]
    assert {path: path.stat().st_mtime_ns for path in directory.rglob("simple/**/*.*")} == before


def test_a_removed_wheel_is_dropped_from_pages_metadata_and_sums(
    session: Session, wheel: Path, directory: Path, tmp_path: Path
) -> None:
    gone = _publish(session, write_wheel(tmp_path / "built", "pillow_simd", "12.1.1.post0+simd.v3"), directory)
    gone.unlink()

    _publish(session, wheel, directory)

    assert not (directory / f"{gone.name}.metadata").exists()
    assert not (directory / "simple/pillow-simd").exists()
    assert "pillow-simd" not in (directory / "simple/index.html").read_text()
    assert (directory / "SHA256SUMS").read_text() == f"{sha256(wheel)}  {wheel.name}\n"


def test_an_added_wheel_is_offered_and_sums_of_other_files_stay(session: Session, wheel: Path, directory: Path) -> None:
    added = write_wheel(directory, "Odd.Name", "1")
    line = f"{'0' * 64}  pillow-13.0.0.tar.gz\n"
    (directory / "SHA256SUMS").write_text(line)

    _publish(session, wheel, directory)

    assert _offered(directory, "odd-name") == [added.name]
    assert line in (directory / "SHA256SUMS").read_text()
    assert added.name not in (directory / "SHA256SUMS").read_text()


def _garbage(directory: Path, _wheel: Path) -> str:
    (directory / "pillow-13.0.0+simd.v3-py3-none-any.whl").write_text("no archive")
    return "pillow-13.0.0+simd.v3-py3-none-any.whl: cannot list this wheel"


def _misnamed(directory: Path, wheel: Path) -> str:
    shutil.copy(wheel, directory / "pillow.whl")
    return "pillow.whl: cannot list this wheel: its name"


def _altered(directory: Path, wheel: Path) -> str:
    shutil.copy(wheel, directory / wheel.name)
    (directory / "SHA256SUMS").write_text(f"{'0' * 64}  {wheel.name}\n")
    return f"{wheel.name}: damaged: sha256"


def _another(directory: Path, wheel: Path) -> str:
    write_wheel(directory, "pillow", "13.0.0+simd.v2.v3", "py3-none-any", "Summary: other")
    return f"{wheel.name}: a different wheel of that name"


def _malformed_sums(directory: Path, _wheel: Path) -> str:
    (directory / "SHA256SUMS").write_text("nonsense\n")
    return "SHA256SUMS: line 1"


@pytest.mark.parametrize("spoil", [_garbage, _misnamed, _altered, _another, _malformed_sums])
def test_what_cannot_be_right_is_named_and_nothing_changes(
    session: Session, wheel: Path, directory: Path, spoil: Callable[[Path, Path], str]
) -> None:
    directory.mkdir()
    named = spoil(directory, wheel)
    before = _content(directory)

    with pytest.raises(FastinstallError) as caught:
        _publish(session, wheel, directory)

    assert named in caught.value.message
    assert caught.value.hint is not None or isinstance(caught.value, DocumentError)
    assert _content(directory) == before


@pytest.mark.parametrize("spoil", [_garbage, _misnamed, _altered, _malformed_sums])
def test_it_is_said_before_anything_is_built(wheel: Path, directory: Path, spoil: Callable[[Path, Path], str]) -> None:
    directory.mkdir()
    named = spoil(directory, wheel)

    with pytest.raises(FastinstallError) as caught:
        require_wheelhouse(directory)

    assert named in caught.value.message


def test_several_that_publish_at_once_lose_nothing(session: Session, directory: Path, tmp_path: Path) -> None:
    wheels = [write_wheel(tmp_path / "built", "pillow", f"13.{minor}+simd.v3") for minor in range(6)]

    with ThreadPoolExecutor(max_workers=6) as pool:
        list(pool.map(lambda wheel: _publish(session, wheel, directory), wheels))

    assert _offered(directory) == sorted(wheel.name for wheel in wheels)
    assert len((directory / "SHA256SUMS").read_text().splitlines()) == len(wheels)


def test_a_directory_that_cannot_be_made_is_named(session: Session, wheel: Path) -> None:
    with pytest.raises(FailedError, match=r"-o /proc/self/wheelhouse: cannot be written"):
        _publish(session, wheel, Path("/proc/self/wheelhouse"))


def test_a_file_in_the_place_of_the_directory_is_named(directory: Path) -> None:
    directory.touch()

    with pytest.raises(FailedError, match=r"wheelhouse/deeper: .*: Not a directory"):
        require_wheelhouse(directory / "deeper")
