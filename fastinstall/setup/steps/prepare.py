"""Get compiler and headers for a build: system packages, C headers in our cache, or a private conda prefix.

Only system packages change the machine; the target environment is not touched.
"""

from abc import abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import field
from importlib.util import find_spec
from pathlib import Path

from fastinstall.compilers.compiler import TOOLCHAINS
from fastinstall.compilers.conda import PACKAGE, PROGRAMS
from fastinstall.core import files, sealed_trees
from fastinstall.core.architecture import architecture_of
from fastinstall.core.codec import digest
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.lock import lock_environment
from fastinstall.core.messages import listing
from fastinstall.core.root_commands import find_root_prefix
from fastinstall.core.secrets import public_text
from fastinstall.core.values import immutable, tagged
from fastinstall.index.downloads import CacheNotWritableError, find_stored_file
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact
from fastinstall.model.recipe import BuildNeeds
from fastinstall.observe.toolchain import find_package_manager
from fastinstall.setup.steps import ExplainedStep
from fastinstall.wheelbuild.system_packages import may_install


@immutable
class FetchedInputs:
    """Headers and compiler that were fetched for a build.

    Attributes:
        includes: include directories, searched before the system's.
        headers: packages that the headers in `includes` come from.
        variables: environment variables that name a fetched compiler; empty if the machine's compiler is used.
    """

    includes: tuple[Path, ...] = ()
    headers: tuple[Artefact, ...] = ()
    variables: Mapping[str, str] = field(default_factory=dict)


class PreparingStep(ExplainedStep):
    """Base class of steps that fetch compiler or headers for a build; the target is not touched."""

    __slots__ = ()

    @abstractmethod
    def fetch(self, run: Run) -> FetchedInputs:
        """Fetch the compiler or headers of this step.

        Raises:
            FastinstallError: they could not be fetched or installed; the target is unchanged.
        """


@tagged("system-packages")
@immutable
class SystemPackages(PreparingStep):
    """Install packages of the operating system.

    Attributes:
        manager: the system's package manager, "apt" or "dnf".
        packages: names of the packages, as the manager knows them.
        reason: why the plan has this step, for the user.
    """

    manager: str
    packages: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"install system packages by {self.manager}: {' '.join(self.packages)}"

    def fetch(self, run: Run) -> FetchedInputs:
        """Install the packages.

        Raises:
            RefusedError: the user is not root, or the package manager is unknown.
            FailedError: the package manager failed.
        """
        from fastinstall.wheelbuild.system_packages import install_packages  # needed only to carry out the step

        run.emit(Started(stage="packages", message=f"installing {' '.join(self.packages)}"))
        install_packages(self.manager, self.packages, run.variables, run.emit)
        return FetchedInputs()


@tagged("private-headers")
@immutable
class PrivateHeaders(PreparingStep):
    """Unpack C headers of Debian's packages into our cache, on any distribution; the system is unchanged.

    Attributes:
        packages: names of the packages that hold the headers.
        libraries: the recipe's names of the libraries that the headers belong to.
        python: minor version of the Python whose headers are missing ("3.12"), for a hint that names system packages.
            Empty if Python.h is not missing. Also empty for a free-threaded Python, whose headers no system package
            contains.
        artefacts: the packages as files of an index, with hashes.
        reason: why the plan has this step, for the user.
    """

    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    python: str
    artefacts: tuple[Artefact, ...]
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        return f"fetch C headers into the cache: {' '.join(self.packages)}"

    def list_artefacts(self) -> tuple[Artefact, ...]:
        """Return the packages with the headers."""
        return self.artefacts

    def fetch(self, run: Run) -> FetchedInputs:
        """Fetch and unpack the packages.

        Raises:
            FailedError: the packages could not be fetched.
        """
        from fastinstall.wheelbuild.headers import unpack_headers  # needed only to carry out the step

        packages, architecture = self.fetch_packages(run), architecture_of(run.cpu.architecture)
        return FetchedInputs(
            includes=tuple(each for package in packages for each in unpack_headers(package, run.cache, architecture)),
            headers=self.artefacts,
        )

    def fetch_packages(self, run: Run) -> tuple[Path, ...]:
        """Return the paths of the packages in the cache; fetch those that are missing.

        Raises:
            FailedError: the packages could not be fetched.
        """
        if not all(find_stored_file(run.cache, each) for each in self.artefacts):
            run.emit(Started(stage="headers", message=f"fetching C headers: {' '.join(self.packages)}"))
        try:
            return tuple(run.index.fetch(each, run.cache, run.emit) for each in self.artefacts)
        except CacheNotWritableError:
            raise
        except FailedError as error:
            raise self._explain_failure(error, run) from error

    def _explain_failure(self, error: FailedError, run: Run) -> FailedError:
        """Return an error that suggests other ways to get the headers, for machines that reach only a package index."""
        ways = _explain_system_packages(run, self.libraries, self.python)
        conda = "if conda-forge can be reached: --toolchain conda; or " if find_spec("rattler") else ""
        return FailedError(
            f"C headers are missing, and {listing(self.packages)} cannot be fetched: {error.message}",
            hint=conda + ways,
            details=error.details,
        )


@tagged("conda-toolchain")
@immutable
class CondaToolchain(PreparingStep):
    """Make a private prefix of conda packages in our cache, with compiler and headers; the target is not touched.

    Attributes:
        channels: conda channels, the preferred one first.
        packages: match specs of the packages to install.
        libraries: the recipe's names of the libraries whose headers are among the packages.
        reason: why the plan has this step, for the user.
    """

    channels: tuple[str, ...]
    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    reason: str

    def describe(self) -> str:
        """Return what the step does, as a line of a plan."""
        where, what = listing(self.channels), " ".join(self.packages)
        return f"fetch a toolchain of conda packages from {where} into the cache: {what}"

    def fetch(self, run: Run) -> FetchedInputs:
        """Make the prefix, or use an existing one with the same packages.

        Raises:
            RefusedError: py-rattler is not installed, or no packages match the plan's specs.
            FailedError: the packages could not be installed, or contain no compiler.
        """
        prefix = self._make_prefix(run)
        includes = (prefix / "include", *sorted(prefix.glob("include/python3.*")))
        return FetchedInputs(
            includes=tuple(path for path in includes if path.is_dir()), variables=self._find_compiler(prefix)
        )

    def _make_prefix(self, run: Run) -> Path:
        """Return an intact prefix from the cache, or make it at its final path, which its files contain."""
        from fastinstall.conda.engines.choose import open_rattler  # needed only to carry out the step
        from fastinstall.conda.engines.rattler import read_channel_settings  # needed only to carry out the step
        from fastinstall.observe.conda.channels import channel_urls  # needed only to carry out the step

        offline = run.index.offline
        addresses = channel_urls(self.channels, read_channel_settings(run.variables, run.cache))
        # The key contains the channels' addresses, because a channel's name may stand for another address later.
        key = digest((tuple(map(public_text, addresses)), self.packages))
        prefix = run.cache / TOOLCHAINS / key[:16]
        prefix.parent.mkdir(parents=True, exist_ok=True)
        with lock_environment(prefix.parent):
            if sealed_trees.is_intact(prefix, cache=run.cache):
                run.emit(Noted(message=f"the toolchain in {prefix} exists already and is used again", detail=True))
                return prefix
            engine = open_rattler(run.variables, run.cache / "conda", offline=offline)
            run.emit(Started(stage="toolchain", message=f"fetching a toolchain: {', '.join(self.packages)}"))
            files.discard(prefix)
            try:
                engine.create(prefix, self.packages, self.channels)
            except FailedError as error:
                specs = (spec.split() for spec in self.packages)
                python = next((spec[1] for spec in specs if spec[0] == "python" and spec[-1].endswith(".*")), "")
                needs_compiler = PACKAGE in self.packages
                ways = _explain_system_packages(run, self.libraries, python.removesuffix(".*"), compiler=needs_compiler)
                hint = "; or ".join(filter(None, (error.hint, ways)))
                raise FailedError(error.message, hint=hint, details=error.details) from error
            sealed_trees.seal(prefix, prefix, cache=run.cache)
        return prefix

    def _find_compiler(self, prefix: Path) -> dict[str, str]:
        """Return the variable CC with the path of a prefix's compiler; empty if the plan fetches only headers.

        Raises:
            FailedError: the packages contain no C compiler.
        """
        if PACKAGE not in self.packages:
            return {}
        compiler = next((path for name in PROGRAMS for path in sorted((prefix / "bin").glob(name))), None)
        if compiler is None:
            raise FailedError(
                f"{prefix}: the channel's packages contain no C compiler",
                hint=f"name channels that have {PACKAGE}: --channel conda-forge",
            )
        return {"CC": str(compiler)}


def _explain_system_packages(run: Run, libraries: Iterable[str], python: str, *, compiler: bool = False) -> str:
    """Return a hint on how to get headers (and a compiler, if `compiler`) from the system's package manager."""
    needs = BuildNeeds(
        libraries=tuple(run.recipe.libraries[name] for name in libraries), python=python, compiler=compiler
    )
    manager, as_root = find_package_manager(run.variables), find_root_prefix(run.variables)
    return needs.explain(manager, allowed=may_install(), as_root=as_root)
