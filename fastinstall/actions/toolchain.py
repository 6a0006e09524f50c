"""A private prefix in the cache with a compiler and C headers of conda packages; no environment of anybody's.

Made once for each choice of channels and packages, by py-rattler, where it then stays: conda
packages bear their prefix inside, so it cannot be made elsewhere and moved.
"""

from collections.abc import Iterator, Mapping
from pathlib import Path

from fastinstall.actions.workshop import Workshop
from fastinstall.errors import FailedError
from fastinstall.installers.conda.choose import engine_for
from fastinstall.installers.conda.means import Means
from fastinstall.model.codec import digest
from fastinstall.model.conda import Engine
from fastinstall.model.event import Noted, Started
from fastinstall.model.immutable import immutable
from fastinstall.model.steps import CondaToolchain
from fastinstall.rules.conda_addresses import channel_urls
from fastinstall.rules.conda_toolchain import COMPILER, TOOLCHAINS
from fastinstall.rules.secrets import public_text
from fastinstall.system import files
from fastinstall.system.lock import locked

_COMPLETE = ".fastinstall-complete"
_COMPILERS = ("*-linux-gnu-cc", "*-linux-gnu-gcc", "cc", "gcc", "clang")


@immutable
class PrivateToolchain:
    """Where compiler and headers are.

    Attributes:
        includes: directories with headers.
        variables: environment variables that name the compiler; none where the system's is used.
    """

    includes: tuple[Path, ...]
    variables: Mapping[str, str]


def private_toolchain(step: CondaToolchain, workshop: Workshop) -> PrivateToolchain:
    """Make the prefix, or take the one that was made before.

    Raises:
        RefusedError: py-rattler is not there, or no packages answer to the plan.
        FailedError: they could not be installed, or there is no compiler among them.
    """
    means = _means(workshop)
    addresses = channel_urls(step.channels, means.channel_settings(workshop.cache))
    key = digest((tuple(map(public_text, addresses)), step.packages))  # the same name may be another channel's by now
    prefix = workshop.cache / TOOLCHAINS / key[:16]
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with locked(prefix.parent):
        if (prefix / _COMPLETE).is_file():
            workshop.emit(Noted(message=f"the toolchain in {prefix} was made before, and is used again"))
        else:
            _make(prefix, step, workshop, means)
    includes = (prefix / "include", *sorted(prefix.glob("include/python3.*")))
    return PrivateToolchain(
        includes=tuple(path for path in includes if path.is_dir()),
        variables={"CC": str(_compiler(prefix))} if COMPILER in step.packages else {},
    )


def _means(workshop: Workshop) -> Means:
    return Means(
        variables=workshop.variables,
        cache=workshop.cache / "conda",
        emit=workshop.emit,
        offline=workshop.index.offline,
    )


def _make(prefix: Path, step: CondaToolchain, workshop: Workshop, means: Means) -> None:
    engine = engine_for(Engine.RATTLER, None, means)
    workshop.emit(Started(stage="toolchain", message=f"fetching a toolchain: {', '.join(step.packages)}"))
    files.discard(prefix)
    engine.create(prefix, step.packages, step.channels, offline=workshop.index.offline)
    files.write_text(prefix / _COMPLETE, "\n".join((*step.channels, *step.packages, "")))


def _compiler(prefix: Path) -> Path:
    found = next(_compilers(prefix), None)
    if found is None:
        raise FailedError(
            f"{prefix}: the channel's packages hold no C compiler",
            hint="name channels that have c-compiler: --channel conda-forge",
        )
    return found


def _compilers(prefix: Path) -> Iterator[Path]:
    return (path for pattern in _COMPILERS for path in sorted((prefix / "bin").glob(pattern)))
