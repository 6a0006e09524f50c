"""Find the conda packages that a repair must reinstall to restore their missing or overwritten files. Pure.

The order matters: if two packages contain the same file, the file of the package that is reinstalled last remains.

Missing requirements are reported too. The stack has its own libraries, so conda may remove the libraries of the
previous Pillow because no package requires them. When that Pillow comes back, the libraries must be installed again.
"""

from collections.abc import Collection, Iterator
from pathlib import PurePath

from fastinstall.core.messages import listing, quote
from fastinstall.model.conda import Conda, CondaClaim, CondaClash, CondaPackage, CondaStack
from fastinstall.model.conda_packages import CHANNEL, GUARD, IJG, TURBO
from fastinstall.model.dependants import name_of_spec

_FOREIGN = frozenset({"libtiff-libjpeg-turbo"})
"""Packages that overwrite the files of another package, and whose files are never restored."""
_NEVER = _FOREIGN | {GUARD}


def list_packages_to_reinstall(conda: Conda) -> tuple[CondaPackage, ...]:
    """Return the packages to reinstall, in the order of reinstallation.

    A package is reinstalled if a file that only this package contains is missing or altered, or if a file of which it
    is the rightful owner has other content (`is_taken`).

    libjpeg-turbo comes last, so that its headers remain if `jpeg`, which contains the same headers, is reinstalled too.
    The guard package and packages that provide PIL are left out, because setup replaces them.
    """
    contested = {clash.path for clash in conda.clashes}
    taken = {find_rightful_owner(clash) for clash in conda.clashes if is_taken(clash)}
    wanting = {
        claim.dist
        for claim in conda.claims
        if not provides_pil(claim)
        and (claim.dist in taken or not contested.issuperset((*claim.missing, *claim.altered)))
    }
    packages = [package for package in conda.packages if package.dist in wanting and package.name not in _NEVER]
    turbo = conda.named(TURBO)
    if turbo is not None and turbo not in packages and any(package.name == IJG for package in packages):
        packages.append(turbo)
    return tuple(sorted(packages, key=lambda package: (package.name == TURBO, package.name)))


def is_taken(clash: CondaClash) -> bool:
    """Return whether a file's content is not that of its rightful owner (`find_rightful_owner`)."""
    return clash.holder != find_rightful_owner(clash)


def find_rightful_owner(clash: CondaClash) -> str:
    """Return the rightful owner of a file that several packages claim: the package whose content it should have.

    The first rule that applies decides: 1. libjpeg-turbo, if it claims the file; 2. the package whose content the file
    has now; 3. the first claimant. Rules 2 and 3 skip packages that overwrite others (`_FOREIGN`), unless no other
    package claims the file. A distribution that pip installed is never the rightful owner.
    """
    packages = [dist for dist in clash.claimants if not dist.startswith("pip: ")]
    turbo = next((dist for dist in packages if name_of_dist(dist) == TURBO), "")
    proper = [dist for dist in packages if name_of_dist(dist) not in _FOREIGN] or packages
    return turbo or (clash.holder if clash.holder in proper else proper[0])


def has_channel(conda: Conda, stack: CondaStack, prefix: PurePath) -> bool:
    """Return whether conda's configuration for the environment names the stack's channel, as a path or as a URL."""
    from urllib.parse import unquote  # slow to import; only needed if the stack is a conda package

    paths = (unquote(channel.removeprefix("file://")).rstrip("/") for channel in conda.channels)
    return str(channel_of(stack, prefix)) in paths


def channel_of(stack: CondaStack, prefix: PurePath) -> PurePath:
    """Return the path of the stack's channel; if the channel is inside an environment, return its path in `prefix`.

    `prefix` may be a copy of the environment that the stack was set up in.
    """
    return prefix / CHANNEL if stack.channel.match(CHANNEL) else stack.channel


def provides_pil(claim: CondaClaim) -> bool:
    """Return whether a package claims files of PIL itself."""
    return any("/site-packages/PIL/" in f"/{path}" for path in claim.files)


def name_of_dist(dist: str) -> str:
    """Return the package's name from NAME-VERSION-BUILD.

    >>> name_of_dist("libjpeg-turbo-3.1.0-hb9d3cd8_0")
    'libjpeg-turbo'
    """
    return dist.rsplit("-", 2)[0]


def describe_unmet_requirements(
    packages: Collection[CondaPackage], names: Collection[str], prefix: str
) -> Iterator[str]:
    """Yield, for each package with missing requirements, a sentence with the command that installs them.

    Args:
        packages: all installed packages.
        names: names of the packages to check.
        prefix: the environment's path, for the command.
    """
    here = {package.name for package in packages}
    for package in packages:
        required = (name_of_spec(spec) for spec in package.depends) if package.name in names else ()
        missing = sorted({name for name in required if not name.startswith("__")} - here)
        if missing:
            what = f"conda's {package.name} {package.version} requires {listing(missing)}, which conda has removed"
            yield f"{what}: conda install --prefix {quote(prefix)} {' '.join(missing)}"
