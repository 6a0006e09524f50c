"""Random forests: directories with libraries of the same names and different needs, links, and invalid files."""

import os
import random
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from support.machine.arm_root import emulate

from differential.forest_parts import NAMES, SYMBOLS, VERSIONED, VERSIONS, Parts
from fastinstall.core.architecture import AARCH64, ARCHITECTURES, X86_64

DIRECTORIES = ("d0", "d1", "d2", "d3")
LEVELS = ("x86-64-v2", "x86-64-v3", "x86-64-v4")
PLATFORMS = {
    X86_64.machine: (
        *("haswell", "haswell", "haswell/x86_64", "tls/haswell/avx512_1", "x86_64/avx512_1/x86_64", "avx512_1"),
        *("tls", "x86_64", "tls/x86_64"),
    ),
    AARCH64.machine: (
        *("atomics", "atomics", "aarch64", "aarch64/atomics", "tls/aarch64/atomics", "tls/atomics", "asimd"),
        *("tls", "tls/aarch64", "aarch64/aarch64", "atomics/asimd/fp"),
    ),
}
"""Subdirectories that loaders of some glibc version search, and some that no loader searches."""
FOREIGN = ("machine", "class", "order")
RUBBISH = ("empty", "short", "text", "directory", "dangling", "circle")


@dataclass(kw_only=True)
class Forest:
    """A directory of random libraries and programs.

    Attributes:
        base: the directory, which is the working directory of the programs.
        parts: the objects and stubs that everything is linked from.
        chance: the random number generator.
        places: directories, by the names that search paths use.
        made: the libraries.
        hosts: the programs.
        root: a directory whose files the programs see below "/", sometimes with an ld.so.cache; None if they see only
            the real "/".
    """

    base: Path
    parts: Parts
    chance: random.Random
    places: list[str] = field(default_factory=list)
    made: list[Path] = field(default_factory=list)
    hosts: list[Path] = field(default_factory=list)
    root: Path | None = None

    def happens(self, probability: float) -> bool:
        return self.chance.random() < probability


def grow(base: Path, parts: Parts, chance: random.Random) -> Forest:
    """Create a forest."""
    forest = Forest(base=base, parts=parts, chance=chance)
    _make_directories(forest)
    for name in NAMES:
        _make_copies(forest, name)
    if forest.happens(0.4):
        _make_rubbish(forest)
    _make_opener(forest)
    for number, needs in enumerate(((), chance.sample(NAMES, chance.choice((1, 2))))):
        _make_host(forest, base / f"host{number}", needs)
    if parts.root is not None:
        forest.root = _make_root(forest, parts.root)
    return forest


def _make_root(forest: Forest, system: Path) -> Path:
    """Create a root directory with links into `system`, sometimes with an ld.so.cache written by `ldconfig`."""
    root = forest.base / "root"
    (root / "etc").mkdir(parents=True)
    for name in ("lib", "usr"):
        (root / name).symlink_to(system / name)
    first = forest.base.parts[1]
    (root / first).symlink_to(f"/{first}")
    if forest.happens(0.4):
        listed = forest.chance.sample([*DIRECTORIES, "store"], 2)
        lines = [str(forest.base / place) for place in listed if (forest.base / place).is_dir()]
        (root / "etc/ld.so.conf").write_text("\n".join([*lines, ""]))
        program = (*emulate(system, system / "sbin/ldconfig"), "-X", "-C", root / "etc/ld.so.cache")
        done = subprocess.run(
            [*program, "-f", root / "etc/ld.so.conf"], capture_output=True, text=True, errors="replace", check=False
        )
        assert (root / "etc/ld.so.cache").is_file(), done.stderr
    return root


def _make_directories(forest: Forest) -> None:
    forest.base.mkdir(parents=True)
    for name in (*DIRECTORIES, "lib64", "lib", f"lib/{forest.parts.architecture.target}"):
        (forest.base / name).mkdir()
    for level in LEVELS:
        if forest.happens(0.25):
            (forest.base / "d0" / "glibc-hwcaps" / level).mkdir(parents=True)
    for platform in forest.chance.sample(PLATFORMS[forest.parts.architecture.machine], 4):
        (forest.base / forest.chance.choice(("d0", "d1")) / platform).mkdir(parents=True, exist_ok=True)
    forest.places = list(DIRECTORIES)
    if forest.happens(0.4):
        (forest.base / "link1").symlink_to("d1")
        forest.places.append("link1")


def _make_copies(forest: Forest, name: str) -> None:
    places = forest.chance.sample(DIRECTORIES, forest.chance.choice((2, 3, 4, 4, 4)))
    special = [str(path.relative_to(forest.base)) for path in forest.base.glob("d?/**/") if path.parent != forest.base]
    special += [".", "lib64", f"lib/{forest.parts.architecture.target}"]
    places += [place for place in special if forest.happens(0.35)]
    for place in places:
        path = forest.base / place / name
        if forest.happens(0.15):
            (forest.base / "store").mkdir(exist_ok=True)
            target = forest.base / "store" / f"{name}-{len(forest.made)}"
            path.symlink_to(target)
            _make_library(forest, target, name)
        else:
            _make_library(forest, path, name)
        forest.made.append(path)
        alias = path.with_name(f"{name}.9")
        if forest.happens(0.1) and not alias.exists():
            alias.symlink_to(name)


def _make_library(forest: Forest, path: Path, name: str) -> None:
    parts = forest.parts
    arguments: list[str | Path] = ["-shared", "-o", path, "--no-as-needed", "--allow-shlib-undefined"]
    arguments += _soname(forest, name)
    arguments += _search(forest)
    arguments += ["-z", "nodefaultlib"] if forest.happens(0.06) else []
    arguments += ["-z", forest.chance.choice(LEVELS)] if forest.happens(0.04) and parts.architecture.hwcaps else []
    arguments += ["-Bsymbolic"] if forest.happens(0.1) else []
    if name in VERSIONED and forest.happens(0.7):
        arguments += [f"--version-script={parts.version_script(_versions(forest))}"]
    elif name in VERSIONED:
        # Give the library a version table: the loader aborts if a file needs a version from a library that has no such
        # table.
        arguments += [parts.directory / "versions.o", parts.libc[-1]]
    symbols = [symbol for symbol in SYMBOLS if forest.happens(0.3)]
    arguments += [parts.definition(symbol) for symbol in symbols]
    arguments += [parts.reference(symbol) for symbol in SYMBOLS if forest.happens(0.3)]
    arguments += [parts.directory / "empty.o"]
    parts.link(*arguments, *_needs(forest, name))


def _versions(forest: Forest) -> tuple[str, ...]:
    return forest.chance.choice((VERSIONS[:1], VERSIONS[1:], VERSIONS, VERSIONS, VERSIONS[::-1]))


def _soname(forest: Forest, name: str) -> list[str]:
    kind = forest.chance.random()
    if kind < 0.15:
        return []
    return ["-soname", f"{name}.9" if kind < 0.25 else name]


def _needs(forest: Forest, name: str) -> list[Path]:
    """Return stubs to link with: most have a bare name, some a relative path, an absolute path or a token."""
    found = []
    for other in NAMES:
        if other == name or not forest.happens(0.18):
            continue
        if other in VERSIONED and forest.happens(0.6):
            found.append(forest.parts.versioned_stub(other, forest.chance.choice(VERSIONS)))
        elif forest.happens(0.08):
            place = forest.chance.choice(forest.places)
            found.append(forest.parts.stub(forest.chance.choice((f"{place}/{other}", f"$ORIGIN/../{place}/{other}"))))
        else:
            found.append(forest.parts.stub(other if forest.happens(0.97) else f"{other}.9"))
    return found


def _search(forest: Forest) -> list[str]:
    """Return the linker's options for DT_RPATH, DT_RUNPATH, or neither."""
    tags = forest.chance.choice((None, *("--disable-new-dtags", "--enable-new-dtags") * 3))
    if tags is None:
        return []
    return [tags, "-rpath", ":".join(search_entry(forest) for _ in range(forest.chance.choice((1, 2, 3, 4, 4))))]


def search_entry(forest: Forest) -> str:
    """Return a directory, in one of the spellings that a search path may have."""
    place = forest.chance.choice(forest.places)
    plain = (str(forest.base / place), f"$ORIGIN/../{place}", f"${{ORIGIN}}/../{place}", "$ORIGIN")
    odd = (
        *(place, f"./{place}//", f"{forest.base}/{place}/", "", "/nowhere/at/all", "$ORIGINAL", f"{place}/../d3"),
        *("$ORIGIN/../$LIB", "${ORIGIN}/../${PLATFORM}", "$PLATFORM", f"{place}/$PLATFORM", "$NOTHING/x"),
        f"{forest.base}/{place}/libza.so",
    )
    return forest.chance.choice(plain if forest.happens(0.85) else odd)


def _make_rubbish(forest: Forest) -> None:
    """Replace one library by a file that is no library for this machine."""
    path = forest.base / forest.chance.choice(DIRECTORIES) / forest.chance.choice(NAMES)
    if os.path.lexists(path):
        path.unlink()
    if path in forest.made:
        forest.made.remove(path)
    other = next(each.elf_machine for each in ARCHITECTURES if each != forest.parts.architecture)
    _write_rubbish(path, forest.chance.choice((*FOREIGN, *RUBBISH)), forest.made[0].read_bytes(), other)
    forest.made.append(path)


def _write_rubbish(path: Path, kind: str, sound: bytes, other: int) -> None:
    changed = {"machine": (18, other), "class": (4, 1), "order": (5, 2)}
    contents = {"empty": b"", "short": sound[:40], "text": b"INPUT(libc.so.6)\n" * 8}
    if kind in changed:
        offset, value = changed[kind]
        path.write_bytes(sound[:offset] + bytes([value]) + sound[offset + 1 :])
    elif kind in contents:
        path.write_bytes(contents[kind])
    elif kind == "directory":
        path.mkdir()
    else:
        path.symlink_to("nowhere.so" if kind == "dangling" else path.name)


def _make_opener(forest: Forest) -> None:
    """Build the library that opens others. Its soname is its path, so the loader finds it without a search."""
    path = forest.base / "libopener.so"
    parts = forest.parts
    parts.link("-shared", "-o", path, "-soname", str(path), *_search(forest), parts.directory / "opener.o")


def _make_host(forest: Forest, path: Path, needs: Sequence[str]) -> None:
    start, begin, end, libc = forest.parts.libc
    arguments: list[str | Path] = ["-pie", "-dynamic-linker", forest.parts.loader, "-o", path, start, begin]
    arguments += [forest.parts.directory / "host.o", "--no-as-needed", "--allow-shlib-undefined", *_search(forest)]
    if forest.happens(0.3):
        arguments += ["--export-dynamic", forest.parts.definition(forest.chance.choice(SYMBOLS))]
    arguments += [forest.parts.stub(name) for name in needs]
    forest.parts.link(*arguments, forest.base / "libopener.so", libc, end)
    forest.hosts.append(path)


def fell(forest: Forest) -> None:
    """Remove a forest."""
    shutil.rmtree(forest.base)
