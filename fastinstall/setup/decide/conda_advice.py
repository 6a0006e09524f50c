"""Warn the user before a setup of a conda environment, for example about overwritten files of libjpeg-turbo.

A warning does not prevent the setup. This module also finds the libraries of the environment that a build links, and
lists missing ones. Link mode "env" never links system libraries: the system's libtiff alone would load a second
libjpeg, and other libraries, into every process.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastinstall.conda.reinstall import name_of_dist
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.model.conda import Conda, CondaClash, CondaPackage
from fastinstall.model.conda_packages import IJG, TIFF, TURBO, conda_command, foreign_channels
from fastinstall.model.dependants import name_of_spec
from fastinstall.model.facts import Facts
from fastinstall.model.machine import NativeLibrary
from fastinstall.model.recipe import Recipe
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.installed_pins import is_of_pixi


def advise_on_conda(facts: Facts, conda: Conda, link: LinkMode) -> Iterator[str]:
    """Yield warnings about the environment; none of them prevents a setup."""
    tiff = conda.named(TIFF)
    if tiff is not None and link is LinkMode.ENV and IJG in map(name_of_spec, tiff.depends):
        yield (
            f"--link env: {_describe(tiff)} links IJG's libjpeg, and the core libjpeg-turbo: with two libjpegs in one "
            "process, symbols may bind to the wrong one; --link bundle uses neither"
        )
    if is_of_pixi(facts.environment.prefix):
        yield (
            "pixi made this environment, and its next command makes it again from its lock file, without the stack: "
            "build a channel (fastinstall build --format conda -o ./channel) and name it in pixi.toml"
        )
    again = conda_command(facts, "install", "--no-deps", "--force-reinstall", TURBO)
    clashes = find_clobbered_headers(conda)
    for holder in dict.fromkeys(clash.holder for clash in clashes):
        paths = [clash.path for clash in clashes if clash.holder == holder]
        yield (
            f"{holder or 'something unknown'} overwrote {listing(paths)} of {TURBO}: "
            f"whatever is compiled here links that libjpeg; run `{again}` last"
        )


def warn_about_wheel(conda: Conda, recipe: Recipe) -> str:
    """Return a warning about installing a wheel into a conda environment."""
    there = [_describe(package) for package in conda.packages if package.name in recipe.replaces]
    stays = f" (its record of {there[0]} stays)" if there else ""
    return (
        f"--engine pip: conda does not know of this wheel{stays}: its next change to Pillow overwrites it silently; "
        "--engine auto makes conda packages, which its solver keeps"
    )


def explain_untouched_libraries(link: LinkMode) -> str:
    """Return why the setup leaves the environment's libraries alone, although guides suggest reinstalling them."""
    if link is not LinkMode.BUNDLE:
        return "all linked libraries are installed, and libjpeg-turbo provides libjpeg and its headers"
    return (
        "the package contains its own libjpeg-turbo and libtiff; those of the environment stay as they are: removing "
        "IJG's libjpeg and reinstalling it, as guides say, is unnecessary"
    )


def _describe(package: CondaPackage) -> str:
    return f"{package.name} {package.version}"


_BUNDLE = "--link bundle keeps the libraries inside the package, where no other package can change them"


def list_missing_packages(conda: Conda, recipe: Recipe, request: Request) -> tuple[str, ...]:
    """Return the conda packages that the environment lacks for a build with `--link env`; empty for other link modes.

    These packages contain libtiff, and the libraries that the recipe or the request requires.
    """
    if request.link is not LinkMode.ENV:
        return ()
    names = (
        package
        for name, library in recipe.libraries.items()
        if library.required or name in request.require or TIFF in library.conda
        for package in library.conda
    )
    return tuple(dict.fromkeys(name for name in names if conda.named(name) is None))


def use_environment_libraries(facts: Facts, conda: Conda, recipe: Recipe, coming: tuple[str, ...]) -> Facts:
    """Replace the machine's libraries in the facts with those of the environment and of the `coming` packages.

    If the recipe names no conda package for a library, the facts about that library do not change.

    Args:
        facts: facts of the target.
        conda: the conda packages of the target.
        recipe: defines the libraries.
        coming: names of conda packages that will be installed before the build.
    """
    if facts.toolchain is None:
        return facts
    prefix = facts.environment.prefix
    there = {package.name: package.version for package in conda.packages} | dict.fromkeys(coming, "")
    observed = {library.name: library for library in facts.toolchain.libraries}
    found = []
    for name, library in recipe.libraries.items():
        known = NativeLibrary(name=name, include=None, library=None)
        if not library.conda:
            known = observed.get(name, known)
        elif there.keys() >= set(library.conda):
            known = NativeLibrary(
                name=name,
                include=prefix / "include",
                library=prefix / "lib" / f"lib{library.link}.so",
                version=there[library.conda[0]],
                implementation=library.implementation,
            )
        found.append(known)
    return replace(facts, toolchain=replace(facts.toolchain, libraries=tuple(found)))


def refuse_foreign_jpeg(facts: Facts, conda: Conda) -> None:
    """Raise if a build in the environment would link a libjpeg other than libjpeg-turbo.

    Raises:
        RefusedError: only IJG's libjpeg is installed, or its files replaced those of libjpeg-turbo.
    """
    jpeg = conda.named(IJG)
    clash = min(find_clobbered_headers(conda), key=lambda lost: not lost.path.endswith("jpeglib.h"), default=None)
    if jpeg is None or (conda.named(TURBO) is not None and clash is None):
        return
    what = f"{clash.path} belongs to {clash.holder or 'no package'}" if clash else f"{TURBO} is not installed"
    # libtiff, which depends on IJG's libjpeg, must be installed before libjpeg-turbo, whose files then remain.
    way = f"`{conda_command(facts, 'install', '--no-deps', '--force-reinstall', TURBO)}`"
    if conda.named(TIFF) is None:
        way = f"in this order: `{conda_command(facts, 'install', TIFF)}`, {way}"
    raise RefusedError(
        f"--link env: {facts.environment.prefix} has IJG's libjpeg ({jpeg.dist}), and {what}: "
        "a build would link IJG's, which has no SIMD code",
        hint=f"{way}; or {_BUNDLE}",
    )


def find_clobbered_headers(conda: Conda) -> tuple[CondaClash, ...]:
    """Return the clashes in which another package has overwritten libjpeg-turbo's headers or its libjpeg.so."""
    files = ("jpeglib.h", "jconfig.h", "jmorecfg.h", "jerror.h", "libjpeg.so")
    return tuple(
        clash
        for clash in conda.clashes
        if clash.path.endswith(files)
        and TURBO in map(name_of_dist, clash.claimants)
        and name_of_dist(clash.holder) != TURBO
    )


def choose_library_channels(facts: Facts, conda: Conda, request: Request) -> tuple[str, ...]:
    """Return channels for libraries: the requested ones, else the environment's main channel and the configured ones.

    The main channel, from which most packages come, is first, so that the libraries match the other packages.

    Raises:
        RefusedError: no channel is known.
    """
    channels = [package.channel for package in conda.packages]
    usual = sorted(foreign_channels(channels), key=channels.count, reverse=True)[:1]
    of_user = facts.toolchain.channels if facts.toolchain is not None else ()
    found = request.channels or foreign_channels((*usual, *(conda.channels or of_user)))
    if not found:
        raise RefusedError(
            f"--link env: no channel is known for the libraries that {facts.environment.prefix} lacks",
            hint=f"name one: --channel conda-forge; or {_BUNDLE}",
        )
    return found
