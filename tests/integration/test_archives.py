"""Real wheels, sdists and Debian packages are read; archives that are damaged or write elsewhere are refused."""

import hashlib
import io
import os
import shutil
import stat
import subprocess
import sys
import tarfile
import zipfile
from base64 import urlsafe_b64encode
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from support.index.cached_files import fetched
from support.machine.needs import require_system
from support.machine.umask import umask

from fastinstall.core.archives import ArchiveError, list_zip_files, open_zip, unpack_deb, unpack_zip
from fastinstall.index.wheelhouse import require_stack_alone
from fastinstall.observe.interpreter import observe_interpreter
from fastinstall.wheelbuild.prepare import extract_source
from fastinstall.wheelbuild.staging import stage_wheel

MIB = 1 << 20
OFFICIAL = "pillow-13.0.0-cp311-cp311-manylinux_2_27_x86_64.manylinux_2_28_x86_64.whl"
INFORMATION = "pillow-12.1.1+simd.v3.dist-info"
WHEEL = "pillow-12.1.1+simd.v3-cp311-cp311-linux_x86_64.whl"
HEADER = "usr/include/a.h"
WHOLE = {
    "PIL/__init__.py": b"",
    f"{INFORMATION}/METADATA": b"Metadata-Version: 2.1\nName: pillow\nVersion: 12.1.1+simd.v3\n",
    f"{INFORMATION}/WHEEL": b"Wheel-Version: 1.0\nRoot-Is-Purelib: false\nTag: cp311-cp311-linux_x86_64\n",
}


def write_wheel(directory: Path, more: Mapping[str, bytes] = {}, record: Callable[[str], str] = str) -> Path:
    """Write a small, complete wheel with the files of `more`; `record` may alter the text of its RECORD."""
    contents = {**WHOLE, **more}
    digests = {name: urlsafe_b64encode(hashlib.sha256(content).digest()) for name, content in contents.items()}
    rows = [f"{name},sha256={digests[name].rstrip(b'=').decode()},{len(contents[name])}\n" for name in contents]
    contents[f"{INFORMATION}/RECORD"] = record("".join([*rows, f"{INFORMATION}/RECORD,,\n"])).encode()
    with zipfile.ZipFile(directory / WHEEL, "w") as archive:
        for name, content in contents.items():
            info = zipfile.ZipInfo(name)
            info.external_attr = (stat.S_IFREG | (0o777 if name.endswith(".so") else 0o666)) << 16
            archive.writestr(info, content)
    return directory / WHEEL


def drop_first_row(record: str) -> str:
    return record.partition("\n")[2]


def alter_first_digest(record: str) -> str:
    return record.replace("sha256=4", "sha256=5", 1)


@pytest.mark.parametrize(
    ("more", "record", "message"),
    [
        ({}, drop_first_row, "PIL/__init__.py is not mentioned in RECORD"),
        ({}, alter_first_digest, "PIL/__init__.py didn't match RECORD"),
        ({"pillow-1.dist-info/METADATA": b""}, str, r"exactly one .dist-info directory"),
        ({"a.pth": b"import os\n"}, str, "'a.pth' is not part of PIL"),
        ({"site/__init__.py": b""}, str, "'site/__init__.py' is not part of PIL"),
        ({"numpy.libs/a.so": b""}, str, "'numpy.libs/a.so' is not part of PIL"),
        ({"pillow-12.1.1+simd.v3.data/scripts/python": b""}, str, "is not part of PIL"),
        ({f"{INFORMATION}/entry_points.txt": b"[console_scripts]\npip = PIL:main\n"}, str, "installs programs"),
        ({"PIL/__pycache__/Image.cpython-311.pyc": b""}, str, "is bytecode"),
    ],
    ids=["unlisted", "other", "two-metadata", "pth", "module", "libraries", "script", "entry-point", "bytecode"],
)
def test_a_wheel_with_more_than_pil_is_not_staged(
    more: Mapping[str, bytes], record: Callable[[str], str], message: str, tmp_path: Path
) -> None:
    wheel = write_wheel(tmp_path, more, record)
    with pytest.raises(ArchiveError, match=message) as refused:
        stage_wheel(wheel, tmp_path / "stage", observe_interpreter(Path(sys.executable)))
    assert str(wheel) in refused.value.message
    assert not (tmp_path / "stage").exists()


@pytest.mark.parametrize("name", ["PIL/../../outside", "/outside"])
def test_a_wheel_does_not_write_outside_its_directory(name: str, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path, {name: b"x"})
    with pytest.raises(ArchiveError, match="outside' would be unpacked outside the directory"):
        unpack_zip(wheel, tmp_path / "tree")
    assert not list(tmp_path.rglob("outside"))


@pytest.mark.parametrize("at", [b"PIL/__init__.py", b"PK\1\2", b"Wheel-Version"])
def test_a_damaged_wheel_is_named(at: bytes, tmp_path: Path) -> None:
    wheel = write_wheel(tmp_path)
    content = bytearray(wheel.read_bytes())
    content[content.index(at)] ^= 1
    wheel.write_bytes(content)
    with pytest.raises(ArchiveError, match=WHEEL.replace("+", r"\+")):
        unpack_zip(wheel, tmp_path / "tree")


@pytest.mark.parametrize("compression", ["xz", "zstd"])
def test_only_headers_of_a_debian_package_are_unpacked(compression: str, tmp_path: Path) -> None:
    def link(root: Path) -> None:
        (root / "usr/lib").mkdir()
        (root / "usr/lib/libz.so").symlink_to("/lib/x86_64-linux-gnu/libz.so.1")
        (root / "usr/include/b.h").symlink_to("/etc/passwd")
        (root / "usr/include/c").symlink_to("../..")

    unpack_deb(write_debian_package(tmp_path, link, compression), tmp_path / "out", "usr/include/")
    assert [path.name for path in (tmp_path / "out").rglob("*") if not path.is_dir()] == [Path(HEADER).name]


def test_a_debian_package_with_a_device_is_refused(tmp_path: Path) -> None:
    require_system(os.geteuid() == 0, "the right to make a device")

    def make_device(root: Path) -> None:
        os.mknod(root / "usr/include/null", stat.S_IFCHR | 0o666, os.makedev(1, 3))

    with pytest.raises(ArchiveError, match="is neither a file nor a directory"):
        unpack_deb(write_debian_package(tmp_path, make_device, "xz"), tmp_path / "out", "usr/include/")


@pytest.mark.parametrize("kept", [0, 30, 200])
def test_a_cut_debian_package_is_named(kept: int, tmp_path: Path) -> None:
    package = write_debian_package(tmp_path, lambda _root: None, "xz")
    package.write_bytes(package.read_bytes()[:kept])
    with pytest.raises(ArchiveError, match=r"a\.deb"):
        unpack_deb(package, tmp_path / "out", "usr/include/")


def write_debian_package(directory: Path, change: Callable[[Path], object], compression: str) -> Path:
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


def test_real_wheels_and_sdists_are_read(shared_cache: Path, tmp_path: Path) -> None:
    fetched(shared_cache, "pillow_simd-12.1.1.post0.tar.gz", OFFICIAL)
    archives = [path for path in shared_cache.glob("downloads/??/*/*") if path.stat().st_size < 12 * MIB]
    for wheel in (path for path in archives if path.suffix == ".whl"):
        with open_zip(wheel) as archive:
            assert list_zip_files(archive)
        if wheel.name == OFFICIAL:
            require_stack_alone(wheel)
    for sdist in (path for path in archives if path.suffix == ".gz" and path.stat().st_size < 2 * MIB):
        extract_source(sdist, tmp_path / sdist.name)


@pytest.mark.parametrize("mask", [0o022, 0o002, 0o027, 0o077])
def test_staged_files_have_the_modes_that_pip_gives(mask: int, tmp_path: Path) -> None:
    """pip's `unpacking.py` gives files the mode 0666 without the umask's bits; executables also get 0111."""
    stage = tmp_path / "stage"
    wheel = write_wheel(tmp_path, {"PIL/a.so": b"x"})
    with umask(mask):
        assert stage_wheel(wheel, stage, observe_interpreter(Path(sys.executable))) == INFORMATION
    modes = {name: stat.S_IMODE((stage / name).stat().st_mode) for name in ("PIL", "PIL/__init__.py", "PIL/a.so")}
    assert modes == {"PIL": 0o777 & ~mask, "PIL/__init__.py": 0o666 & ~mask, "PIL/a.so": 0o777 & ~mask | 0o111}


def test_programs_and_times_of_an_sdist_are_kept(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "a.tar.gz", "w:gz") as archive:
        program = tarfile.TarInfo("a-1/run")
        program.mode, program.mtime, program.size = 0o4777, 1_000_000_000, 1
        archive.addfile(program, io.BytesIO(b"x"))
    with umask(0o022):
        source = extract_source(tmp_path / "a.tar.gz", tmp_path / "source")
    assert stat.S_IMODE((source / "run").stat().st_mode) == 0o755
    assert (source / "run").stat().st_mtime == 1_000_000_000
