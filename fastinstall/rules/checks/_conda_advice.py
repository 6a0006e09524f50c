"""Conda packages and channels that old recipes name and that do harm, for the check of conda's records."""

from collections.abc import Iterator

from fastinstall.model.conda import Conda, CondaPackage
from fastinstall.model.immutable import immutable
from fastinstall.rules.checks._context import CheckContext
from fastinstall.rules.conda_names import conda_command

_CHANNELS = {
    "fastai/label/test": "comes from the channel fastai/label/test, whose builds were experiments and are not kept up",
    "zegami": "comes from the channel zegami, whose builds fit the libraries of their day",
}
_PACKAGES = {
    "libtiff-libjpeg-turbo": "writes its own libtiff over that of conda's package libtiff, which no solver knows",
}
_STANDS_FOR = {"libtiff-libjpeg-turbo": "libtiff"}


@immutable
class Advice:
    """What is advised against.

    Attributes:
        package: the one that is installed.
        reason: what follows its name in a sentence.
        instead: the package to have in its place.
    """

    package: CondaPackage
    reason: str
    instead: str

    def command(self, context: CheckContext) -> str:
        """Replace it: by the package of the same name out of the usual channels, or by the one that it stands for."""
        facts, usual = context.facts, ("--override-channels", "--channel", "conda-forge")
        if self.instead == self.package.name:
            return conda_command(facts, "install", *usual, self.instead)
        remove = conda_command(facts, "remove", "--force", self.package.name)
        return f"{remove} && {conda_command(facts, 'install', *usual, '--force-reinstall', '--no-deps', self.instead)}"


def advised_against(conda: Conda) -> Iterator[Advice]:
    """Give the installed packages that are known to do harm, by their name or by their channel."""
    for package in conda.packages:
        reason = _PACKAGES.get(package.name) or _of_channel(package)
        if reason:
            yield Advice(package=package, reason=reason, instead=_STANDS_FOR.get(package.name, package.name))


def _of_channel(package: CondaPackage) -> str:
    place = f"/{package.channel}/{package.url}"
    return next((reason for name, reason in _CHANNELS.items() if f"/{name}/" in place), "")
