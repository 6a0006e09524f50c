"""Which file of a process a reference is bound to."""

from pathlib import Path

import pytest
from support.elf.loader_target import Target, program
from support.elf.writer import Elf

from fastinstall.elf.loader.simulation import SimulatedProcess
from fastinstall.elf.lookup import Reference

CODE = b"\xc3"
SYMBOLIC = 2


@pytest.fixture
def target(tmp_path: Path) -> Target:
    target = Target(tmp_path)
    target.write("/lib64/liba.so", library("liba.so", "one", "both"))
    target.write("/lib64/libb.so", library("libb.so", "two", "both"))
    target.write("/opt/core.so", Elf(needed=("libb.so", "liba.so"), imported=("one", "both")))
    return target


def library(soname: str, *functions: str, needed: tuple[str, ...] = (), flags: int = 0) -> Elf:
    return Elf(soname=soname, exported=dict.fromkeys(functions, CODE), needed=needed, flags=flags)


def bound(process: SimulatedProcess, symbol: str, version: str = "", *, path: str = "/opt/core.so") -> str | None:
    """Open a file, and return the path of the file that provides it with this symbol; None if no file does."""
    opened = process.open(path)
    assert opened.file is not None
    (provider,) = process.providers(opened.file, [Reference(name=symbol, version=version)], opened.scope).values()
    return provider.path if provider is not None else None


def test_the_first_file_of_its_own_scope_wins(target: Target) -> None:
    process = target.start()
    assert (bound(process, "one"), bound(process, "both")) == ("/lib64/liba.so", "/lib64/libb.so")
    assert bound(process, "nowhere") is None


def test_the_program_its_libraries_and_preloads_bind_first(target: Target) -> None:
    assert bound(target.start(program("liba.so")), "both") == "/lib64/liba.so"
    target.write("/opt/pre.so", library("pre.so", "both"))
    assert bound(target.start(program("liba.so"), preload="/opt/pre.so"), "both") == "/opt/pre.so"
    target.write("/bin/host", Elf(interpreter="/lib64/ld-linux-x86-64.so.2", exported={"both": CODE}))
    assert bound(target.start("/bin/host", preload="/opt/pre.so"), "both") == "/bin/host"


def test_rtld_global_files_bind_first_and_local_ones_are_hidden(target: Target) -> None:
    target.write("/opt/first.so", library("first.so", "both", "first"))
    target.write("/opt/lone.so", Elf(imported=("first",)))
    for everywhere, both, first in ((False, "/lib64/libb.so", None), (True, "/opt/first.so", "/opt/first.so")):
        process = target.start()
        process.open("/opt/first.so", everywhere=everywhere)
        assert bound(process, "both") == both
        assert bound(process, "first", path="/opt/lone.so") == first


def test_a_file_linked_to_itself_takes_its_own_definition(target: Target) -> None:
    for flags, expected in ((0, "/lib64/liba.so"), (SYMBOLIC, "/opt/own.so")):
        target.write("/opt/own.so", library("own.so", "both", flags=flags))
        assert bound(target.start(program("liba.so")), "both", path="/opt/own.so") == expected


def test_a_version_is_taken_from_the_file_that_has_it(target: Target) -> None:
    target.write("/lib64/liba.so", library("liba.so", "f@@JPEG_62"))
    target.write("/lib64/libb.so", library("libb.so", "f@@JPEG_80"))
    process = target.start()
    assert bound(process, "f", "JPEG_62") == "/lib64/liba.so"
    assert bound(process, "f", "JPEG_80") == "/lib64/libb.so"
    assert bound(process, "f", "JPEG_90") is None
    assert bound(process, "f") == "/lib64/libb.so"


def test_a_file_without_versions_serves_every_reference(target: Target) -> None:
    target.write("/lib64/liba.so", library("liba.so", "f@@JPEG_62"))
    target.write("/lib64/libb.so", library("libb.so", "f"))
    assert bound(target.start(), "f", "JPEG_62") == "/lib64/libb.so"


def test_several_references_are_bound_as_each_would_be(target: Target) -> None:
    process = target.start()
    opened = process.open("/opt/core.so")
    assert opened.file is not None
    asked = [Reference(name=name) for name in ("one", "two", "both", "nowhere")]
    together = process.providers(opened.file, asked, opened.scope)
    alone = [process.providers(opened.file, [each], opened.scope) for each in asked]
    assert [{each: provider} for each, provider in together.items()] == alone
    assert [provider and provider.path for provider in together.values()] == [
        *("/lib64/liba.so", "/lib64/libb.so", "/lib64/libb.so", None),
    ]


def test_a_file_that_cannot_be_read_any_more_provides_nothing(target: Target) -> None:
    process = target.start()
    process.open("/opt/core.so")
    (target.root / "lib64" / "libb.so").unlink()
    assert bound(process, "both") == "/lib64/liba.so"
