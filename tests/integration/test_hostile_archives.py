"""Wheels and sdists that were made to harm: each is refused by name, and nothing is written anywhere."""

import os
import random
import shutil
import stat
import struct
import subprocess
import sys
import tarfile
from collections.abc import Callable
from pathlib import Path

import pytest
from support.hostile.archives import (
    INFORMATION,
    SDIST,
    TOP,
    WHEEL,
    Entry,
    Item,
    end,
    local_header,
    overlapping,
    packed,
    pax_header,
    picture,
    tar_bytes,
    wheel_items,
    zip_bytes,
)
from support.index.cached_files import fetched
from support.machine.needs import require_system

from fastinstall.core.archives import sound_zip
from fastinstall.core.debian_packages import unpack_deb
from fastinstall.core.errors import ExitCode, FailedError
from fastinstall.index.wheelhouse import read_wheelhouse, require_stack_alone
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.wheelbuild.prepare import extract_source
from fastinstall.wheelbuild.staging import stage_wheel
from fastinstall.wheelbuild.wheel_files import unpack_wheel

MIB = 1 << 20
OFFICIAL = "pillow-13.0.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
SECOND = zip_bytes(wheel_items([Item("PIL/other.py")]))


def with_item(*items: Item) -> bytes:
    return zip_bytes(wheel_items(items))


ZIPS = {
    "parent": (with_item(Item("PIL/../../outside")), "'PIL/../../outside' would be unpacked outside the directory"),
    "absolute": (with_item(Item("/etc/outside")), "'/etc/outside' would be unpacked outside the directory"),
    "nul": (with_item(Item("PIL/a\0.py")), "control character"),
    "escape": (with_item(Item("PIL/\x1b[2Ja.py")), "control character"),
    "empty-part": (with_item(Item("PIL//a.py")), "an empty part in its name"),
    "long": (with_item(Item("PIL/" + "a" * 300)), "too long"),
    "twice": (with_item(Item("PIL/a.py", b"1"), Item("PIL/a.py", b"2")), "'PIL/a.py' appears twice"),
    "encoding": (with_item(Item("PIL/\u00e9.py")), "in no known encoding"),
    "below-a-file": (with_item(Item("PIL/__init__.py/a.py")), "lies below 'PIL/__init__.py'"),
    "symlink": (with_item(Item("PIL/a", b"/etc", stat.S_IFLNK | 0o777)), "'PIL/a' is a symbolic link"),
    "device": (
        with_item(Item("PIL/a", b"", stat.S_IFCHR | 0o666)),
        "'PIL/a' is neither a file, a directory nor a link",
    ),
    "pipe": (with_item(Item("PIL/a", b"", stat.S_IFIFO | 0o666)), "'PIL/a' is neither a file, a directory nor a link"),
    "setuid": (with_item(Item("PIL/a", b"x", stat.S_IFREG | 0o4755)), "'PIL/a' has the mode 4755"),
    "encrypted": (with_item(Item("PIL/a", flags=1)), "'PIL/a' is encrypted"),
    "method": (with_item(Item("PIL/a", method=12)), "compressed by method 12"),
    "longer-than-declared": (with_item(Item("PIL/a", b"x" * 99, size=9)), "'PIL/a' is damaged: Bad CRC-32"),
    "shorter-than-declared": (with_item(Item("PIL/a", b"x", size=9)), "'PIL/a' is damaged|is shorter than declared"),
    "checksum": (with_item(Item("PIL/a", checksum=7)), "'PIL/a' is damaged: Bad CRC-32"),
    "too-long": (with_item(Item("PIL/a", size=1 << 29)), "declares 536870912 bytes"),
    "ratio": (with_item(Item("PIL/a", b"\0" * (65 * MIB))), "it looks like a zip bomb"),
    "overlapping": (overlapping(9), "overlaps another member"),
    "local-name": (with_item(Item("PIL/a", own_name="PIL/b")), "'PIL/a' is damaged: File name in directory"),
    "hidden": (
        zip_bytes(wheel_items(), before=local_header(Item("PIL/hidden")) + Item("PIL/hidden").packed, moved=False),
        "data before",
    ),
    "junk-before": (zip_bytes(wheel_items(), before=b"#!/bin/sh\n"), "data before"),
    "junk-before-moved": (zip_bytes(wheel_items(), before=b"#!/bin/sh\n", moved=True), "data before"),
    "junk-behind": (zip_bytes(wheel_items()) + b"junk", "data after its end"),
    "two-directories": (zip_bytes(wheel_items()) + SECOND, "data before"),
    "end-in-comment": (zip_bytes(wheel_items())[:-2] + struct.pack("<H", 22) + end(0, 0, 0), "before|after"),
    "more-than-counted": (zip_bytes(wheel_items(), count=3), "declares 3 members but lists"),
    "members": (end(60000, 0, 0), "declares 60000 members but lists 0"),
    "nothing-listed": (b"PK" + end(0, 0, 2), "data before its first member"),
    "cut": (zip_bytes(wheel_items())[:-30], "not a zip archive, or is truncated"),
    "empty": (b"", "not a zip archive, or is truncated"),
}

RECORDS = {
    "unlisted": (wheel_items(record=lambda text: text.partition("\n")[2]), "'PIL/__init__.py' is not listed"),
    "gone": (
        wheel_items(record=lambda text: "PIL/gone.py,,\n" + text),
        "'PIL/gone.py' is listed in RECORD but missing",
    ),
    "twice": (wheel_items(record=lambda text: text.splitlines(keepends=True)[0] + text), "is listed twice in RECORD"),
    "other": (
        wheel_items(record=lambda text: text.replace("sha256=4", "sha256=5", 1)),
        "does not match its digest in RECORD",
    ),
    "weak": (wheel_items(record=lambda text: text.replace("sha256=", "md5=", 1)), r"no accepted digest in RECORD"),
    "no-digest": (
        wheel_items(record=lambda text: text.replace(text.split(",")[1], "", 1)),
        r"no accepted digest in RECORD \(none\)",
    ),
    "row": (wheel_items(record=lambda text: text + "PIL/b.py\n"), "has a malformed row"),
    "no-members": ([], "does not have exactly one .dist-info directory"),
    "none": (wheel_items()[:-1], "does not have exactly one .dist-info directory with a RECORD"),
    "two-metadata": (
        wheel_items([Item("pillow-1.dist-info/METADATA")]),
        "does not have exactly one .dist-info directory",
    ),
    "pth": (wheel_items([Item("a.pth", b"import os\n")]), "'a.pth' is not part of PIL"),
    "module": (wheel_items([Item("site/__init__.py")]), "'site/__init__.py' is not part of PIL"),
    "libraries": (wheel_items([Item("numpy.libs/a.so")]), "'numpy.libs/a.so' is not part of PIL"),
    "data": (
        wheel_items([Item("pillow-12.1.1+simd.v3.data/data/etc/profile.d/a.sh")]),
        "'pillow-12.1.1.*profile.d/a.sh' is not part of PIL",
    ),
    "script": (wheel_items([Item("pillow-12.1.1+simd.v3.data/scripts/python")]), "is not part of PIL"),
    "entry-point": (
        wheel_items([Item(f"{INFORMATION}/entry_points.txt", b"[console_scripts]\npip = PIL:main\n")]),
        "installs programs into the environment's bin directory",
    ),
    "bytecode": (wheel_items([Item("PIL/__pycache__/Image.cpython-311.pyc")]), "is bytecode"),
}

TARS: dict[str, tuple[bytes, str]] = {
    "parent": (tar_bytes([Entry(f"{TOP}/../../outside")]), "would be unpacked outside the directory"),
    "absolute": (tar_bytes([Entry("/etc/outside")]), "would be unpacked outside the directory"),
    "symlink": (tar_bytes([Entry(f"{TOP}/a", kind=tarfile.SYMTYPE, target="/etc")]), "is a symbolic link to '/etc'"),
    "hardlink": (tar_bytes([Entry(f"{TOP}/a", kind=tarfile.LNKTYPE, target="/etc/passwd")]), "is a hard link to"),
    "device": (tar_bytes([Entry(f"{TOP}/a", kind=tarfile.BLKTYPE)]), "is neither a file, a directory nor a link"),
    "pipe": (tar_bytes([Entry(f"{TOP}/a", kind=tarfile.FIFOTYPE)]), "is neither a file, a directory nor a link"),
    "unknown": (tar_bytes([Entry(f"{TOP}/a", kind=b"V")]), "is neither a file, a directory nor a link"),
    "setuid": (tar_bytes([Entry(f"{TOP}/a", mode=0o4755)]), "has the mode 4755"),
    "twice": (tar_bytes([Entry(f"{TOP}/a"), Entry(f"{TOP}/a")]), f"'{TOP}/a' appears twice"),
    "dot-twice": (tar_bytes([Entry(f"{TOP}/a"), Entry(f"./{TOP}/a")]), "appears twice"),
    "control": (tar_bytes([Entry(f"{TOP}/a\nb")]), "control character"),
    "two-tops": (tar_bytes([Entry("other/a")]), "expected one top directory"),
    "pax-name": (tar_bytes([Entry(f"{TOP}/a", pax={"path": "../outside"})]), "'../outside' would be unpacked outside"),
    "pax-size": (tar_bytes([Entry(f"{TOP}/a", pax={"size": "0"})]), "data after its end"),
    "pax-sparse": (tar_bytes([Entry(f"{TOP}/a", pax={"GNU.sparse.name": "/b"})]), "'/b' would be unpacked outside"),
    "pax-global": (pax_header(b"16 path=../etc/\n", b"g") + tar_bytes([]), "would be unpacked outside"),
    "pax-huge": (pax_header(b"x" * 2 * MIB) + tar_bytes([]), "has a header of 2097152 bytes"),
    # `tarfile` itself refuses it up to Python 3.11.3.
    "pax-broken": (pax_header(b"99 path=a\n") + tar_bytes([]), "control character in its name|invalid header"),
    "gnu-sparse": (
        tar_bytes([Entry(f"{TOP}/a", kind=tarfile.GNUTYPE_SPARSE)]),
        "is neither a file, a directory nor a link",
    ),
    "too-long": (tar_bytes([Entry(f"{TOP}/a", size=1 << 29)]), "declares 536870912 bytes"),
    "ratio": (tar_bytes([Entry(f"{TOP}/a", bytes(65 * MIB))]), "it looks like a zip bomb"),
    "cut": (tar_bytes([Entry(f"{TOP}/a", bytes(4096))])[:-3000], "cannot be read: unexpected end|is truncated"),
    "no-end": (tar_bytes([], behind=b""), "is truncated"),
    "behind-its-end": (tar_bytes([]) + tar_bytes([Entry(f"{TOP}/a")]), "data after its end"),
    "checksum": (tar_bytes([]).replace(b"setup.py", b"Setup.py"), "bad checksum|invalid header|damaged header"),
    "negative": (
        tar_bytes([])[:124] + b"\xff" * 12 + tar_bytes([])[136:],
        "bad checksum|invalid header|damaged header",
    ),
    "not-tar": (b"x" * 2048, "cannot be read"),
}


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A directory where what is unpacked may go, in one that has to stay as it is."""
    (tmp_path / "outside-before").write_text("mine")
    return tmp_path / "within" / "tree"


@pytest.mark.parametrize("case", ZIPS)
def test_no_hostile_wheel_is_unpacked(case: str, place: Path, tmp_path: Path) -> None:
    content, message = ZIPS[case]
    _refused(content, tmp_path / WHEEL, message, lambda wheel: unpack_wheel(wheel, place))


@pytest.mark.parametrize("case", ZIPS)
def test_no_hostile_wheel_is_taken_out_of_a_wheelhouse(case: str, tmp_path: Path) -> None:
    content, message = ZIPS[case]
    _refused(content, tmp_path / WHEEL, message, lambda wheel: read_wheelhouse(wheel.parent, WHEEL.__eq__))


@pytest.mark.parametrize("case", RECORDS)
def test_no_wheel_is_staged_that_is_not_whole_or_brings_more_than_pil(case: str, place: Path, tmp_path: Path) -> None:
    items, message = RECORDS[case]
    python = observe_interpreter(Path(sys.executable))
    _refused(zip_bytes(items), tmp_path / WHEEL, message, lambda wheel: stage_wheel(wheel, place, python))


@pytest.mark.parametrize("case", TARS)
def test_no_hostile_sdist_is_unpacked(case: str, place: Path, tmp_path: Path) -> None:
    content, message = TARS[case]
    _refused(packed(content), tmp_path / SDIST, message, lambda sdist: extract_source(sdist, place))


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (packed(tar_bytes([]))[:-9], "ended before|truncated"),
        (packed(tar_bytes([]))[:-8] + bytes(8), "CRC check failed"),
        (packed(tar_bytes([])) + b"junk", "gzipped|gzip"),
        (tar_bytes([]), "gzipped|gzip"),
    ],
    ids=["cut", "checksum", "behind", "plain"],
)
def test_no_sdist_is_unpacked_whose_compression_is_unsound(
    content: bytes, message: str, place: Path, tmp_path: Path
) -> None:
    _refused(content, tmp_path / SDIST, message, lambda sdist: extract_source(sdist, place))


HEADER = "usr/include/a.h"


def _device(root: Path) -> None:
    require_system(os.geteuid() == 0, "the right to make a device")
    os.mknod(root / "usr/include/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))


DEBS: dict[str, tuple[Callable[[Path], object], str]] = {
    "hard-link": (
        lambda root: (root / "usr/include/b.h").hardlink_to(root / HEADER),
        "b.h' is a hard link|a.h' is a hard",
    ),
    "setuid": (lambda root: (root / HEADER).chmod(0o4755), "has the mode 4755"),
    "device": (_device, "is neither a file, a directory nor a link"),
}


@pytest.mark.parametrize("compression", ["xz", "zstd"])
@pytest.mark.parametrize("case", DEBS)
def test_no_package_of_headers_is_used_that_has_more_than_files(case: str, compression: str, tmp_path: Path) -> None:
    spoil, message = DEBS[case]
    package = _package_of_headers(tmp_path, spoil, compression)
    with pytest.raises(FailedError, match=message):
        unpack_deb(package, tmp_path / "out", "usr/include/")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("compression", ["xz", "zstd"])
def test_of_a_package_only_the_headers_are_unpacked_and_no_link(compression: str, tmp_path: Path) -> None:
    def link(root: Path) -> None:
        (root / "usr/lib").mkdir()
        (root / "usr/lib/libz.so").symlink_to("/lib/x86_64-linux-gnu/libz.so.1")
        (root / "usr/include/b.h").symlink_to("/etc/passwd")
        (root / "usr/include/c").symlink_to("../..")

    unpack_deb(_package_of_headers(tmp_path, link, compression), tmp_path / "out", "usr/include/")
    assert [path.name for path in (tmp_path / "out").rglob("*") if not path.is_dir()] == [Path(HEADER).name]


def test_a_mutated_package_is_refused_by_name_or_read_whole(tmp_path: Path) -> None:
    whole, changes = _package_of_headers(tmp_path, lambda _root: None, "xz").read_bytes(), random.Random(7)  # noqa: S311 (the same ones in every run)
    package = tmp_path / "b.deb"
    for number in range(200):
        content = bytearray(whole)
        content[changes.randrange(len(content))] = changes.randrange(256)
        package.write_bytes(content[: changes.randrange(len(content))] if number % 2 else content)
        out = tmp_path / f"out{number}"
        try:
            unpack_deb(package, out, "usr/include/")
        except FailedError:
            assert not out.exists()
        else:
            assert (out / HEADER).read_text() == "int a;\n"


def _package_of_headers(directory: Path, change: Callable[[Path], object], compression: str) -> Path:
    require_system(shutil.which("dpkg-deb"), "dpkg-deb")
    root = directory / "package"
    (root / HEADER).parent.mkdir(parents=True)
    (root / HEADER).write_text("int a;\n")
    (root / "DEBIAN").mkdir()
    (root / "DEBIAN/control").write_text(
        "Package: a-dev\nVersion: 1\nArchitecture: all\nMaintainer: a <a@example.org>\nDescription: a\n"
    )
    change(root)
    argv = ("dpkg-deb", f"-Z{compression}", "--build", root, directory / "a.deb")
    subprocess.run(argv, check=True, capture_output=True)
    return directory / "a.deb"


def test_a_mutated_wheel_is_refused_by_name_or_read_whole(tmp_path: Path) -> None:
    """Two hundred archives with one byte changed: none ends in another error, and no changed content is taken."""
    whole, changes = zip_bytes(wheel_items()), random.Random(7)  # noqa: S311 (the same ones in every run)
    contents = {item.content for item in wheel_items()}
    wheel = tmp_path / WHEEL
    taken = 0
    for _ in range(200):
        content = bytearray(whole)
        content[changes.randrange(len(content))] = changes.randrange(256)
        wheel.write_bytes(content)
        try:
            with sound_zip(wheel) as archive:
                ours = {name: archive.read(name) for name in archive.files}
        except FailedError:
            continue
        taken += 1
        assert {*ours.values()} <= contents
    assert 0 < taken < 200


def test_a_mutated_sdist_is_refused_or_read_as_any_other_reader_would(tmp_path: Path) -> None:
    whole, changes = tar_bytes([Entry(f"{TOP}/a" * 30), Entry(f"{TOP}/b", mode=0o755)]), random.Random(7)  # noqa: S311 (the same ones in every run)
    sdist = tmp_path / SDIST
    taken = 0
    for number in range(60):
        content = bytearray(whole)
        content[changes.randrange(len(content))] = changes.randrange(256)
        sdist.write_bytes(packed(bytes(content)))
        try:
            top = extract_source(sdist, tmp_path / str(number))
        except FailedError:
            continue
        taken += 1
        with tarfile.open(sdist) as other:
            members = {each.name: other.extractfile(each) for each in other if each.isfile()}
            theirs = {name: stream.read() for name, stream in members.items() if stream is not None}
        assert theirs == {
            str(path.relative_to(top.parent)): path.read_bytes() for path in top.rglob("*") if path.is_file()
        }
    assert 0 < taken < 60


def test_a_bomb_is_refused_before_it_is_unfolded(tmp_path: Path, place: Path) -> None:
    """One member declares a gigabyte; of what comes out of it, nothing is asked for."""
    bomb = packed(tar_bytes([Entry(f"{TOP}/a", size=1 << 28)], behind=bytes(MIB)))
    _refused(bomb, tmp_path / SDIST, "zip bomb", lambda sdist: extract_source(sdist, place))


def test_every_archive_that_was_ever_fetched_is_taken(shared_cache: Path, tmp_path: Path) -> None:
    """Real wheels and sdists of Pillow, its fork and others, by as many different tools."""
    fetched(shared_cache, "pillow_simd-12.1.1.post0.tar.gz", OFFICIAL)
    archives = [path for path in shared_cache.glob("downloads/??/*/*") if path.stat().st_size < 12 * MIB]
    for wheel in (path for path in archives if path.suffix == ".whl"):
        with sound_zip(wheel) as archive:
            assert archive.files
        if wheel.name == OFFICIAL:
            require_stack_alone(wheel)
    for sdist in (path for path in archives if path.suffix == ".gz" and path.stat().st_size < 2 * MIB):
        extract_source(sdist, tmp_path / sdist.name)


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o027, 0o077])
def test_what_is_staged_has_the_modes_that_pip_would_give_it(mask: int, place: Path, tmp_path: Path) -> None:
    """Source: pip's `unpacking.py`: 0666 less the umask, and what may be run 0777 less the umask, or 0111."""
    (tmp_path / WHEEL).write_bytes(zip_bytes(wheel_items([Item("PIL/a.so", mode=stat.S_IFREG | 0o777)])))
    before = os.umask(mask)
    try:
        stage_wheel(tmp_path / WHEEL, place, observe_interpreter(Path(sys.executable)))
    finally:
        os.umask(before)
    modes = {name: stat.S_IMODE((place / name).stat().st_mode) for name in ("PIL", "PIL/__init__.py", "PIL/a.so")}
    assert modes == {"PIL": 0o777 & ~mask, "PIL/__init__.py": 0o666 & ~mask, "PIL/a.so": 0o777 & ~mask | 0o111}


def test_the_whole_wheel_and_sdist_that_the_cases_are_made_of_are_taken(tmp_path: Path, place: Path) -> None:
    """Or every case above could be refused for another reason than its own."""
    (tmp_path / WHEEL).write_bytes(zip_bytes(wheel_items()))
    (tmp_path / SDIST).write_bytes(packed(tar_bytes([Entry(f"{TOP}/a" * 30), Entry(f"{TOP}/run", mode=0o777)])))
    python = observe_interpreter(Path(sys.executable))
    assert stage_wheel(tmp_path / WHEEL, place, python) == INFORMATION
    source = extract_source(tmp_path / SDIST, tmp_path / "source")
    assert stat.S_IMODE((source / "run").stat().st_mode) & 0o022 == 0
    assert (source / "run").stat().st_mode & 0o100


def _refused(content: bytes, archive: Path, message: str, use: Callable[[Path], object]) -> None:
    archive.write_bytes(content)
    before = picture(archive.parent)
    with pytest.raises(FailedError, match=message) as refused:
        use(archive)
    assert picture(archive.parent) == before
    assert str(archive) in refused.value.message
    assert refused.value.hint
    assert refused.value.exit_code == ExitCode.FAILED_UNCHANGED
