"""Request and result of a build, as values.

The same inputs give the same bytes, on any machine and date: `plain_paths` keeps paths out, a wheel is packed in order
and without dates, its metadata has no times or paths of the machine, and static libraries are archived without dates.
No `-frandom-seed`: C without link-time optimisation has no names that need it.
"""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.core.events import Emit, ignore
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact, WheelOrder
from fastinstall.model.facts import Compiler, Interpreter
from fastinstall.model.recipe import NativeRequirement, Recipe, StaticSource


@immutable
class BuildRequest:
    """All inputs of a build; nothing else is looked up.

    Attributes:
        recipe: the recipe to build.
        step: version, level, flags, link mode and libraries, as planned.
        interpreter: the Python that it is built for.
        source: the sdist, its hash verified.
        statics: sdists of libraries that are linked into the core, by the recipe's names of the libraries.
        base_wheel: the official wheel that carries the core, its hash verified, or None to build everything.
        include_directories: private C headers, searched before the system's.
        header_packages: what lies there, from packages.
        library_prefix: the environment with the libraries to link (link mode "env"): its `lib` and `include`.
        cache: root of our cache, which also holds all temporary files.
        offline: whether the build's own requirements must come from `wheelhouse`.
        wheelhouse: a directory with the build's own requirements; searched in addition to the index.
        indexes: names of the indexes and `find-links` that pip asks.
        pip: the command that starts pip for the interpreter.
        variables: the environment variables to start from.
        is_foreign: whether machines of another architecture run it, and not this one.
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
        """Return how the libraries are built that are linked into the core, by the recipe's names."""
        sources = {name: self.recipe.libraries[name].static for name in self.statics}
        return {name: source for name, source in sources.items() if source is not None}


@immutable
class BuildResult:
    """A built wheel in the cache.

    Attributes:
        sha256: its hash, in hexadecimal digits.
        from_cache: whether it was taken from the cache.
    """

    wheel: Path
    sha256: str
    from_cache: bool


def list_enabled_libraries(recipe: Recipe, step: WheelOrder, *, carried: bool) -> dict[str, NativeRequirement]:
    """Return the libraries to compile against, by the recipe's names.

    Args:
        recipe: it says which libraries Pillow's C extension itself links.
        step: the build.
        carried: whether an official wheel carries the core: it has the libraries of the other extension modules.
    """
    known = {name: recipe.libraries[name] for name in step.libraries if name in recipe.libraries}
    return {name: library for name, library in known.items() if library.core or not carried}
