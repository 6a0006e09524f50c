"""Reads every ELF file of this machine, and compares the results with pyelftools.

By default every forty-eighth file is read, chosen by a hash of its path; with
--every-row all of them, which takes minutes.
"""

import os
import sys
import sysconfig
import zlib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.suite import extent

from differential.pyelftools_view import Truth, read_truth
from fastinstall.elf.dynamic import read_dynamic
from fastinstall.elf.image import ElfError
from fastinstall.elf.imaging_core import read_details
from fastinstall.elf.lookup import Reference, find_all_definitions, find_definitions, read_versions, references
from fastinstall.elf.symbols import compiler_switches, find_defined_names

REFUSED = (
    "neither a program nor a shared library",
    "an ELF file for a 32-bit machine",
    "an ELF file for a big-endian machine",
)
PLACES = ("/usr/lib", "/lib", "/usr/bin", sys.base_prefix, sysconfig.get_path("platlib"))
EVERY = 1 if extent.every_row else 48


@pytest.mark.timeout(3600)
def test_our_readers_agree_with_pyelftools() -> None:
    counts: Counter[str] = Counter()
    for path in elf_files():
        truth = truth_of(path, counts)
        if truth is not None:
            counts["files"] += 1
            compare(path, truth, counts)
    print("ELF files compared:", dict(counts))  # noqa: T201 (counts of a run over all files; pytest -rP shows them)
    assert counts["files"] >= 1000 / EVERY
    assert min(counts["definitions"], counts["references"]) >= 5 * counts["files"]


def truth_of(path: Path, counts: Counter[str]) -> Truth | None:
    """Read a file with pyelftools; None if it is no 64-bit library or program, or if pyelftools cannot read it."""
    problem = problem_of(path)
    if problem:
        assert problem in REFUSED, (path, problem)
        counts[problem] += 1
        return None
    try:
        return read_truth(path)
    except UnicodeDecodeError:  # in separate debug information, the dynamic section's bytes are other data
        assert path.suffix == ".debug", path
        counts["beyond pyelftools"] += 1
        return None


def problem_of(path: Path) -> str:
    try:
        read_dynamic(path)
    except ElfError as error:
        return error.problem
    return ""


def compare(path: Path, truth: Truth, counts: Counter[str]) -> None:
    assert read_dynamic(path) == truth.dynamic, path
    details = read_details(path)
    assert (details.compilers, compiler_switches(path), details.stripped) == truth.making, path
    counts["with package metadata"] += bool(details.package)
    if truth.symbols is None:
        counts["without dynamic symbols"] += 1
        return
    assert read_versions(path) == truth.versions, path
    assert find_defined_names(path, truth.symbols.exported) == truth.symbols.exported, path
    counts["references"] += compare_references(path, truth.symbols.references)
    names = [*sorted(truth.symbols.definitions)[:: max(1, len(truth.symbols.definitions) // 12)], "no_such_name"]
    names += [name for name, found in truth.symbols.definitions.items() if len(found) > 1][:4]
    names += [reference.name for reference in truth.symbols.references][:4]
    found = find_all_definitions(path, tuple(names))
    for name in names:
        assert sorted(map(repr, found[name])) == sorted(map(repr, truth.symbols.definitions.get(name, ()))), (
            path,
            name,
        )
    assert find_definitions(path, names[0]) == found[names[0]]
    counts["definitions"] += len(names)


def compare_references(path: Path, expected: set[Reference]) -> int:
    """Compare all references; if a name has two versions, either may be returned."""
    found = references(path)
    versions = Counter(reference.name for reference in expected)
    assert found.keys() == versions.keys(), path
    assert {one for one in expected if versions[one.name] == 1} <= set(found.values()) <= expected, path
    return len(found)


def elf_files() -> Iterator[Path]:
    seen: set[tuple[int, int]] = set()
    for path in map(Path, chosen_paths()):
        if not path.is_symlink() and is_elf(path):
            status = path.stat()
            if (status.st_dev, status.st_ino) not in seen:
                seen.add((status.st_dev, status.st_ino))
                yield path


def chosen_paths() -> Iterator[str]:
    for place in sorted({os.path.realpath(place) for place in PLACES}):
        for directory, _, names in os.walk(place):
            paths = (f"{directory}/{name}" for name in names)
            yield from (path for path in paths if zlib.crc32(os.fsencode(path)) % EVERY == 0)


def is_elf(path: Path) -> bool:
    try:
        with path.open("rb", buffering=0) as stream:
            return stream.read(4) == b"\x7fELF"
    except OSError:
        return False
