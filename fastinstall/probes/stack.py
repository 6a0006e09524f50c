"""PIL as it lies in site-packages, from files alone: nothing is imported, nothing is run."""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from fastinstall.binary.core import read_core
from fastinstall.model.core import Core
from fastinstall.model.facts import Distribution, Interpreter, Stack
from fastinstall.model.immutable import immutable
from fastinstall.probes.dependants import observe_dependants
from fastinstall.probes.ownership import claimed_files, observe_owners
from fastinstall.system import foreign

_PACKAGE = "PIL"
_VERSION = re.compile(r"""^__version__\s*(?::[^=]*)?=\s*(['"])(.*?)\1""", re.MULTILINE)
_CORE = re.compile(r"_imaging\.(?:.*\.)?so")
_PLACEHOLDERS = "-~.=%0123456789"


@immutable
class Loader:
    """What the dynamic loader's search depends on, beside the files themselves.

    Attributes:
        hwcaps: levels whose subdirectories it searches, the best first ("x86-64-v3").
        library_path: the variable LD_LIBRARY_PATH, as written.
        preload: the variable LD_PRELOAD, as written.
        level: of the CPU, above which the loader refuses a file, whatever its tunables say; None: as `hwcaps`.
        platform: what it takes $PLATFORM for; empty: the machine.
        capabilities: what else it searches for before glibc 2.37; None: the machine.
    """

    hwcaps: tuple[str, ...] = ()
    library_path: str = ""
    preload: str = ""
    level: str | None = None
    platform: str = ""
    capabilities: tuple[str, ...] | None = None


_PLAIN = Loader()


def observe_stack(  # noqa: PLR0913 (how thoroughly to look is asked of every probe of files)
    interpreter: Interpreter,
    replaces: tuple[str, ...],
    symbols: tuple[str, ...],
    distributions: tuple[Distribution, ...],
    *,
    loader: Loader = _PLAIN,
    thorough: bool = True,
) -> Stack:
    """Everything that files tell about PIL in the target's site-packages.

    Args:
        interpreter: the target's Python.
        replaces: names of distributions that provide PIL, normalised.
        symbols: symbols that tell SIMD kernels, looked for in the core.
        distributions: everything installed there.
        loader: what the dynamic loader's search depends on.
        thorough: see `observe_owners`.
    """
    site_packages = Path(interpreter.site_packages)
    directory = site_packages / _PACKAGE
    owners = observe_owners(site_packages, replaces, distributions, thorough=thorough)
    version = _version(directory / "_version.py")
    core = _core_file(directory, interpreter.extension_suffix)
    return Stack(
        directory=directory if directory.is_dir() else None,
        has_init=(directory / "__init__.py").is_file(),
        version=version,
        core=_read(core, symbols, interpreter, loader, version) if core is not None else None,
        foreign_cores=tuple(f"{_PACKAGE}/{path.name}" for path in _core_files(directory) if path != core),
        owners=owners,
        unclaimed=tuple(sorted(set(_files(site_packages)) - claimed_files(site_packages, owners))),
        debris=_debris(site_packages, replaces),
        dependants=observe_dependants(interpreter, replaces, distributions),
    )


def _read(core: Path, symbols: tuple[str, ...], interpreter: Interpreter, loader: Loader, version: str | None) -> Core:
    return read_core(
        core,
        symbols,
        main=Path(os.path.realpath(interpreter.executable)),
        hwcaps=loader.hwcaps,
        library_path=tuple(Path(entry) for entry in re.split("[:;]", loader.library_path) if entry),
        expected_version=version,
    )


def _version(path: Path) -> str | None:
    try:
        found = _VERSION.search(foreign.read_text(path, errors="replace"))
    except OSError:
        return None
    return found[2] if found else None


def _core_files(directory: Path) -> list[Path]:
    try:
        return sorted(path for path in directory.iterdir() if _CORE.fullmatch(path.name))
    except OSError:
        return []


def _core_file(directory: Path, extension_suffix: str) -> Path | None:
    """The file that `import PIL._imaging` would take, by the order of the import system's suffixes."""
    suffixes = (extension_suffix, ".abi3.so", ".so")
    names = {path.name: path for path in _core_files(directory)}
    return next((names["_imaging" + suffix] for suffix in suffixes if "_imaging" + suffix in names), None)


def _files(site_packages: Path) -> Iterator[str]:
    """Files below PIL/ relative to site-packages, bytecode aside."""
    skipped = len(str(site_packages)) + 1
    for directory, _, names in os.walk(site_packages / _PACKAGE):
        for name in names:
            if not name.endswith((".pyc", ".pyo")):
                yield f"{directory[skipped:]}/{name}"


def _debris(site_packages: Path, replaces: tuple[str, ...]) -> tuple[str, ...]:
    """What an interrupted pip leaves.

    It moves a directory aside under its own name with the first letters replaced: "~IL", "~-llow.libs".
    Source: pip's AdjacentTempDirectory.
    """
    try:
        names = [path.name for path in site_packages.iterdir() if path.name.startswith("~")]
    except OSError:
        return ()
    pattern = _debris_pattern(replaces)
    return tuple(sorted(name for name in names if pattern.fullmatch(name)))


def _debris_pattern(replaces: tuple[str, ...]) -> re.Pattern[str]:
    distributions = {re.sub("[-_.]+", "_", name) for name in replaces}
    spellings = [(_PACKAGE, r"(?:-.*)?"), *((name, r"(?:-.*|\.libs)?") for name in distributions)]
    alternatives = (
        rf"[{re.escape(_PLACEHOLDERS)}]{{{start - 1}}}{re.escape(name[start:])}{tail}"
        for name, tail in spellings
        for start in range(1, len(name))
    )
    return re.compile(rf"~(?:{'|'.join(alternatives)})", re.IGNORECASE)
