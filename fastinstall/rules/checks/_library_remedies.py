"""What brings a library that is missing: the stack's own repair, or a package of the operating system or of conda."""

import re
import shlex

from fastinstall.model.environment import EnvironmentKind
from fastinstall.model.finding import Remedy
from fastinstall.model.recipe import NativeRequirement
from fastinstall.model.wish import LinkMode
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.checks._displaced import is_bundled
from fastinstall.rules.checks._remedies import repair


def bring(context: CheckContext, name: str) -> Remedy:
    """Say how to get a library back, by its soname.

    One that was bundled comes with the stack. Of others the recipe knows packages; a package brings the version
    that is current there, which may be another soname: then only a build here helps.
    """
    receipt, requirement = context.receipt, _requirement(context, name)
    bundled = receipt is not None and receipt.link is LinkMode.BUNDLE
    if requirement is None or bundled or is_bundled(name):
        return repair(context)
    if context.facts.environment.kind is EnvironmentKind.CONDA and requirement.conda:
        prefix = str(context.facts.environment.prefix)
        command = shlex.join(("conda", "install", "--prefix", prefix, *requirement.conda))
        return Remedy(text="install the package that brings it", command=command)
    return Remedy(text=f"install the package that brings it ({_named(requirement)}), or build the stack again here")


def unset_variables() -> Remedy:
    """Go without what the shell tells the loader."""
    return Remedy(text="unset LD_LIBRARY_PATH and LD_PRELOAD, unless they are wanted")


def packages_with(context: CheckContext, name: str) -> tuple[str, ...]:
    """Name the packages that have a library, as evidence; empty for a wheel's own, and for those of no recipe."""
    requirement = None if is_bundled(name) else _requirement(context, name)
    return (f"packages that bring it: {_named(requirement)}",) if requirement is not None else ()


def absent_packages(context: CheckContext, name: str) -> tuple[str, ...]:
    """Name conda's packages that would bring a library and are not installed in this conda environment, as evidence."""
    conda, requirement = context.facts.conda, _requirement(context, name)
    if conda is None or requirement is None:
        return ()
    absent = [package for package in requirement.conda if conda.named(package) is None]
    return tuple(f"conda's {package} is not installed: a build finds the system's instead" for package in absent)


def _requirement(context: CheckContext, name: str) -> NativeRequirement | None:
    libraries = context.recipe.libraries.values()
    return next((each for each in libraries if re.match(rf"lib{re.escape(each.link)}(-[0-9a-f]+)?\.so\b", name)), None)


def _named(requirement: NativeRequirement) -> str:
    managers = {"apt": requirement.apt, "dnf": requirement.dnf, "conda": requirement.conda}
    return ", ".join(f"{' '.join(packages)} of {manager}" for manager, packages in managers.items() if packages)
