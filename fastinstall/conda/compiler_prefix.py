"""A private prefix in the cache with a compiler and C headers from conda packages; it is nobody's environment.

py-rattler makes it once for each choice of channels and packages, in its final place: conda packages contain their
prefix, so it cannot be made elsewhere and moved. The module also decides when it is used, and with which packages.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path

from fastinstall.conda.engines.choose import CondaTools, engine_for
from fastinstall.core import files
from fastinstall.core.errors import FailedError, RefusedError
from fastinstall.core.events import Noted, Started
from fastinstall.core.lock import lock_environment
from fastinstall.core.messages import listing, quote
from fastinstall.core.secrets import public_text
from fastinstall.core.values import digest, immutable
from fastinstall.index.execution import ExecutionContext
from fastinstall.model.conda import CondaInstaller
from fastinstall.model.facts import Facts
from fastinstall.model.machine import Toolchain
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.request import Request, ToolchainSource
from fastinstall.model.steps import CondaToolchain
from fastinstall.observe.conda.channels import DEFAULTS, NO_DEFAULTS, channel_urls

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


def private_toolchain(step: CondaToolchain, workshop: ExecutionContext) -> PrivateToolchain:
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
    with lock_environment(prefix.parent):
        if (prefix / _COMPLETE).is_file():
            workshop.emit(Noted(message=f"the toolchain in {prefix} was made before, and is used again"))
        else:
            _make(prefix, step, workshop, means)
    includes = (prefix / "include", *sorted(prefix.glob("include/python3.*")))
    return PrivateToolchain(
        includes=tuple(path for path in includes if path.is_dir()),
        variables={"CC": str(_compiler(prefix))} if COMPILER in step.packages else {},
    )


def _means(workshop: ExecutionContext) -> CondaTools:
    return CondaTools(
        variables=workshop.variables,
        cache=workshop.cache / "conda",
        emit=workshop.emit,
        offline=workshop.index.offline,
    )


def _make(prefix: Path, step: CondaToolchain, workshop: ExecutionContext, means: CondaTools) -> None:
    engine = engine_for(CondaInstaller.RATTLER, None, means)
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


COMPILER = "c-compiler"
"""conda-forge's name for whatever compiles C."""

TOOLCHAINS = "toolchains"
"""The directory of our cache that private toolchains lie in."""

_USUAL_CHANNEL = "conda-forge"


def conda_toolchain(
    tools: Collection[str], libraries: dict[str, NativeRequirement], facts: Facts, wish: Request
) -> CondaToolchain | None:
    """The step that brings them, where that is wished or the only way; None elsewhere.

    Args:
        tools: what is missing: "compiler", "Python.h".
        libraries: whose headers are missing, by the recipe's names.
        facts: what this machine has.
        wish: where they may come from.

    Raises:
        RefusedError: it is wished, and py-rattler is not there.
    """
    wished = wish.toolchain is ToolchainSource.CONDA
    here = facts.toolchain is not None and facts.toolchain.rattler
    if wished and not here:
        raise RefusedError(
            "--toolchain conda: py-rattler is not installed beside fastinstall", hint=install_extra(facts)
        )
    if not wished and (wish.toolchain is ToolchainSource.SYSTEM or not here or wish.offline):
        return None
    missing = listing([*tools, *(f"the headers of {name}" for name in libraries)])
    why = "asked for by --toolchain conda" if wished else f"missing: {missing}"
    return CondaToolchain(
        channels=_channels(facts.toolchain, wish),
        packages=tuple(dict.fromkeys(_packages(tools, libraries.values(), facts))),
        libraries=tuple(libraries),
        reason=f"{why}; a private prefix in fastinstall's cache, and nothing of it in the environment",
    )


def install_extra(facts: Facts) -> str:
    """The command that makes conda packages available without a conda: into the environment of fastinstall itself."""
    return f"{quote(facts.tool_prefix / 'bin/python')} -m pip install 'fastinstall[conda]'"


def _packages(tools: Collection[str], libraries: Iterable[NativeRequirement], facts: Facts) -> Iterable[str]:
    if "compiler" in tools:
        yield COMPILER
    if "Python.h" in tools:
        yield f"python {'.'.join(facts.interpreter.version.split('.')[:2])}.*"
    for library in libraries:
        yield from library.conda


def _channels(toolchain: Toolchain | None, wish: Request) -> tuple[str, ...]:
    """As wished; else as conda is configured, where that is more than conda's own channels, which have no compiler."""
    configured = toolchain.channels if toolchain is not None else ()
    usual = tuple(channel for channel in configured if channel not in (DEFAULTS, NO_DEFAULTS))
    return wish.channels or usual or (_USUAL_CHANNEL,)
