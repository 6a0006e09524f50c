"""Values for the request and the result of a build, and paths that need no quoting.

The same inputs give the same bytes on any machine and date: compiler flags keep paths out of the output, wheels are
packed in order and without dates, their metadata has no times or paths of the machine, and static libraries are
archived without dates. `-frandom-seed` is not needed: C code without link-time optimisation has no random names.
Source: https://reproducible-builds.org/docs/ and GCC's manual on `-ffile-prefix-map`.
"""

import os
import re
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import field
from pathlib import Path

from fastinstall.core import temporary_directories
from fastinstall.core.events import Emit, ignore
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact, WheelOrder
from fastinstall.model.facts import Interpreter
from fastinstall.model.machine import Compiler
from fastinstall.model.recipe import NativeRequirement, Recipe, StaticSource


@immutable
class BuildRequest:
    """All inputs of a build.

    Attributes:
        recipe: the recipe to build.
        step: version, levels, flags, link mode and libraries, as planned.
        interpreter: the Python to build for.
        source: path of the sdist, whose hash was verified.
        statics: paths of the sdists of libraries that are linked into the core, by the recipe's names of the libraries.
        base_wheel: path of the official wheel that the core is placed in, whose hash was verified; None without one.
        include_directories: directories of private C headers, searched before the system's.
        header_packages: packages that contain these private headers.
        library_prefix: in link mode "env", root of the environment whose `lib` and `include` are used; otherwise None.
        cache: root of our cache, which also holds all temporary files.
        offline: whether the build's own requirements must come from the cache or from `wheelhouse`.
        wheelhouse: a directory with the build's own requirements, searched in addition to the index.
        indexes: names of the indexes and `find-links` in pip's settings.
        pip: the command that starts pip for the interpreter.
        variables: environment variables of the user.
        is_foreign: whether the build is for an architecture other than this machine's.
    """

    recipe: Recipe
    step: WheelOrder
    interpreter: Interpreter
    source: Path
    statics: Mapping[str, Path] = field(default_factory=dict)
    base_wheel: Path | None = None
    include_directories: tuple[Path, ...] = ()
    header_packages: tuple[Artefact, ...] = ()
    library_prefix: Path | None = None
    compiler: Compiler
    cache: Path
    offline: bool = False
    wheelhouse: Path | None = None
    indexes: tuple[str, ...] = ()
    pip: tuple[str, ...]
    variables: Mapping[str, str]
    emit: Emit = ignore
    is_foreign: bool = False

    def enabled(self) -> dict[str, NativeRequirement]:
        """Return the libraries to compile against, by the recipe's names."""
        return list_enabled_libraries(self.recipe, self.step, carried=self.base_wheel is not None)

    def static_sources(self) -> dict[str, StaticSource]:
        """Return build instructions for the libraries that are linked into the core, by the recipe's names."""
        sources = {name: self.recipe.libraries[name].static for name in self.statics}
        return {name: source for name, source in sources.items() if source is not None}


@immutable
class BuildResult:
    """A built or ready-made wheel.

    Attributes:
        sha256: hash of the wheel, in hexadecimal digits.
        from_cache: whether the wheel was taken from the cache instead of being built.
    """

    wheel: Path
    sha256: str
    from_cache: bool


def list_enabled_libraries(recipe: Recipe, step: WheelOrder, *, carried: bool) -> dict[str, NativeRequirement]:
    """Return the libraries to compile against, by the recipe's names.

    Args:
        recipe: defines which libraries Pillow's core links.
        step: the planned build.
        carried: whether the core is placed in an official wheel; then only libraries that the core itself uses are
            needed, not those of Pillow's other extension modules.
    """
    known = {name: recipe.libraries[name] for name in step.libraries if name in recipe.libraries}
    return {name: library for name, library in known.items() if library.core or not carried}


def is_plain_path(path: Path) -> bool:
    """Return whether a path needs no quoting; `configure`, makefiles and Pillow's setup.py accept only such paths."""
    return re.fullmatch(r"[\w./+-]+", str(path), re.ASCII) is not None


def plain_path(directory: Path, link: Path) -> Path:
    """Return a directory if its path is plain; otherwise create a symbolic link to it, and return the link.

    Args:
        directory: a directory with any path.
        link: a plain path that does not exist yet, for the link.
    """
    if is_plain_path(directory):
        return directory
    link.symlink_to(directory)
    return link


@contextmanager
def plain_directory(space: Path) -> Iterator[Path]:
    """Create a temporary directory with a plain path.

    The directory is created in `space` if the path of `space` is plain, otherwise in a temporary directory of the
    system.
    """
    places = (space, Path(tempfile.gettempdir()), Path("/tmp"), Path("/var/tmp"))  # noqa: S108 (mkdtemp makes its own in it)
    within = next((place for place in places if is_plain_path(place) and os.access(place, os.W_OK)), space)
    with temporary_directories.temporary_directory("plain", within=within) as directory:
        yield directory


def path_flags(*directories: Path) -> tuple[str, ...]:
    """Return compiler flags that keep the paths of directories out of the output and its debug information.

    If one directory contains another, the flag of the inner one comes last: GCC applies the last flag that matches.
    """
    outermost_first = sorted(directories, key=lambda directory: len(directory.parts))
    return tuple(f"-ffile-prefix-map={directory}=." for directory in outermost_first)
