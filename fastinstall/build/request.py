"""What a build needs and what it gives: the values that enter and leave the pipeline."""

from collections.abc import Mapping
from dataclasses import field
from pathlib import Path

from fastinstall.model.event import Emit, ignore
from fastinstall.model.facts import Interpreter
from fastinstall.model.immutable import immutable
from fastinstall.model.machine import Compiler
from fastinstall.model.recipe import NativeRequirement, Recipe
from fastinstall.model.steps import Build


@immutable
class BuildRequest:
    """Everything that decides a build; nothing else is looked up.

    Attributes:
        recipe: what to build.
        step: version, level, flags, link mode and libraries, as planned.
        interpreter: the Python that it is built for.
        source: the sdist, its hash verified.
        kernels: the sdist of the fork whose changes are merged, or None if nothing is.
        base: the sdist of what that fork follows.
        statics: sdists of libraries that are linked into the core, by the recipe's names of the libraries.
        chassis: the official wheel that carries the core, its hash verified, or None if all is built.
        include_directories: private C headers, searched before the system's.
        library_prefix: the environment whose libraries are linked (link mode "env"): its `lib` and `include`.
        compiler: the C compiler.
        cache: root of our cache; everything temporary lies below it too.
        offline: whether the build's own requirements may come from `wheelhouse` alone.
        wheelhouse: a directory with the build's own requirements; searched besides the index.
        pip: the words that start pip for the interpreter.
        variables: the environment that the build starts from.
        emit: who hears of the progress.
    """

    recipe: Recipe
    step: Build
    interpreter: Interpreter
    source: Path
    kernels: Path | None = None
    base: Path | None = None
    statics: Mapping[str, Path] = field(default_factory=dict)
    chassis: Path | None = None
    include_directories: tuple[Path, ...] = ()
    library_prefix: Path | None = None
    compiler: Compiler
    cache: Path
    offline: bool = False
    wheelhouse: Path | None = None
    pip: tuple[str, ...]
    variables: Mapping[str, str]
    emit: Emit = ignore

    def enabled(self) -> dict[str, NativeRequirement]:
        """The libraries that are compiled against: with a chassis the core's only, for the rest is in it."""
        known = {name: self.recipe.libraries[name] for name in self.step.libraries if name in self.recipe.libraries}
        return {name: library for name, library in known.items() if library.core or self.chassis is None}


@immutable
class BuildResult:
    """A finished wheel in the cache.

    Attributes:
        wheel: the file.
        sha256: of it, hexadecimal.
        from_cache: whether it had been built before.
        features: of the build's own summary: name to version ("" where it gives none), None where absent.
        log: the whole output of the build, level by level; may have been tidied away when the wheel is from the cache,
            and is None where it was built elsewhere.
        seconds: how long this took.
    """

    wheel: Path
    sha256: str
    from_cache: bool
    features: dict[str, str | None]
    log: Path | None
    seconds: float
