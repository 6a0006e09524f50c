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
    from fastinstall.probes.conda_channels import configured_channels  # noqa: PLC0415 (only where something is built)

    return configured_channels(variables, Path(variables.get("CONDA_PREFIX") or "/"), None)
