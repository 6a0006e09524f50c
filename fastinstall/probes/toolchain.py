"""What this machine could build with: compiler, native libraries with headers, package manager."""

import importlib.util
import os
import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from fastinstall.model.machine import Toolchain
from fastinstall.model.recipe import NativeRequirement
from fastinstall.probes.compiler import observe_compiler
from fastinstall.probes.libraries import SearchPath, observe_library
from fastinstall.rules.conda_addresses import DEFAULTS

_MANAGERS = {"apt-get": "apt", "dnf": "dnf"}


def observe_toolchain(
    recipe_libraries: Mapping[str, NativeRequirement],
    flags: Iterable[str],
    *,
    include_roots: tuple[Path, ...] = (),
    variables: Mapping[str, str],
) -> Toolchain:
    """Look for everything that a build needs (about 100 ms).

    Args:
        recipe_libraries: the native libraries that the recipe names.
        flags: flags of compiler and linker that a build might use, to be tried.
        include_roots: include directories that come before the system's.
        variables: environment variables: CC, PATH, PKG_CONFIG_PATH.
    """
    search = SearchPath.of_system(include_roots)
    manager = next((name for tool, name in _MANAGERS.items() if shutil.which(tool, path=variables.get("PATH"))), None)
    return Toolchain(
        compiler=observe_compiler(tuple(flags), variables),
        libraries=tuple(observe_library(name, need, search, variables) for name, need in recipe_libraries.items()),
        package_manager=manager,
        may_install=manager is not None and os.geteuid() == 0,
        named_compiler=variables.get("CC", ""),
        rattler=importlib.util.find_spec("rattler") is not None,
        channels=_channels(variables),
    )


def _channels(variables: Mapping[str, str]) -> tuple[str, ...]:
    """As conda is configured; "defaults" by what it stands for, where that is configured."""
    from fastinstall.probes.conda_channels import configured_channels, configured_defaults  # noqa: PLC0415 (likewise)
    from fastinstall.probes.conda_tool import find_conda  # noqa: PLC0415 (only where something is built)

    prefix = Path(variables.get("CONDA_PREFIX") or "/")
    tool = find_conda(variables, prefix)
    root = Path(tool.root) if tool is not None else None
    found = configured_channels(variables, prefix, root)
    if DEFAULTS not in found:
        return found
    defaults = configured_defaults(variables, prefix, root) or (DEFAULTS,)
    return tuple(each for channel in found for each in (defaults if channel == DEFAULTS else (channel,)))
