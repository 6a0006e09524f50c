"""The libraries that a process has mapped, compared with the simulated ones, and the table of libraries."""

from datetime import date
from pathlib import PurePath, PurePosixPath

from support.values.builders import SITE_PACKAGES, SUFFIX, healthy_facts, linkage, receipt, recipe

from fastinstall.doctor.check_context import CheckContext
from fastinstall.doctor.checks.libraries_resolve import check, find_disagreements
from fastinstall.elf.description import Linkage, LoadedFile, MissingLibrary
from fastinstall.model.finding import COLUMN

CORE = SITE_PACKAGES / f"PIL/_imaging{SUFFIX}"
WEBP = SITE_PACKAGES / f"PIL/_webp{SUFFIX}"
SIMULATED = linkage(CORE)
EVERYTHING = tuple(file.path for file in SIMULATED.files)
SYSTEM_ZLIB = PurePosixPath("/lib/x86_64-linux-gnu/libz.so.1")


def disagreements(linkage: Linkage, mapped: tuple[PurePath, ...]) -> list[tuple[str, str, PurePath]]:
    return list(find_disagreements(linkage, mapped))


def with_zlib(path: PurePosixPath = SYSTEM_ZLIB) -> Linkage:
    """Return the simulation of a core that also needs the system's zlib."""
    zlib = LoadedFile(path=path, name="libz.so.1", soname="libz.so.1", reason="ld.so.cache", needed_by=CORE)
    return Linkage(modules=SIMULATED.modules, files=(*SIMULATED.files, zlib))


def test_the_same_files_agree() -> None:
    assert disagreements(SIMULATED, EVERYTHING) == []
    assert disagreements(SIMULATED, tuple(reversed(EVERYTHING))) == []


def test_the_interpreters_own_libraries_are_no_disagreement() -> None:
    own = PurePosixPath("/usr/local/lib/python3.11/lib-dynload")
    others = (own / f"_ctypes{SUFFIX}", PurePosixPath("/lib/x86_64-linux-gnu/libffi.so.8"), own / f"zlib{SUFFIX}")
    assert disagreements(SIMULATED, (*EVERYTHING, *others)) == []


def test_what_another_package_brings_is_none_of_the_simulations() -> None:
    others = (SITE_PACKAGES / "cv2/cv2.abi3.so", SITE_PACKAGES / "opencv_python.libs/libjpeg-f1a2b3c4.so.62.4.0")
    assert disagreements(SIMULATED, (*EVERYTHING, *others)) == []


def test_a_library_from_another_place_is_named_with_both() -> None:
    mapped = PurePosixPath("/srv/hpc/lib/libz.so.1")
    found = disagreements(with_zlib(), (*EVERYTHING, mapped))
    assert found == [("libz.so.1", str(SYSTEM_ZLIB), mapped)]


def test_what_a_module_needs_is_not_missed_before_it_is_imported() -> None:
    imported = tuple(path for path in EVERYTHING if path != WEBP and "libwebp" not in path.name)
    assert disagreements(SIMULATED, imported) == []


def test_a_library_found_only_by_the_process_is_named() -> None:
    missing = MissingLibrary(name="libxcb.so.1", needed_by=CORE, problem="not found")
    lacking = Linkage(modules=SIMULATED.modules, files=SIMULATED.files, missing=(missing,))
    mapped = PurePosixPath("/opt/x/lib/libxcb.so.1")
    assert disagreements(lacking, (*EVERYTHING, mapped)) == [("libxcb.so.1", "nothing", mapped)]


def test_a_second_copy_beside_the_simulated_file_is_not_reported() -> None:
    second = PurePosixPath("/opt/x/lib/libz.so.1")
    assert disagreements(with_zlib(), (*EVERYTHING, SYSTEM_ZLIB, second)) == []


def test_nothing_is_said_where_names_cannot_be_compared() -> None:
    elsewhere = tuple(PurePosixPath("/real", *path.parts[1:]) for path in EVERYTHING)
    assert disagreements(SIMULATED, elsewhere) == []
    assert disagreements(SIMULATED, ()) == []
    assert disagreements(Linkage(problem="a script"), EVERYTHING) == []


def test_each_codec_is_a_row_with_version_simd_owner_and_path() -> None:
    context = CheckContext(
        facts=healthy_facts(), receipt=receipt(), recipe=recipe(), today=date(2026, 11, 22), tool_version="0.1.0"
    )
    (finding,) = check(context)
    rows = {line.split(COLUMN)[0]: line.split(COLUMN)[1:] for line in finding.evidence if COLUMN in line}
    assert list(rows) == ["jpeg", "zlib", "tiff", "webp"]
    name, simd, owner, path = rows["jpeg"]
    assert name.startswith("libjpeg-turbo 3.")
    assert (simd, owner) == ("SIMD", "pillow.libs of pillow 12.1.1+simd.v3")
    assert path.startswith("lib/python3.11/site-packages/pillow.libs/libjpeg-")
    assert rows["zlib"][:2] == ["zlib-ng compat 2.2.4 (linked in)", "-"]
