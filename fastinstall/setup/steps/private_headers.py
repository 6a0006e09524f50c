"""Unpack C headers of Debian's packages into our cache, on any distribution; the system is not touched."""

from importlib.util import find_spec
from pathlib import Path

from fastinstall.core.architecture import architecture_of
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Started
from fastinstall.core.messages import listing
from fastinstall.core.root_commands import find_root_prefix
from fastinstall.core.values import immutable, tagged
from fastinstall.index.downloads import CacheNotWritableError, find_stored_file
from fastinstall.index.run import Run
from fastinstall.model.artefact import Artefact
from fastinstall.model.recipe import BuildNeeds
from fastinstall.observe.toolchain import find_package_manager
from fastinstall.setup.steps.step import FetchedInputs, PreparingStep
from fastinstall.wheelbuild.system_packages import may_install


@tagged("private-headers")
@immutable
class PrivateHeaders(PreparingStep):
    """Unpack C headers of Debian's packages into our cache, on any distribution; the system stays as it is.

    Attributes:
        packages: names of the packages that hold the headers.
        libraries: the recipe's names of the libraries that they serve.
        python: minor version of the Python that they serve, where systems have a package of its headers ("3.12"); none
            has one of a free-threaded Python.
        artefacts: the packages as files of an index, with hashes.
        reason: why the plan has this step, for a person.
    """

    packages: tuple[str, ...]
    libraries: tuple[str, ...]
    python: str
    artefacts: tuple[Artefact, ...]
    reason: str

    def describe(self) -> str:
        """Return what is done, as a line of a plan."""
        return f"fetch C headers into the cache: {' '.join(self.packages)}"

    def list_artefacts(self) -> tuple[Artefact, ...]:
        """Return the headers' packages."""
        return self.artefacts

    def fetch(self, run: Run) -> FetchedInputs:
        """Fetch and unpack them.

        Raises:
            FailedError: they cannot be had.
        """
        from fastinstall.wheelbuild.headers.private import unpack_headers  # noqa: PLC0415 (only where it is carried out)

        packages, architecture = self.fetch_packages(run), architecture_of(run.cpu.architecture)
        return FetchedInputs(
            includes=tuple(each for package in packages for each in unpack_headers(package, run.cache, architecture)),
            headers=self.artefacts,
        )

    def fetch_packages(self, run: Run) -> tuple[Path, ...]:
        """Fetch them, unless they are there.

        Raises:
            FailedError: they cannot be had.
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
        """Return the error with other ways to get the headers, for machines that reach only a package index."""
        manager = find_package_manager(run.variables)
        libraries = tuple(run.recipe.libraries[name] for name in self.libraries)
        needs = BuildNeeds(libraries=libraries, python=self.python)
        ways = needs.explain_installation(manager, allowed=may_install(), as_root=find_root_prefix(run.variables))
        conda = "if conda-forge can be reached: --toolchain conda; or " if find_spec("rattler") else ""
        return FailedError(
            f"C headers are missing, and {listing(self.packages)} cannot be fetched: {error.message}",
            hint=conda + ways,
            details=error.details,
        )
