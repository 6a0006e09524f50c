"""Libraries of a conda environment that a build is to link: which are there, which have to come. Pure.

With link mode "env" nothing of the operating system is linked: one libtiff of the system's brings a second libjpeg
into every process, and its own versions of everything else.
"""

from dataclasses import replace

from fastinstall.errors import RefusedError
from fastinstall.model.conda import Conda, CondaClash
from fastinstall.model.facts import Facts
from fastinstall.model.machine import NativeLibrary
from fastinstall.model.recipe import NativeRequirement, Recipe
from fastinstall.model.wish import LinkMode, Wish
from fastinstall.rules.conda_names import IJG, TIFF, TURBO, conda_command, foreign_channels
from fastinstall.rules.conda_repair import name_of

_BUNDLE = "--link bundle keeps the libraries inside the package, where no other package can change them"
_FILES = ("jpeglib.h", "jconfig.h", "jmorecfg.h", "jerror.h", "libjpeg.so")


def missing_packages(facts: Facts, recipe: Recipe, wish: Wish) -> tuple[str, ...]:
    """Names of the conda packages that have to come, so that everything that is linked is the environment's.

    Those are of the libraries that the recipe or the wish requires, and libtiff, which Pillow is poor without.
    """
    if wish.link is not LinkMode.ENV or facts.conda is None:
        return ()
    here = {package.name for package in facts.conda.packages}
    wanted = (library for name, library in recipe.libraries.items() if _is_wanted(name, library, wish))
    return tuple(dict.fromkeys(name for library in wanted for name in library.conda if name not in here))


def with_environment_libraries(facts: Facts, recipe: Recipe, coming: tuple[str, ...]) -> Facts:
    """The facts, their toolchain with the libraries of the environment alone, those included that are to come."""
    if facts.toolchain is None or facts.conda is None:
        return facts
    there = {package.name: package.version for package in facts.conda.packages} | dict.fromkeys(coming, "")
    found = tuple(
        _library(facts, name, library, there) if library.conda else _observed(facts, name)
        for name, library in recipe.libraries.items()
    )
    return replace(facts, toolchain=replace(facts.toolchain, libraries=found))


def refuse_foreign_jpeg(facts: Facts) -> None:
    """Raise where a build in the environment would link another libjpeg than libjpeg-turbo.

    Raises:
        RefusedError: IJG's libjpeg is there alone, or its files lie in libjpeg-turbo's place.
    """
    conda = facts.conda
    if conda is None or conda.named(IJG) is None:
        return
    clash = min(lost_files(conda), key=lambda lost: not lost.path.endswith(_FILES[0]), default=None)
    if conda.named(TURBO) is not None and clash is None:
        return
    what = f"{clash.path} is of {clash.holder or 'nobody'}" if clash else f"{TURBO} is not installed"
    raise RefusedError(
        f"--link env: {facts.environment.prefix} has IJG's libjpeg ({_dist(conda)}), and {what}: "
        "a build would link IJG's, which has no SIMD code",
        hint=f"{_way_out(facts, conda)}; or {_BUNDLE}",
    )


def lost_files(conda: Conda) -> tuple[CondaClash, ...]:
    """Headers of libjpeg, and its name for the linker, that libjpeg-turbo claims and another package holds."""
    contested = (clash for clash in conda.clashes if clash.path.endswith(_FILES))
    return tuple(
        clash for clash in contested if TURBO in map(name_of, clash.claimants) and name_of(clash.holder) != TURBO
    )


def channels_for(facts: Facts, wish: Wish) -> tuple[str, ...]:
    """Where libraries come from: as wished; else whence most of the environment came, then as conda is configured.

    The first channel is preferred, so that the libraries are of a kind with the rest, whatever is configured by now.

    Raises:
        RefusedError: nothing names a channel.
    """
    configured = facts.conda.channels if facts.conda is not None else ()
    of_user = facts.toolchain.channels if facts.toolchain is not None else ()
    found = wish.channels or foreign_channels((*_usual_channel(facts), *(configured or of_user)))
    if not found:
        raise RefusedError(
            f"--link env: no channel is known for what {facts.environment.prefix} lacks",
            hint=f"name one: --channel conda-forge; or {_BUNDLE}",
        )
    return found


def _usual_channel(facts: Facts) -> tuple[str, ...]:
    """The channel that most packages came from."""
    channels = foreign_channels(package.channel for package in facts.conda.packages) if facts.conda is not None else ()
    all_of_them = [package.channel for package in facts.conda.packages] if facts.conda is not None else []
    return tuple(sorted(channels, key=all_of_them.count, reverse=True)[:1])


def _is_wanted(name: str, library: NativeRequirement, wish: Wish) -> bool:
    return library.required or name in wish.require or TIFF in library.conda


def _library(facts: Facts, name: str, library: NativeRequirement, there: dict[str, str]) -> NativeLibrary:
    if not all(package in there for package in library.conda):
        return NativeLibrary(name=name, include=None, library=None)
    prefix = facts.environment.prefix
    return NativeLibrary(
        name=name,
        include=prefix / "include",
        library=prefix / "lib" / f"lib{library.link}.so",
        version=there[library.conda[0]],
        implementation=library.implementation,
    )


def _observed(facts: Facts, name: str) -> NativeLibrary:
    libraries = facts.toolchain.libraries if facts.toolchain is not None else ()
    nothing = NativeLibrary(name=name, include=None, library=None)
    return next((library for library in libraries if library.name == name), nothing)


def _dist(conda: Conda) -> str:
    package = conda.named(IJG)
    return package.dist if package is not None else IJG


def _way_out(facts: Facts, conda: Conda) -> str:
    """Everything that is linked to IJG's first, libjpeg-turbo last, so that its files are those that remain."""
    first = (conda_command(facts, "install", TIFF),) if conda.named(TIFF) is None else ()
    last = conda_command(facts, "install", "--no-deps", "--force-reinstall", TURBO)
    return f"in this order: `{first[0]}`, `{last}`" if first else f"`{last}`"
