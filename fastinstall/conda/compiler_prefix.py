"""A private prefix in the cache with a compiler and C headers from conda packages; it is nobody's environment.

py-rattler makes it once for each choice of channels and packages, in its final place: conda packages contain their
prefix, so it cannot be made elsewhere and moved.
"""

from collections.abc import Mapping
from pathlib import Path

from fastinstall.conda.engines.choose import CondaTools, open_rattler
from fastinstall.core import files, sealed_trees
from fastinstall.core.errors import FailedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.lock import lock_environment
from fastinstall.core.secrets import public_text
from fastinstall.core.values import digest, immutable
from fastinstall.index.execution import ExecutionContext
from fastinstall.observe.conda.channels import channel_urls
from fastinstall.wheelbuild.clang import TOOLCHAINS


@immutable
class PrivateToolchain:
    """Where compiler and headers are.

    Attributes:
        includes: directories with headers.
        variables: environment variables that name the compiler; none if the system's is used.
    """

    includes: tuple[Path, ...]
    variables: Mapping[str, str]


def prepare_private_toolchain(
    packages: tuple[str, ...], channels: tuple[str, ...], context: ExecutionContext
) -> PrivateToolchain:
    """Make the prefix, or take the one that was made before.

    Args:
        packages: match specs.
        channels: where they come from, the first one preferred.
        context: tools and places.

    Raises:
        RefusedError: py-rattler is not there, or no packages answer to the plan.
        FailedError: they could not be installed, or there is no compiler among them.
    """
    means = CondaTools(
        variables=context.variables,
        cache=context.cache / "conda",
        emit=context.emit,
        offline=context.index.offline,
    )
    addresses = channel_urls(channels, means.read_channel_settings(context.cache))
    key = digest((tuple(map(public_text, addresses)), packages))  # the same name may be another channel's by now
    prefix = context.cache / TOOLCHAINS / key[:16]
    prefix.parent.mkdir(parents=True, exist_ok=True)
    with lock_environment(prefix.parent):
        if sealed_trees.is_intact(prefix, cache=context.cache):
            context.emit(Noted(message=f"the toolchain in {prefix} exists already and is used again", detail=True))
        else:
            engine = open_rattler(means)
            context.emit(Started(stage="toolchain", message=f"fetching a toolchain: {', '.join(packages)}"))
            files.discard(prefix)
            engine.create(prefix, packages, channels, offline=context.index.offline)
            sealed_trees.seal(prefix, prefix, cache=context.cache)
    includes = (prefix / "include", *sorted(prefix.glob("include/python3.*")))
    names = ("*-linux-gnu-cc", "*-linux-gnu-gcc", "cc", "gcc", "clang")
    compilers = [path for name in names for path in sorted((prefix / "bin").glob(name))]
    if COMPILER in packages and not compilers:
        raise FailedError(
            f"{prefix}: the channel's packages contain no C compiler",
            hint="name channels that have c-compiler: --channel conda-forge",
        )
    return PrivateToolchain(
        includes=tuple(path for path in includes if path.is_dir()),
        variables={"CC": str(compilers[0])} if COMPILER in packages else {},
    )


COMPILER = "c-compiler"
"""conda-forge's name for whatever compiles C."""
