import hashlib
import io
import tarfile
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable
from pathlib import Path

import pytest

from fastinstall.core.archives import ArchiveError
from fastinstall.core.errors import DocumentError, FailedError
from fastinstall.index.wheelhouse import describe_file, read_sums, read_wheelhouse, require_stack_alone

WHEEL = "pillow-12.1.1-cp311-cp311-manylinux_2_28_x86_64.whl"
SDIST = "pillow_simd-12.1.1.post0.tar.gz"
METADATA = b"Metadata-Version: 2.4\nName: x\nRequires-Python: >=3.10\n\nRequires-Python: in the description\n"


def write_wheel(directory: Path, name: str = WHEEL) -> Path:
    path, information = directory / name, "pillow-12.1.1.dist-info"
    contents = {"PIL/__init__.py": b"x = 1\n" * 100, f"{information}/METADATA": METADATA}
    digests = {name: urlsafe_b64encode(hashlib.sha256(content).digest()) for name, content in contents.items()}
    rows = [f"{name},sha256={digests[name].rstrip(b'=').decode()},{len(contents[name])}\n" for name in contents]
    contents[f"{information}/RECORD"] = "".join([*rows, f"{information}/RECORD,,\n"]).encode()
    with zipfile.ZipFile(path, "w") as archive:
        for member, content in contents.items():
            archive.writestr(member, content)
    return path


def write_sdist(directory: Path) -> Path:
    path = directory / SDIST
    with tarfile.open(path, "w:gz") as archive:
        for name in ("pillow_simd-12.1.1.post0/src/egg-info/PKG-INFO", "pillow_simd-12.1.1.post0/PKG-INFO"):
            content = METADATA if name.count("/") == 1 else b"Requires-Python: >=2.7\n"
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    return path


def everything(filename: str) -> bool:
    return filename.endswith((".whl", ".tar.gz"))


def test_files_are_described_with_hash_size_and_required_python(tmp_path: Path) -> None:
    sdist, wheel = write_sdist(tmp_path), write_wheel(tmp_path)
    (tmp_path / "notes.txt").write_text("not a distribution")

    found = {each.filename: each for each in read_wheelhouse(tmp_path, everything)}

    assert set(found) == {SDIST, WHEEL}
    for path in (sdist, wheel):
        artefact = found[path.name]
        assert artefact.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
        assert (artefact.size, artefact.requires_python) == (path.stat().st_size, ">=3.10")
        assert artefact.url == path.as_uri()
    assert (found[SDIST].name, found[SDIST].version) == ("pillow-simd", "12.1.1.post0")


def test_a_checksum_mismatch_names_the_file_and_both_hashes(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    (tmp_path / "SHA256SUMS").write_text(f"{'0' * 64}  {WHEEL}\n")

    with pytest.raises(FailedError) as failed:
        read_wheelhouse(tmp_path, everything)

    assert WHEEL in failed.value.message
    assert "0" * 64 in failed.value.message
    assert hashlib.sha256(wheel.read_bytes()).hexdigest() in failed.value.message


def test_an_sdist_with_a_known_hash_is_read_up_to_its_metadata(tmp_path: Path) -> None:
    sdist = write_sdist(tmp_path)
    sdist.write_bytes(sdist.read_bytes()[:-8])  # cut off the end, which contains the checksum of the data

    with pytest.raises(ArchiveError):
        describe_file(sdist)

    assert describe_file(sdist, hashlib.sha256(sdist.read_bytes()).hexdigest()).requires_python == ">=3.10"


@pytest.mark.parametrize("line", ["{sha256}  {name}", "{sha256} *{name}", "{sha256}  ./{name}", "{sha256}  {name}\n\n"])
def test_sums_are_read_as_sha256sum_writes_them(tmp_path: Path, line: str) -> None:
    digest = hashlib.sha256(write_wheel(tmp_path).read_bytes()).hexdigest()
    (tmp_path / "SHA256SUMS").write_text(line.format(sha256=digest.upper(), name=WHEEL))

    assert [each.sha256 for each in read_wheelhouse(tmp_path, everything)] == [digest]


def test_an_unreadable_line_of_the_sums_is_named(tmp_path: Path) -> None:
    (tmp_path / "SHA256SUMS").write_text("\nhello\n")

    with pytest.raises(DocumentError, match="SHA256SUMS: line 2"):
        read_wheelhouse(tmp_path, everything)


def test_sums_without_an_end_are_named(tmp_path: Path) -> None:
    with (tmp_path / "SHA256SUMS").open("wb") as stream:
        stream.truncate(1 << 40)
    with pytest.raises(DocumentError, match=r"SHA256SUMS: .* larger than"):
        read_sums(tmp_path / "SHA256SUMS")


def test_a_flipped_bit_in_a_wheel_is_noticed_without_sums(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    content = bytearray(wheel.read_bytes())
    content[content.index(b"x = 1")] ^= 1
    wheel.write_bytes(content)

    with pytest.raises(FailedError, match=r"PIL/__init__\.py' is damaged: Bad CRC-32"):
        read_wheelhouse(tmp_path, everything)


def test_members_are_not_checked_if_the_wheel_has_a_listed_hash(tmp_path: Path) -> None:
    """A wheel's members are verified later, just before they are used."""
    wheel = write_wheel(tmp_path)
    content = bytearray(wheel.read_bytes())
    content[content.index(b"x = 1")] ^= 1
    wheel.write_bytes(content)
    (tmp_path / "SHA256SUMS").write_text(f"{hashlib.sha256(content).hexdigest()}  {WHEEL}\n")

    assert [each.filename for each in read_wheelhouse(tmp_path, everything)] == [WHEEL]
    with pytest.raises(ArchiveError, match="Bad CRC-32"):
        require_stack_alone(wheel)


def test_a_wheel_we_packed_is_trusted_by_hash_yet_holds_only_pil(tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    content = bytearray(wheel.read_bytes())
    content[content.index(b"x = 1")] ^= 1
    wheel.write_bytes(content)

    require_stack_alone(wheel, ours=hashlib.sha256(content).hexdigest())

    with zipfile.ZipFile(wheel, "a") as archive:
        archive.writestr("other/__init__.py", "x = 2")
    with pytest.raises(ArchiveError, match="other"):
        require_stack_alone(wheel, ours=hashlib.sha256(wheel.read_bytes()).hexdigest())


@pytest.mark.parametrize("kept", [0, 50, -20])
@pytest.mark.parametrize("write", [write_wheel, write_sdist])
def test_a_truncated_file_is_named(tmp_path: Path, write: Callable[[Path], Path], kept: int) -> None:
    path = write(tmp_path)
    path.write_bytes(path.read_bytes()[:kept])

    with pytest.raises(FailedError, match=path.name):
        read_wheelhouse(tmp_path, everything)


def test_files_that_nobody_wants_are_not_opened(tmp_path: Path) -> None:
    (tmp_path / WHEEL).write_bytes(b"no zip at all")

    assert read_wheelhouse(tmp_path, lambda _name: False) == ()


def test_a_missing_wheelhouse_is_a_failure_that_names_it(tmp_path: Path) -> None:
    with pytest.raises(FailedError, match="nowhere: no such directory"):
        read_wheelhouse(tmp_path / "nowhere", everything)


@pytest.mark.parametrize("write", [write_wheel, write_sdist])
@pytest.mark.parametrize("said", ["9.0.0", "no version"])
def test_a_version_that_differs_in_name_and_metadata_is_refused(
    tmp_path: Path, write: Callable[[Path], Path], said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(globals(), "METADATA", f"Metadata-Version: 2.4\nName: x\nVersion: {said}\n\n".encode())
    path = write(tmp_path)
    with pytest.raises(FailedError, match=f"but its metadata says {said}") as failed:
        read_wheelhouse(tmp_path, everything)
    assert failed.value.message.startswith(f"{path}: its name says 12.1.1")


def test_a_wheel_that_is_no_file_is_told_by_its_name(tmp_path: Path) -> None:
    (tmp_path / "pillow-13.0.0-py3-none-any.whl").symlink_to("nowhere")
    with pytest.raises(FailedError, match=r"pillow-13\.0\.0-py3-none-any\.whl: cannot be read: "):
        read_wheelhouse(tmp_path, lambda _name: True)
