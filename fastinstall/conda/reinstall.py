"""Which conda packages must be reinstalled so that the files that matter to PIL are theirs again. Pure.

A repair also gives other packages back the files that were taken from them, in the right order.

Packages that are required and not installed are included. conda removes libraries that nothing requires: while the
stack has its own, those of the previous Pillow. When that Pillow comes back, they have to as well.
"""

from collections.abc import Collection, Iterator
from pathlib import PurePath

from fastinstall.core.messages import listing, quote
from fastinstall.model.conda import Conda, CondaClaim, CondaClash, CondaPackage, CondaStack
from fastinstall.model.conda_packages import CHANNEL, GUARD, IJG, TURBO
from fastinstall.model.dependants import name_of_spec as name_of_conda_specs

_FOREIGN = frozenset({"libtiff-libjpeg-turbo"})
"""Packages that write their files over those of another one, and never get their place back from us."""
_NEVER = _FOREIGN | {GUARD}


def list_packages_to_reinstall(conda: Conda) -> tuple[CondaPackage, ...]:
    """Return the packages to be reinstalled, in this order; libjpeg-turbo comes last, so that its files win.

    Those that provide PIL, and our guard package, are left to the setup that replaces them. Where `jpeg` and
    `libjpeg-turbo` are both installed, each claims the other's headers: only libjpeg-turbo gets them back.
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
    """Return whether a file has the content of another package than its rightful owner."""
    return clash.holder != find_rightful_owner(clash)


def find_rightful_owner(clash: CondaClash) -> str:
    """Return the package whose content a file should have that several claim: whoever has it, where it does not matter.

    libjpeg-turbo comes before all others, and pip's distributions and packages that take other ones' places after.
    """
    packages = [dist for dist in clash.claimants if not dist.startswith("pip: ")]
    turbo = next((dist for dist in packages if name_of_dist(dist) == TURBO), "")
    proper = [dist for dist in packages if name_of_dist(dist) not in _FOREIGN] or packages
    return turbo or (clash.holder if clash.holder in proper else proper[0])


def has_channel(conda: Conda, stack: CondaStack, prefix: PurePath) -> bool:
    """Return whether the environment's own configuration names the channel of the stack, as a path or as a URL."""
    from urllib.parse import unquote  # noqa: PLC0415 (slow to import; only where packages of ours were set up)

    paths = (unquote(channel.removeprefix("file://")).rstrip("/") for channel in conda.channels)
    return str(channel_of(stack, prefix)) in paths


def channel_of(stack: CondaStack, prefix: PurePath) -> PurePath:
    """Return the channel that has the stack; in a copy of the environment that was set up it is the copy's own."""
    return prefix / CHANNEL if stack.channel.match(CHANNEL) else stack.channel


def provides_pil(claim: CondaClaim) -> bool:
    """Return whether a package claims files of PIL itself."""
    return any("/site-packages/PIL/" in f"/{path}" for path in claim.files)


def name_of_dist(dist: str) -> str:
    """Return the name of a package.

    >>> name_of_dist("libjpeg-turbo-3.1.0-hb9d3cd8_0")
    'libjpeg-turbo'
    """
    return dist.rsplit("-", 2)[0]


def describe_unmet_requirements(
    packages: Collection[CondaPackage], names: Collection[str], prefix: str
) -> Iterator[str]:
    """Yield a sentence with a command for each package that lacks something.

    Args:
        packages: all that are installed.
        names: of the packages that are asked about.
    """
    here = {package.name for package in packages}
    for package in packages:
        required = (name_of_conda_specs(spec) for spec in package.depends) if package.name in names else ()
        missing = sorted({name for name in required if not name.startswith("__")} - here)
        if missing:
            what = f"conda's {package.name} {package.version} requires {listing(missing)}, which conda has removed"
            yield f"{what}: conda install --prefix {quote(prefix)} {' '.join(missing)}"
