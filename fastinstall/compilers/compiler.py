"""Base classes of compiler sources: what plans ask to choose one, and what builds ask to use it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from fastinstall.core.architecture import Architecture
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Emit
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Compiler, Facts, Interpreter
from fastinstall.model.request import Request, ToolchainSource

TOOLCHAINS = "toolchains"
"""The cache's directory for private toolchains."""


@immutable
class PrivatePackages:
    """The conda packages of a private prefix with compiler and headers.

    Attributes:
        channels: where they come from, the first one preferred.
        packages: as match specs of conda.
        reason: why they are installed, for people.
    """

    channels: tuple[str, ...]
    packages: tuple[str, ...]
    reason: str


class CompilerSource:
    """Where a compiler comes from; the defaults are for one that this machine has.

    Attributes:
        word: by which `--toolchain` asks for it.
        choice: what choosing it means, for the wizard.
        brings_headers: whether C headers come with it, so that neither headers nor compiler of this machine are used.
        is_exclusive: whether nothing else may bring what is missing.
        crosses: whether it compiles for machines of another architecture too.
    """

    word: ClassVar[ToolchainSource]
    choice: ClassVar[str]
    brings_headers: ClassVar[bool] = False
    is_exclusive: ClassVar[bool] = False
    crosses: ClassVar[bool] = False

    def choose_packages(
        self,
        _facts: Facts,
        _request: Request,
        _tools: tuple[str, ...],
        _libraries: Mapping[str, tuple[str, ...]],
        _channels: tuple[str, ...],
        /,
    ) -> PrivatePackages | None:
        """Return the conda packages that bring what is missing; None if nothing is missing, or others bring it.

        Args:
            facts: the target, with its Python.
            request: where compiler and headers come from.
            tools: names of what is missing: "compiler", "Python.h".
            libraries: the conda packages with the headers of a library, by the recipe's name for it.
            channels: those that conda is configured for.

        Raises:
            RefusedError: they are asked for, and nothing here can install them.
        """
        return None


class WheelCompiler(CompilerSource, ABC):
    """A compiler in a wheel of the package index, which is unpacked into the cache and needs nothing of the machine.

    Attributes:
        distribution: whose wheels have it, by its normalised name.
        versions: those that were tested, as a specifier.
        unpacked_bytes: that it takes in the cache, with what it makes there for itself (measured).
        program: what the compiler is called.
        advantage: why it is taken where nobody asked for it; empty: it is not.
        limits: what it cannot, where `fits` says no.
    """

    distribution: ClassVar[str]
    versions: ClassVar[str]
    unpacked_bytes: ClassVar[int]
    program: ClassVar[str]
    advantage: ClassVar[str] = ""
    limits: ClassVar[str]

    @abstractmethod
    def fits(self, interpreter: Interpreter, *, core_alone: bool) -> bool:
        """Return whether it can compile for an interpreter; `core_alone` as in `choose_wheel`."""

    @abstractmethod
    def select_flags(self, probed: Iterable[str]) -> tuple[str, ...]:
        """Return the flags that it accepts, of those that are tried on other compilers."""

    @abstractmethod
    def prepare(self, wheel: Path, cache: Path, emit: Emit, architecture: Architecture | None = None) -> Path:
        """Unpack it into the cache, unless it is there file by file, and return the program.

        Args:
            wheel: its hash is verified.
            architecture: what it compiles for; None for this machine.

        Raises:
            ArchiveError: the wheel is damaged or hostile.
            OSError: the cache cannot be written.
        """

    def choose_wheel(self, facts: Facts, request: Request, releases: Releases, *, core_alone: bool) -> Artefact | None:
        """Return the newest of its wheels, if it is asked for, or is the default and no compiler is named.

        Args:
            facts: the target; a compiler that CC names is the user's choice.
            request: where the compiler comes from.
            releases: what the index offers.
            core_alone: whether only the core of an official wheel is compiled, and not linked to libraries of this
                machine.

        Raises:
            RefusedError: it is asked for, and cannot be had or does not fit.
        """
        asked = request.toolchain is self.word
        named = facts.toolchain is not None and facts.toolchain.named_compiler
        automatic = request.toolchain is ToolchainSource.AUTO and self.advantage and not named
        if not asked and not automatic:
            return None
        word, fits = f"--toolchain {self.word}", self.fits(facts.interpreter, core_alone=core_alone)
        offered = next((each for each in releases.compilers if each.name == self.distribution), None)
        if asked and not fits:
            raise RefusedError(
                f"--toolchain {self.word}: {self.limits}", hint="pass --toolchain system, or drop --link"
            )
        if asked and offered is None:
            raise RefusedError(
                f"{word}: {releases.origin} has no wheel of {self.distribution} for this machine",
                hint="use this machine's compiler: --toolchain system",
            )
        return offered if fits else None

    def describe(self, wheel: Artefact, probed: Iterable[str]) -> Compiler:
        """Return what a plan takes it for, before it is fetched."""
        version = f"{self.program} of {wheel.filename}"
        return Compiler(command=(self.program,), version=version, accepts=self.select_flags(probed))

    def explain(self, wheel: Artefact, request: Request) -> str:
        """Return why it compiles, as a part of a plan's sentence."""
        why = "requested" if request.toolchain is self.word else self.advantage
        return f"compiled with {self.program} from {wheel.name} {wheel.version}: {why}"
