"""Compiler and headers of conda packages, in a private prefix: when, and which. Pure."""

from collections.abc import Collection, Iterable

from fastinstall.errors import RefusedError
from fastinstall.model.facts import Facts
from fastinstall.model.machine import Toolchain
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.steps import CondaToolchain
from fastinstall.model.wish import ToolchainSource, Wish
from fastinstall.rules.conda_addresses import DEFAULTS, NO_DEFAULTS
from fastinstall.rules.messages import listing, quote

COMPILER = "c-compiler"
"""conda-forge's name for whatever compiles C."""

TOOLCHAINS = "toolchains"
"""The directory of our cache that private toolchains lie in."""

_USUAL_CHANNEL = "conda-forge"


def conda_toolchain(
    tools: Collection[str], libraries: dict[str, NativeRequirement], facts: Facts, wish: Wish
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


def _channels(toolchain: Toolchain | None, wish: Wish) -> tuple[str, ...]:
    """As wished; else as conda is configured, where that is more than conda's own channels, which have no compiler."""
    configured = toolchain.channels if toolchain is not None else ()
    usual = tuple(channel for channel in configured if channel not in (DEFAULTS, NO_DEFAULTS))
    return wish.channels or usual or (_USUAL_CHANNEL,)
