"""What the user of a conda environment should know before agreeing: leftovers of guides, and whether to undo them.

None of it prevents a setup: only the package that provides PIL is replaced, and everything else stays as it is.

It also tells which libraries of the environment a build is to link, and which of them are missing. Link mode "env"
links nothing of the operating system: a single libtiff of the system's would bring a second libjpeg, and its own
versions of everything else, into every process.
"""

from collections.abc import Iterator
from dataclasses import replace

from fastinstall.conda.reinstall import FOREIGN, name_of
from fastinstall.core.errors import RefusedError
from fastinstall.core.messages import listing
from fastinstall.model.conda import Conda, CondaClash, CondaPackage
from fastinstall.model.conda_packages import IJG, TIFF, TURBO, conda_command, foreign_channels, is_ours, providers
from fastinstall.model.facts import Facts
from fastinstall.model.machine import NativeLibrary
from fastinstall.model.recipe import NativeRequirement, Recipe
from fastinstall.model.request import LinkMode, Request
from fastinstall.observe.installed_pins import is_of_pixi

_TEST_CHANNEL = "fastai/label/test"
_FAMILIES = {"conda-forge": ("conda-forge",), "defaults": ("defaults", "pkgs/main", "pkgs/r", "pkgs/free")}


def advise_on_conda(facts: Facts, recipe: Recipe, link: LinkMode) -> tuple[str, ...]:
    """Sentences about what is advised against; none if nothing is."""
    if facts.conda is None:
        return ()
    return (
        *(_warn_about_two_libjpegs(facts) if link is LinkMode.ENV else ()),
        *_warn_about_pixi(facts),
        *_warn_about_foreign_tiff(facts),
        *_warn_about_test_channel(facts),
        *_warn_about_foreign_installers(facts, recipe),
        *_warn_about_mixed_channels(facts, recipe),
        *_warn_about_clashes(facts),
    )


def warn_about_wheel(facts: Facts, recipe: Recipe) -> str:
    """What is weak about a wheel in a conda environment."""
    names = providers(recipe)
    there = [p for p in facts.conda.packages if p.name in names] if facts.conda is not None else []
    stays = f" (its record of {_describe_package(there[0])} stays)" if there else ""
    return (
        f"--engine pip: conda does not know of what is put in{stays}: at the next change that touches Pillow its own "
        "comes over it without a word; --engine auto makes conda packages, which its solver keeps"
    )


def explain_untouched_libraries(facts: Facts, link: LinkMode) -> str:
    """Why no library of the environment is removed, replaced or installed again, as guides have it."""
    conda = facts.conda
    jpeg, turbo, tiff = (conda.named(name) if conda is not None else None for name in (IJG, TURBO, TIFF))
    if link is not LinkMode.BUNDLE:
        return "every library that is linked is there, and libjpeg-turbo holds the headers and the name of libjpeg"
    inside = "the package has its own libjpeg-turbo and libtiff inside"
    if jpeg is not None:
        stays = listing(_describe_package(package) for package in (jpeg, tiff, turbo) if package is not None)
        linked = f", which {TIFF} is linked to," if tiff is not None and _depends_on(tiff, IJG) else ""
        return (
            f"{inside}, so that {stays} stay as they are: removing IJG's libjpeg{linked} and installing it again after "
            f"{TURBO}, as guides have it, is needless, and would end with its header files over those of {TURBO}"
        )
    if turbo is not None:
        return (
            f"{inside}, and {_describe_package(turbo)} is the only libjpeg of the environment: there is "
            f"nothing to remove, to "
            "replace or to install again, as guides have it"
        )
    return f"{inside}, and the environment needs no libjpeg for it"


def _warn_about_two_libjpegs(facts: Facts) -> Iterator[str]:
    tiff = next((package for package in _list_packages(facts) if package.name == TIFF), None)
    if tiff is not None and _depends_on(tiff, IJG):
        yield (
            f"--link env: {_describe_package(tiff)} is linked to IJG's libjpeg, and the core would be "
            f"to {TURBO}: two libjpegs in "
            "one process, whose symbols may bind to the wrong one; --link bundle has neither of them"
        )


def _warn_about_pixi(facts: Facts) -> Iterator[str]:
    if is_of_pixi(facts.environment.prefix):
        yield (
            "pixi made this environment, and makes it again from its lock file at its next command, without the stack: "
            "make a channel of the build (fastinstall build --format conda -o ./channel), and name it in pixi.toml"
        )


def _warn_about_foreign_tiff(facts: Facts) -> Iterator[str]:
    for package in _list_packages(facts):
        if package.name in FOREIGN:
            away = conda_command(facts, "remove", "--force", package.name)
            again = conda_command(facts, "install", "--no-deps", "--force-reinstall", TIFF)
            yield (
                f"{_describe_package(package)} of {package.channel or 'an unknown channel'} is advised "
                f"against: it writes its "
                f"files over {TIFF}'s, nobody maintains it, and nothing here needs it: `{away}`, then `{again}`"
            )


def _warn_about_test_channel(facts: Facts) -> Iterator[str]:
    found = [p for p in _list_packages(facts) if _TEST_CHANNEL in f"{p.channel} {p.url}"]
    if found:
        yield (
            f"{listing(map(_describe_package, found))} came from {_TEST_CHANNEL}, a channel of "
            f"experiments, advised against: take "
            "it out of the configuration (`conda config --show-sources` tells where it stands), or it is searched "
            "at each change"
        )


def _warn_about_foreign_installers(facts: Facts, recipe: Recipe) -> Iterator[str]:
    """Distributions that another installer put over conda's, or in its place."""
    names = providers(recipe)
    records = [p for p in _list_packages(facts) if p.name in names and not is_ours(p)]
    for owner in facts.stack.owners:
        installed = owner.distribution
        if installed.installer in {"", "conda", "fastinstall"}:
            continue
        what = f"{installed.name} {installed.version} by {installed.installer}"
        if records:
            yield (
                f"{what} lies over conda's {listing(map(_describe_package, records))}: files of both "
                f"are mixed, and either "
                "uninstaller deletes the other's; both make room for one package"
            )
        elif installed.name in names and installed.name != recipe.source.chassis:
            yield (
                f"{what} is unknown to conda, which puts Pillow over it wherever anything depends on Pillow; "
                "it makes room for a package that conda knows"
            )


def _warn_about_mixed_channels(facts: Facts, recipe: Recipe) -> Iterator[str]:
    names = {*providers(recipe), IJG, TURBO, TIFF}
    sides: dict[str, list[str]] = {}
    for package in _list_packages(facts):
        family = _find_channel_family(package)
        if package.name in names and family and not is_ours(package):
            sides.setdefault(family, []).append(package.name)
    if len(sides) > 1:
        told = listing(f"{listing(sorted(packages))} of {family}" for family, packages in sorted(sides.items()))
        yield (
            f"mixed channels: {told}: they are compiled against different libjpegs under the same file names; "
            "choose one of them, with channel_priority strict"
        )


def _warn_about_clashes(facts: Facts) -> Iterator[str]:
    holders: dict[str, list[str]] = {}
    for clash in find_clobbered_headers(facts.conda) if facts.conda is not None else ():
        holders.setdefault(clash.holder, []).append(clash.path)
    for holder, paths in holders.items():
        again = conda_command(facts, "install", "--no-deps", "--force-reinstall", TURBO)
        yield (
            f"{listing(paths)} of {TURBO} {'is' if len(paths) == 1 else 'are'} overwritten by "
            f"{holder or 'something unknown'}: whatever is compiled here links that libjpeg; `{again}`, last of all"
        )


def _list_packages(facts: Facts) -> tuple[CondaPackage, ...]:
    return facts.conda.packages if facts.conda is not None else ()


def _find_channel_family(package: CondaPackage) -> str:
    where = f"{package.channel}/"
    return next((name for name, marks in _FAMILIES.items() if any(f"{mark}/" in where for mark in marks)), "")


def _depends_on(package: CondaPackage, name: str) -> bool:
    return any(spec.split()[0] == name for spec in package.depends if spec.strip())


def _describe_package(package: CondaPackage) -> str:
    return f"{package.name} {package.version}"


_BUNDLE = "--link bundle keeps the libraries inside the package, where no other package can change them"
_FILES = ("jpeglib.h", "jconfig.h", "jmorecfg.h", "jerror.h", "libjpeg.so")


def list_missing_packages(facts: Facts, recipe: Recipe, request: Request) -> tuple[str, ...]:
    """Names of the conda packages that have to come, so that everything that is linked is the environment's.

    Those are of the libraries that the recipe or the wish requires, and libtiff, which Pillow is poor without.
    """
    if request.link is not LinkMode.ENV or facts.conda is None:
        return ()
    here = {package.name for package in facts.conda.packages}
    wanted = (library for name, library in recipe.libraries.items() if _is_wanted(name, library, request))
    return tuple(dict.fromkeys(name for library in wanted for name in library.conda if name not in here))


def use_environment_libraries(facts: Facts, recipe: Recipe, coming: tuple[str, ...]) -> Facts:
    """The facts, their toolchain with the libraries of the environment alone, those included that are to come."""
    if facts.toolchain is None or facts.conda is None:
        return facts
    there = {package.name: package.version for package in facts.conda.packages} | dict.fromkeys(coming, "")
    found = tuple(
        _predict_library(facts, name, library, there) if library.conda else _find_observed_library(facts, name)
        for name, library in recipe.libraries.items()
    )
    return replace(facts, toolchain=replace(facts.toolchain, libraries=found))


def refuse_foreign_jpeg(facts: Facts) -> None:
    """Raise if a build in the environment would link another libjpeg than libjpeg-turbo.

    Raises:
        RefusedError: IJG's libjpeg is there alone, or its files lie in libjpeg-turbo's place.
    """
    conda = facts.conda
    if conda is None or conda.named(IJG) is None:
        return
    clash = min(find_clobbered_headers(conda), key=lambda lost: not lost.path.endswith(_FILES[0]), default=None)
    if conda.named(TURBO) is not None and clash is None:
        return
    what = f"{clash.path} is of {clash.holder or 'nobody'}" if clash else f"{TURBO} is not installed"
    raise RefusedError(
        f"--link env: {facts.environment.prefix} has IJG's libjpeg ({_name_libjpeg(conda)}), and {what}: "
        "a build would link IJG's, which has no SIMD code",
        hint=f"{_explain_reinstallation(facts, conda)}; or {_BUNDLE}",
    )


def find_clobbered_headers(conda: Conda) -> tuple[CondaClash, ...]:
    """Headers of libjpeg, and its name for the linker, that libjpeg-turbo claims and another package holds."""
    contested = (clash for clash in conda.clashes if clash.path.endswith(_FILES))
    return tuple(
        clash for clash in contested if TURBO in map(name_of, clash.claimants) and name_of(clash.holder) != TURBO
    )


def choose_library_channels(facts: Facts, request: Request) -> tuple[str, ...]:
    """Where libraries come from: as wished; else whence most of the environment came, then as conda is configured.

    The first channel is preferred, so that the libraries are of a kind with the rest, whatever is configured by now.

    Raises:
        RefusedError: nothing names a channel.
    """
    configured = facts.conda.channels if facts.conda is not None else ()
    of_user = facts.toolchain.channels if facts.toolchain is not None else ()
    found = request.channels or foreign_channels((*_find_usual_channel(facts), *(configured or of_user)))
    if not found:
        raise RefusedError(
            f"--link env: no channel is known for what {facts.environment.prefix} lacks",
            hint=f"name one: --channel conda-forge; or {_BUNDLE}",
        )
    return found


def _find_usual_channel(facts: Facts) -> tuple[str, ...]:
    """The channel that most packages came from."""
    channels = foreign_channels(package.channel for package in facts.conda.packages) if facts.conda is not None else ()
    all_of_them = [package.channel for package in facts.conda.packages] if facts.conda is not None else []
    return tuple(sorted(channels, key=all_of_them.count, reverse=True)[:1])


def _is_wanted(name: str, library: NativeRequirement, request: Request) -> bool:
    return library.required or name in request.require or TIFF in library.conda


def _predict_library(facts: Facts, name: str, library: NativeRequirement, there: dict[str, str]) -> NativeLibrary:
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


def _find_observed_library(facts: Facts, name: str) -> NativeLibrary:
    libraries = facts.toolchain.libraries if facts.toolchain is not None else ()
    nothing = NativeLibrary(name=name, include=None, library=None)
    return next((library for library in libraries if library.name == name), nothing)


def _name_libjpeg(conda: Conda) -> str:
    package = conda.named(IJG)
    return package.dist if package is not None else IJG


def _explain_reinstallation(facts: Facts, conda: Conda) -> str:
    """Everything that is linked to IJG's first, libjpeg-turbo last, so that its files are those that remain."""
    first = (conda_command(facts, "install", TIFF),) if conda.named(TIFF) is None else ()
    last = conda_command(facts, "install", "--no-deps", "--force-reinstall", TURBO)
    return f"in this order: `{first[0]}`, `{last}`" if first else f"`{last}`"
