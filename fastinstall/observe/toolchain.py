"""This machine's means to build: compiler, native libraries with headers, package manager, conda's channels."""

import importlib.util
import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from fastinstall.compilers.system import observe_compiler
from fastinstall.model.facts import Toolchain
from fastinstall.model.recipe import NativeRequirement
from fastinstall.observe.conda.channel_addresses import DEFAULTS
from fastinstall.observe.conda.channels import read_configured_channels, read_default_channels
from fastinstall.observe.native_libraries import SearchPath, observe_library
from fastinstall.observe.package_manager import find_package_manager

_DRIVEN = ("apt", "dnf")
"""Those that `--with-system-deps` can use."""


def observe_toolchain(
    recipe_libraries: Mapping[str, NativeRequirement], flags: Iterable[str], *, variables: Mapping[str, str]
) -> Toolchain:
    """Find everything that a build needs (about 100 ms).

    Args:
        recipe_libraries: the native libraries that the recipe names.
        flags: flags of compiler and linker that a build might use, to try.
        variables: environment variables: CC, PATH, PKG_CONFIG_PATH.
    """
    search = SearchPath.of_system()
    manager = find_package_manager(variables)
    return Toolchain(
        compiler=observe_compiler(tuple(flags), variables),
        libraries=tuple(observe_library(name, need, search, variables) for name, need in recipe_libraries.items()),
        package_manager=manager,
        may_install=manager in _DRIVEN and os.geteuid() == 0,
        named_compiler=variables.get("CC", ""),
        rattler=importlib.util.find_spec("rattler") is not None,
        channels=_read_conda_channels(variables),
    )


def _read_conda_channels(variables: Mapping[str, str]) -> tuple[str, ...]:
    """Return conda's configured channels, with "defaults" resolved if configured."""
    from fastinstall.observe.conda.executable import find_conda  # noqa: PLC0415 (only for a build)

    prefix = Path(variables.get("CONDA_PREFIX") or "/")
    tool = find_conda(variables, prefix)
    root = Path(tool.root) if tool is not None else None
    found = read_configured_channels(variables, prefix, root)
    if DEFAULTS not in found:
        return found
    defaults = read_default_channels(variables, prefix, root) or (DEFAULTS,)
    return tuple(each for channel in found for each in (defaults if channel == DEFAULTS else (channel,)))
