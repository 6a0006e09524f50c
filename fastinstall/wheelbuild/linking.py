"""Decide which libraries a build links, and where the core looks for them at run time.

The linker writes the search path as a DT_RPATH relative to the module. LD_LIBRARY_PATH cannot override a DT_RPATH, but
can override a DT_RUNPATH (ld.so(8)). Unlike an absolute path, a relative one survives moving the environment.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.messages import quote
from fastinstall.core.process import run
from fastinstall.index.header_packages import read_header_packages
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.request import LinkMode
from fastinstall.wheelbuild.base_wheel import BaseWheel
from fastinstall.wheelbuild.build_inputs import BuildRequest, plain_path


def library_flags(
    request: BuildRequest, base_wheel: BaseWheel | None, archives: Mapping[str, Path], directory: Path
) -> tuple[str, ...]:
    """Make symbolic links to the libraries of a build in a directory, and return the linker flags that find them.

    Args:
        base_wheel: the unpacked official wheel that the core is placed in; None without one.
        archives: static libraries, by the recipe's names.
        directory: an empty directory with a plain path, for the symbolic links, which have names that the linker looks
            for ("libtiff.so").

    Raises:
        FailedError: a library that the build enables is missing from the base wheel or, with `--link env`, from the
            environment.
    """
    enabled = {name: library for name, library in request.enabled().items() if name not in archives}
    directory.mkdir(parents=True, exist_ok=True)
    for name, archive in archives.items():
        (directory / f"lib{request.recipe.libraries[name].link}.a").symlink_to(archive)
    own = (f"-L{directory}",)
    if base_wheel is not None:
        for name, library in enabled.items():
            target = _find_carried_library(request, base_wheel, library)
            if target is None:
                raise FailedError(
                    f"{base_wheel.filename} has no lib{library.link}, so it cannot carry a core with {name}",
                    hint=f"leave out {name}, or pass --link system to build without the official wheel",
                )
            refuse_misfit(request, name, target.name)
            (directory / f"lib{library.link}.so").symlink_to(target)
        return own
    if request.step.link is LinkMode.ENV and request.library_prefix is not None:
        place = request.library_prefix / "lib"
        missing = sorted(name for name, each in enabled.items() if not (place / f"lib{each.link}.so").exists())
        if missing:
            conda = " ".join(package for name in missing for package in enabled[name].conda)
            raise FailedError(
                f"{place}: it lacks libraries: {', '.join(missing)}",
                hint=f"conda install -p {quote(place.parent)} {conda}, or pass --link bundle",
            )
        return (*own, f"-L{plain_path(place, directory / 'env')}")
    return own if archives else ()


def make_standalone_run_path(request: BuildRequest) -> str:
    """Return the library search path of a core that is built without an official wheel; empty if it needs none."""
    if request.step.link is LinkMode.ENV and request.library_prefix is not None:
        module = request.interpreter.site_packages / request.recipe.package
        return f"$ORIGIN/{os.path.relpath(request.library_prefix / 'lib', module)}"
    return ""


def options(request: BuildRequest, *, exclusive: bool) -> dict[str, str]:
    """Return the build options of Pillow's setup.py, by name.

    The options require the enabled libraries; if `exclusive` is set, they also disable all other libraries.
    """
    enabled = request.enabled()
    known = {name: library for name, library in request.recipe.libraries.items() if library.option}
    found = {library.option: "enable" for name, library in known.items() if name in enabled}
    if exclusive:
        found |= {library.option: "disable" for name, library in known.items() if name not in enabled}
    return dict(sorted(found.items()))


def find_linked_libraries(request: BuildRequest) -> tuple[Path, ...]:
    """Return the library files that a build without an official wheel links; their hashes are in the cache key."""
    prefix = request.library_prefix
    found: list[Path] = []
    for file in (f"lib{each.link}.so" for name, each in request.enabled().items() if name not in request.statics):
        inside = prefix / "lib" / file if prefix is not None else None
        path = inside if inside is not None and inside.exists() else _ask_compiler_for_library(request, file)
        found += [path.resolve()] if path is not None else []
    return tuple(found)


def refuse_misfit(request: BuildRequest, name: str, file: str) -> None:
    """Raise if the fetched headers are for a different version of a library than the official wheel contains.

    Headers that are installed on the machine are not checked: the user chose them.

    Args:
        name: the recipe's name of the library.
        file: file name of the library in the wheel: "libtiff-32d42e18.so.6.2.0".

    Raises:
        FailedError: the versions differ.
    """
    package = read_header_packages().packages.get(name)
    if package is None or package.sha256 not in {each.sha256 for each in request.header_packages}:
        return
    if not f"{file.partition('.so.')[2]}.".startswith(f"{package.bundled}."):
        raise FailedError(
            f"the official wheel has {file}, and the C headers of {name} that fastinstall fetches are for "
            f".so.{package.bundled}",
            hint="install headers of that version, or choose an earlier version: --version V",
        )


def _find_carried_library(request: BuildRequest, base_wheel: BaseWheel, library: NativeRequirement) -> Path | None:
    """Return the path of the library that the official core uses, from the wheel or the host (libz), or None."""
    bundled = base_wheel.library(library.link)
    if bundled is not None and base_wheel.libraries is not None:
        return base_wheel.libraries / bundled
    host = next((name for name in base_wheel.host if name.startswith(f"lib{library.link}.so")), None)
    return _ask_compiler_for_library(request, host) if host is not None else None


def _ask_compiler_for_library(request: BuildRequest, name: str) -> Path | None:
    """Return the path at which the compiler finds a library; None if the compiler prints only the library's name."""
    argv = (*request.compiler.command, f"-print-file-name={name}")
    answer = run(argv, environment=request.variables).stdout.strip()
    return Path(answer) if answer != name and answer else None
