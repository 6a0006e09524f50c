"""The libraries behind PIL's codecs in a simulated process: what they are, and which files are bound to them."""

import re
from dataclasses import replace
from pathlib import Path

import pytest
from support.elf.writer import PLAIN, Elf

from fastinstall.elf.description import Binding, Codec, Linkage
from fastinstall.elf.linkage import read_linkage
from fastinstall.elf.loader.process_settings import ProcessSettings

TURBO = b"\0Copyright (C) 1991-2025 The libjpeg-turbo Project and many others\0\x006b  27-Mar-1998\0"
IJG = b"\x009e  16-Jan-2022\0Copyright (C) 2022, Thomas G. Lane, Guido Vollbeding\0"
ZLIB = b"\0 inflate 1.2.13 Copyright 1995-2022 Mark Adler \0"
ZLIB_INSIDE = b"\0invalid distance too far back\0incorrect header check\0 zlib-ng 2.3.3\0x1.3.1.zlib-ng\0"
GNU_HASH = (0x6FFFFEF5).to_bytes(8, "little")
PYTHON = Elf(interpreter="/lib/ld.so", needed=("libc.so.6",), runpath="/lib")


def library(soname: str, *functions: str, constants: bytes = b"", **more: tuple[str, ...]) -> Elf:
    exported = dict.fromkeys(functions, PLAIN)
    return Elf(soname=soname, exported=exported, constants=constants, runpath="$ORIGIN", **more)  # type: ignore[arg-type]  # (names of needs and imports)


def module(*, needed: tuple[str, ...], imported: tuple[str, ...], constants: bytes = b"") -> Elf:
    return Elf(
        needed=needed,
        runpath="$ORIGIN/../libs",
        exported={"PyInit_x": PLAIN},
        imported=imported,
        constants=constants,
    )


TURBO_62 = library("libjpeg.so.62", "jpeg_read_header", "jpeg_std_error", constants=TURBO)
IJG_9 = library("libjpeg.so.9", "jpeg_read_header", "jpeg_std_error", constants=IJG)
TIFF = library("libtiff.so.6", "TIFFClientOpen", needed=("libjpeg.so.62",), imported=("jpeg_read_header",))
CORE = module(needed=("libtiff.so.6", "libjpeg.so.62"), imported=("TIFFClientOpen", "jpeg_std_error"))


class Target:
    """A filesystem with a Python and a PIL."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.write("bin/python", PYTHON)
        self.write("lib/ld.so", Elf(soname="ld.so"))
        self.write("lib/libc.so.6", Elf(soname="libc.so.6"))

    def write(self, name: str, elf: Elf) -> Path:
        """Write a file, and return its path within the target."""
        elf.write(self.root / name)
        return Path("/", name)

    def read(self, *modules: Path, program: str = "/bin/python", preload: str = "") -> Linkage:
        return read_linkage(modules, ProcessSettings(program=Path(program), root=self.root, preload=preload))


@pytest.fixture
def target(tmp_path: Path) -> Target:
    """Return a target without libraries."""
    return Target(tmp_path)


def bound(linkage: Linkage) -> list[tuple[str, str, str]]:
    """Return, for each binding, the file that uses the symbol, the symbol, and the file that provides it, or ""."""
    return [(each.user.name, each.symbol, each.provider.name if each.provider else "") for each in linkage.bindings]


def codec(linkage: Linkage, kind: str) -> Codec:
    """Return the only codec of a kind."""
    (found,) = (each for each in linkage.codecs if each.kind == kind)
    return found


def binding(linkage: Linkage, user: str) -> Binding:
    """Return the first binding of the file named `user`."""
    return next(each for each in linkage.bindings if each.user.name == user)


def test_codecs_are_told_with_their_users(target: Target) -> None:
    jpeg, tiff = target.write("libs/libjpeg.so.62", TURBO_62), target.write("libs/libtiff.so.6", TIFF)
    core = target.write("PIL/_imaging.so", CORE)
    linkage = target.read(core)
    assert [file.path for file in linkage.files][-3:] == [core, tiff, jpeg]
    assert bound(linkage) == [
        ("_imaging.so", "jpeg_std_error", "libjpeg.so.62"),
        ("_imaging.so", "TIFFClientOpen", "libtiff.so.6"),
        ("libtiff.so.6", "jpeg_read_header", "libjpeg.so.62"),
    ]
    assert not any(each.is_crossed for each in linkage.bindings)
    found = codec(linkage, "jpeg")
    assert (found.library.implementation, found.library.path, found.library.soname) == (
        "libjpeg-turbo",
        jpeg,
        "libjpeg.so.62",
    )
    assert (found.inside, found.users) == (False, (core, tiff))
    assert found.library.size == (target.root / "libs/libjpeg.so.62").stat().st_size
    assert (codec(linkage, "tiff").users, codec(linkage, "tiff").library.sha256) == ((core,), "")


def test_a_library_without_a_soname_goes_by_the_name_of_its_file(target: Target) -> None:
    jpeg = target.write("libs/libjpeg.so", replace(TURBO_62, soname=None))
    core = target.write("PIL/_imaging.so", module(needed=(str(jpeg),), imported=("jpeg_std_error",)))
    found = codec(target.read(core), "jpeg").library
    assert (found.path, found.soname) == (jpeg, "libjpeg.so")


def test_a_user_that_gets_another_librarys_code_is_crossed(target: Target) -> None:
    target.write("libs/libjpeg.so.62", TURBO_62)
    other = target.write("libs/libjpeg.so.9", IJG_9)
    tiff = target.write("libs/libtiff.so.6", replace(TIFF, needed=("libjpeg.so.9",)))
    core = target.write("PIL/_imaging.so", replace(CORE, needed=("libjpeg.so.62", "libtiff.so.6")))
    linkage = target.read(core)
    crossed = binding(linkage, "libtiff.so.6")
    assert (crossed.is_crossed, crossed.wanted, crossed.user) == (True, other, tiff)
    assert not binding(linkage, "_imaging.so").is_crossed
    jpegs = {each.library.implementation: each.users for each in linkage.codecs if each.kind == "jpeg"}
    assert jpegs == {"libjpeg-turbo": (core, tiff), "IJG libjpeg": ()}


def test_versions_of_symbols_keep_two_libraries_apart(target: Target) -> None:
    versioned = ("jpeg_read_header@@LIBJPEG_9.0", "jpeg_std_error@@LIBJPEG_9.0")
    target.write(
        "libs/libjpeg.so.62", library("libjpeg.so.62", *(f"{name}@@LIBJPEG_6.2" for name in TURBO_62.exported))
    )
    target.write("libs/libjpeg.so.9", library("libjpeg.so.9", *versioned, constants=IJG))
    wanted = ("jpeg_read_header@LIBJPEG_9.0:libjpeg.so.9",)
    target.write("libs/libtiff.so.6", replace(TIFF, needed=("libjpeg.so.9",), imported=wanted))
    core = replace(
        CORE, needed=("libjpeg.so.62", "libtiff.so.6"), imported=("jpeg_std_error@LIBJPEG_6.2:libjpeg.so.62",)
    )
    linkage = target.read(target.write("PIL/_imaging.so", core))
    assert bound(linkage) == [
        ("_imaging.so", "jpeg_std_error", "libjpeg.so.62"),
        ("libtiff.so.6", "jpeg_read_header", "libjpeg.so.9"),
    ]
    assert binding(linkage, "libtiff.so.6").version == "LIBJPEG_9.0"


def test_a_library_inside_a_module_has_no_users_but_its_holder(target: Target) -> None:
    target.write("libs/libz.so.1", library("libz.so.1", "inflate", constants=ZLIB))
    core = target.write("PIL/_imaging.so", module(needed=(), imported=(), constants=ZLIB_INSIDE))
    font = target.write("PIL/_imagingft.so", module(needed=("libz.so.1",), imported=("inflate",)))
    linkage = target.read(core, font)
    inside, shared = linkage.codecs
    assert (inside.library.implementation, inside.library.path, inside.inside) == ("zlib-ng compat", core, True)
    assert (inside.library.soname, inside.users) == ("", ())
    assert (shared.library.implementation, shared.library.soname, shared.users) == ("zlib", "libz.so.1", (font,))


def test_of_the_programs_own_libraries_only_bound_ones_count(target: Target) -> None:
    target.write("lib/libc.so.6", library("libc.so.6", constants=ZLIB_INSIDE))
    python = replace(PYTHON, exported={"inflate": PLAIN}, constants=ZLIB)
    program = target.write("bin/python", python)
    core = target.write("PIL/_imaging.so", module(needed=(), imported=("inflate",)))
    (found,) = target.read(core).codecs
    assert (found.kind, found.library.path, found.users) == ("zlib", program, (core,))


def test_a_module_that_lacks_something_is_told_and_is_not_loaded(target: Target) -> None:
    target.write("libs/libjpeg.so.62", TURBO_62)
    core = target.write("PIL/_imaging.so", CORE)
    linkage = target.read(core)
    assert [(each.name, each.needed_by) for each in linkage.missing] == [("libtiff.so.6", core)]
    assert (linkage.modules, linkage.codecs) == ((core,), ())
    assert core not in {file.path for file in linkage.files}


def test_a_library_with_damaged_symbols_is_listed_unidentified(target: Target) -> None:
    jpeg = target.write("libs/libjpeg.so.62", TURBO_62)
    damaged = target.root / "libs/libjpeg.so.62"
    damaged.write_bytes(re.sub(GNU_HASH + b".{8}", GNU_HASH + b"\xff" * 8, damaged.read_bytes(), flags=re.DOTALL))
    core = target.write("PIL/_imaging.so", module(needed=("libjpeg.so.62",), imported=("jpeg_std_error",)))
    linkage = target.read(core)
    assert linkage.files[-1].path == jpeg
    assert bound(linkage) == [("_imaging.so", "jpeg_std_error", "")]
    assert linkage.codecs == ()


def test_what_is_preloaded_wins(target: Target) -> None:
    mine = target.write("mine.so", library("mine.so", "jpeg_read_header", "jpeg_std_error", constants=IJG))
    target.write("libs/libjpeg.so.62", TURBO_62)
    core = target.write("PIL/_imaging.so", module(needed=("libjpeg.so.62",), imported=("jpeg_std_error",)))
    linkage = target.read(core, preload="/mine.so")
    assert (linkage.bindings[0].provider, linkage.bindings[0].is_crossed) == (mine, True)
    assert {each.library.implementation: each.users for each in linkage.codecs} == {
        "IJG libjpeg": (core,),
        "libjpeg-turbo": (),
    }


@pytest.mark.parametrize("content", [b"#!/bin/sh\n", b"", b"\x7fELF"])
def test_a_program_that_is_none_is_a_problem(target: Target, content: bytes) -> None:
    (target.root / "bin/python").write_bytes(content)
    linkage = target.read(target.write("PIL/_imaging.so", CORE))
    assert linkage.problem
    assert linkage == Linkage(problem=linkage.problem)


def test_a_program_that_is_missing_is_a_problem(target: Target) -> None:
    assert "/bin/gone" in target.read(program="/bin/gone").problem
