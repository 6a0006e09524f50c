"""The imaging core as one value, whatever state its file is in."""

import errno
import hashlib
import os
from pathlib import Path

import pytest
from support.elf.writer import FRAME, PLAIN, Elf, each_damaged

from fastinstall.core.codec import encode
from fastinstall.elf.description import LoadedLibrary
from fastinstall.elf.imaging_core import read_core

SYMBOLS = ("ImagingResampleHorizontalConvolution8u4x", "ImagingFilter3x3f_4u8")
VERSIONS = b"\x003.1.3\x0012.1.1\x002.5.4\x001.3.1.zlib-ng\0"
FORK = b"\x003.1.3\x0012.1.1.post0\x0014.0.0\0"
JPEG = Elf(
    soname="libjpeg.so.62",
    exported={"jpeg_read_header": PLAIN},
    constants=b"\0libjpeg-turbo version 3.1.3 (build 1)\x006b  27-Mar-1998\0" + bytes.fromhex("8b4c4656") * 4,
)
CORE = Elf(
    needed=("libjpeg.so.62", "libgone.so.1"),
    runpath="$ORIGIN/../pillow.libs",
    isa="x86-64-v3",
    exported={SYMBOLS[1]: PLAIN, **{f"Imaging{number}": FRAME for number in range(9)}},
    constants=FORK,
    switches=("GNU C17 12.2.0 -O0",),
)


def test_everything_is_told_from_the_file(tmp_path: Path) -> None:
    path = CORE.write(tmp_path / "PIL" / "_imaging.so")
    jpeg = JPEG.write(tmp_path / "pillow.libs" / "libjpeg.so.62")
    core = read_core(path, SYMBOLS, main=None, hwcaps=())
    assert core.readable
    assert (core.size, core.mtime_ns) == (path.stat().st_size, path.stat().st_mtime_ns)
    assert core.sha256 == hashlib.sha256(path.read_bytes()).hexdigest()
    assert core.version == "12.1.1.post0"
    assert core.simd_symbols == (SYMBOLS[1],)
    assert core.unoptimised_share == pytest.approx(0.9)
    assert core.isa_note == "x86-64-v3"
    assert core.switches == ("GNU C17 12.2.0 -O0",)
    assert core.libraries == (
        LoadedLibrary(
            soname="libjpeg.so.62",
            path=jpeg,
            implementation="libjpeg-turbo",
            version="3.1.3",
            simd=True,
            sha256=hashlib.sha256(jpeg.read_bytes()).hexdigest(),
            abi="62",
            size=jpeg.stat().st_size,
            inode=jpeg.stat().st_ino,
        ),
        LoadedLibrary(soname="libgone.so.1", path=None),
    )
    assert encode(core)["path"] == str(path)


@pytest.mark.parametrize(
    ("constants", "expected", "version"),
    [
        (VERSIONS, None, "12.1.1"),
        (VERSIONS, "2.5.4", "2.5.4"),
        (VERSIONS, "13.0.0", "12.1.1"),
        (FORK, None, "12.1.1.post0"),
        (FORK, "14.0.0", "14.0.0"),
        (b"\x0013.1.0.dev0\0\x0013.0.9\0", None, "13.1.0.dev0"),
        (b"\0no version\0", "12.1.1", ""),
    ],
)
def test_pillows_version_is_told_from_those_of_libraries(
    tmp_path: Path, constants: bytes, expected: str | None, version: str
) -> None:
    path = Elf(constants=constants).write(tmp_path / "_imaging.so")
    assert read_core(path, (), main=None, hwcaps=(), expected_version=expected).version == version


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "empty file"),
        (b"not a library at all", "not an ELF file"),
        (CORE.content()[:700], "truncated: 700 bytes"),
        (Elf(machine=183).content(), "built for aarch64, not for x86_64"),
    ],
)
def test_a_damaged_core_is_a_value_that_says_so(tmp_path: Path, content: bytes, problem: str) -> None:
    path = tmp_path / "_imaging.so"
    path.write_bytes(content)
    main = Elf().write(tmp_path / "python3")
    core = read_core(path, SYMBOLS, main=main, hwcaps=())
    assert not core.readable
    assert core.problem.startswith(problem)
    assert core.sha256 == hashlib.sha256(content).hexdigest()


def test_a_core_that_cannot_be_opened_is_a_value_too(tmp_path: Path) -> None:
    assert read_core(tmp_path / "gone.so", (), main=None, hwcaps=()).problem.endswith(os.strerror(errno.ENOENT))
    assert read_core(tmp_path, (), main=None, hwcaps=()).problem == "cannot be read: Is a directory"


def test_no_truncation_and_no_changed_byte_raises(tmp_path: Path) -> None:
    path = CORE.write(tmp_path / "PIL" / "_imaging.so")
    unreadable = [position for position in each_damaged(path, step=5) if not is_readable(path)]
    assert len(unreadable) > 50
    for length in reversed(range(0, path.stat().st_size, 3)):
        os.truncate(path, length)
        assert not is_readable(path)


def is_readable(path: Path) -> bool:
    return read_core(path, SYMBOLS, main=None, hwcaps=()).readable


def test_a_damaged_libjpeg_is_a_library_without_identity(tmp_path: Path) -> None:
    path = CORE.write(tmp_path / "PIL" / "_imaging.so")
    jpeg = JPEG.write(tmp_path / "pillow.libs" / "libjpeg.so.62")
    jpeg.write_bytes(jpeg.read_bytes()[:100])
    assert read_core(path, (), main=None, hwcaps=()).libraries[0] == LoadedLibrary(soname="libjpeg.so.62", path=None)
