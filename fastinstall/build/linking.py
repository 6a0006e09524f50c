"""Which libraries a build links, where it finds them, and where the core will look for them.

The run-time path is a DT_RPATH relative to the module, written by the linker: unlike DT_RUNPATH it
cannot be overridden by an LD_LIBRARY_PATH of somebody else's (ld.so(8)), and unlike an absolute one
it survives a moved environment.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from fastinstall.build.chassis import Chassis
from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.model.immutable import immutable
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.wish import LinkMode
from fastinstall.rules.messages import quote
from fastinstall.system.process import run

_HIDDEN = "-Wl,--exclude-libs,ALL"
"""Symbols of static libraries stay inside: else a libz that another module has loaded would be called instead."""


@immutable
class Linking:
    """How a build links.

    Attributes:
        flags: for the linker.
        options: the build's own options: "jpeg" to "enable" or "disable".
    """

    flags: tuple[str, ...] = ()
    options: dict[str, str]


@immutable
class Place:
    """Where a core will lie.

    Attributes:
        run_path: where it looks for libraries, relative to itself; empty for nowhere of its own.
        soname: its own name, where another file asks for it; empty otherwise.
    """

    run_path: str
    soname: str = ""

    @property
    def flags(self) -> tuple[str, ...]:
        """What the linker is told."""
        search = (f"-Wl,--disable-new-dtags,-rpath,{self.run_path}",) if self.run_path else ()
        return (*search, f"-Wl,-soname,{self.soname}") if self.soname else search


def linking(request: BuildRequest, chassis: Chassis | None, archives: Mapping[str, Path], directory: Path) -> Linking:
    """Decide which libraries are linked.

    Args:
        request: the build.
        chassis: the unpacked official wheel, if one carries the core.
        archives: static libraries, by the recipe's names.
        directory: an empty one, for links to libraries under the names that the linker wants.

    Raises:
        FailedError: the chassis lacks a library that the build enables.
    """
    enabled = {name: library for name, library in request.enabled().items() if name not in archives}
    directory.mkdir(parents=True, exist_ok=True)
    for name, archive in archives.items():
        (directory / f"lib{request.recipe.libraries[name].link}.a").symlink_to(archive)
    own = (f"-L{directory}", *((_HIDDEN,) if archives else ()))
    if chassis is not None:
        _link_bundled(request, chassis, enabled, directory)
        return Linking(flags=own, options=options(request, exclusive=True))
    if request.step.link is LinkMode.ENV and request.library_prefix is not None:
        library = request.library_prefix / "lib"
        _require_inside(library, enabled)
        return Linking(flags=(*own, f"-L{library}"), options=options(request, exclusive=False))
    return Linking(flags=own if archives else (), options=options(request, exclusive=False))


def own_place(request: BuildRequest) -> Place:
    """Where a core lies that is the module itself, without a chassis."""
    if request.step.link is LinkMode.ENV and request.library_prefix is not None:
        module = Path(request.interpreter.site_packages) / request.recipe.package
        return Place(run_path=f"$ORIGIN/{os.path.relpath(request.library_prefix / 'lib', module)}")
    return Place(run_path="")


def options(request: BuildRequest, *, exclusive: bool) -> dict[str, str]:
    """The build's options: required for what is enabled; with `exclusive`, refused for all else."""
    enabled = request.enabled()
    known = {name: library for name, library in request.recipe.libraries.items() if library.option}
    found = {library.option: "enable" for name, library in known.items() if name in enabled}
    if exclusive:
        found |= {library.option: "disable" for name, library in known.items() if name not in enabled}
    return dict(sorted(found.items()))


def linked_libraries(request: BuildRequest) -> tuple[Path, ...]:
    """The files that the linker finds for the enabled libraries without a chassis, for the cache's key."""
    places = (request.library_prefix / "lib",) if request.library_prefix is not None else ()
    linked = (library for name, library in request.enabled().items() if name not in request.statics)
    found = (_development_library(request, library, places) for library in linked)
    return tuple(path.resolve() for path in found if path is not None)


def _link_bundled(
    request: BuildRequest, chassis: Chassis, enabled: Mapping[str, NativeRequirement], directory: Path
) -> None:
    for name, library in enabled.items():
        target = _carried(request, chassis, library)
        if target is None:
            raise FailedError(
                f"{chassis.filename} brings no lib{library.link}, so a core with {name} cannot be linked to it",
                hint=f"leave {name} out, or --link system to build without the official wheel",
            )
        (directory / f"lib{library.link}.so").symlink_to(target)


def _carried(request: BuildRequest, chassis: Chassis, library: NativeRequirement) -> Path | None:
    """The library that the official core uses: out of the wheel, or the host's (libz)."""
    bundled = chassis.library(library.link)
    if bundled is not None and chassis.libraries is not None:
        return chassis.libraries / bundled
    host = next((name for name in chassis.host if name.startswith(f"lib{library.link}.so")), None)
    return _found_by_compiler(request, host) if host is not None else None


def _require_inside(library: Path, enabled: dict[str, NativeRequirement]) -> None:
    missing = sorted(name for name, each in enabled.items() if not (library / f"lib{each.link}.so").exists())
    if missing:
        conda = " ".join(package for name in missing for package in enabled[name].conda)
        raise FailedError(
            f"{library}: no library for {', '.join(missing)}",
            hint=f"conda install -p {quote(library.parent)} {conda}, or --link bundle",
        )


def _development_library(request: BuildRequest, library: NativeRequirement, places: tuple[Path, ...]) -> Path | None:
    name = f"lib{library.link}.so"
    inside = next((place / name for place in places if (place / name).exists()), None)
    return inside or _found_by_compiler(request, name)


def _found_by_compiler(request: BuildRequest, name: str) -> Path | None:
    """Where the compiler's own search finds a library; it echoes the name where it does not."""
    argv = (*request.compiler.command, f"-print-file-name={name}")
    answer = run(argv, environment=request.variables).stdout.strip()
    return Path(answer) if answer != name and answer else None
