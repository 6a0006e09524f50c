"""Base classes of compiler sources. Their methods let plans choose a compiler, and builds prepare it."""

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import ClassVar

from fastinstall.core.architecture import Architecture
from fastinstall.core.errors import RefusedError
from fastinstall.core.events import Emit
from fastinstall.core.values import immutable
from fastinstall.model.artefact import Artefact, Releases
from fastinstall.model.facts import Facts, Interpreter
from fastinstall.model.machine import Compiler
from fastinstall.model.request import Request, ToolchainSource

TOOLCHAINS = "toolchains"
"""The directory for private toolchains in the cache."""


@immutable
class PrivatePackages:
    """The conda packages to install into a private prefix, for a compiler or headers.

    Attributes:
        channels: the channels to install from, the preferred one first.
        packages: the packages, as conda match specs.
        reason: why the packages are installed, for the user.
    """

    channels: tuple[str, ...]
    packages: tuple[str, ...]
    reason: str


class CompilerSource:
    """A source of a compiler; the defaults are for a compiler that is installed on this machine.

    Attributes:
        word: the value of `--toolchain` for this source.
        choice: description of this source, shown by the wizard.
        brings_headers: whether C headers come with the compiler. If so, this machine's headers and compiler are not
            used.
        is_exclusive: whether a request for this source rules out all other sources of a missing compiler or missing
            headers.
        crosses: whether the compiler can also compile for other architectures.
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
        """Return conda packages that contain the missing tools and headers; None if this source uses no conda packages.

        Args:
            facts: the target, with its Python.
            request: the request, with its `--toolchain` and channels.
            tools: the missing tools: "compiler", "Python.h".
            libraries: conda packages that contain the headers of each missing library; keys are the recipe's names of
                libraries.
            channels: the channels in conda's configuration.

        Raises:
            RefusedError: the packages are requested but cannot be installed here.
        """
        return None


class WheelCompiler(CompilerSource, ABC):
    """A compiler in a wheel from the package index. It is unpacked into the cache, and needs no files of the machine.

    Attributes:
        distribution: normalised name of the distribution with the compiler.
        versions: the tested versions, as a version specifier.
        unpacked_bytes: measured size in the cache, in bytes, including files that the compiler creates there.
        program: the compiler's name.
        advantage: for users, the reason why this compiler is used by default; empty if it is used only on request.
        limits: the reason for a refusal if `fits` returns False.
    """

    distribution: ClassVar[str]
    versions: ClassVar[str]
    unpacked_bytes: ClassVar[int]
    program: ClassVar[str]
    advantage: ClassVar[str] = ""
    limits: ClassVar[str]

    @abstractmethod
    def fits(self, interpreter: Interpreter, *, core_alone: bool) -> bool:
        """Return whether this compiler can compile for an interpreter; for `core_alone` see `choose_wheel`."""

    @abstractmethod
    def select_flags(self, probed: Iterable[str]) -> tuple[str, ...]:
        """Return those of the probed flags that this compiler accepts."""

    @abstractmethod
    def prepare(self, wheel: Path, cache: Path, emit: Emit, architecture: Architecture | None = None) -> Path:
        """Unpack the compiler into the cache unless an intact copy is there; return the path of the compiler's program.

        Args:
            wheel: the wheel file, whose hash was verified.
            cache: fastinstall's cache directory.
            emit: receives a progress event.
            architecture: the architecture to compile for; None for this machine's.

        Raises:
            ArchiveError: the wheel is damaged or hostile.
            OSError: the cache cannot be written.
        """

    def choose_wheel(self, facts: Facts, request: Request, releases: Releases, *, core_alone: bool) -> Artefact | None:
        """Return the compiler's newest wheel if this compiler is to be used, otherwise None.

        The compiler is used on request. It is also used by default if it has an advantage and fits, and CC names no
        compiler.

        Args:
            facts: facts of the target; they show whether CC names a compiler.
            request: the request, with its `--toolchain`.
            releases: the releases in the package index.
            core_alone: whether only the core of an official wheel is compiled, without linking libraries of this
                machine.

        Raises:
            RefusedError: the compiler is requested, but has no wheel for this machine or does not fit.
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
        """Return the description of the compiler for a plan; the wheel need not be downloaded yet."""
        version = f"{self.program} of {wheel.filename}"
        return Compiler(command=(self.program,), version=version, accepts=self.select_flags(probed))

    def explain(self, wheel: Artefact, request: Request) -> str:
        """Return the reason for using this compiler, as part of a sentence in a plan."""
        why = "requested" if request.toolchain is self.word else self.advantage
        return f"compiled with {self.program} from {wheel.name} {wheel.version}: {why}"
