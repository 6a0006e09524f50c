"""Infer whether a user wanted the Pillow that replaced our stack, and whether it is earlier or later than ours.

The file REQUESTED (PEP 376) is reliable only for some tools (tested, or read in their code, on 2026-11-21). pip writes
it for packages that the user or a requirements file names, and pdm for the project's own dependencies. uv writes it for
all packages, and Poetry 2.5 for none. In conda packages the file comes from the build, so conda's history is read
instead.
"""

from enum import StrEnum

from fastinstall.core.values import immutable
from fastinstall.core.version_numbers import base_version, parse_version_number
from fastinstall.doctor.owners import find_foreign_owner, find_foreign_package
from fastinstall.index.upgrades import list_forbidding_dependants
from fastinstall.model.conda import CondaPackage
from fastinstall.model.dependants import dependants_of, name_of_spec
from fastinstall.model.facts import Distribution, Facts
from fastinstall.model.receipt import Receipt

_WRITERS = ("pip", "pdm")
"""Tools that write the file REQUESTED if, and only if, a package was requested."""


class InstallRequest(StrEnum):
    """Why a distribution was installed, in words that follow "was installed"."""

    BY_NAME = ", requested by name"
    ALONG = " along with another package"
    UNTOLD = ", and whether it was requested by name is unknown"


class VersionOrder(StrEnum):
    """The version of the replacement, compared with the version of our stack."""

    EARLIER = "earlier"
    SAME = "same"
    LATER = "later"


@immutable
class Intent:
    """The distribution or conda package that replaced our stack, and why it was installed.

    Attributes:
        name: name of the replacement, a distribution or conda package.
        version: the replacement's Pillow version without a local label ("14.0.0").
        tool: the tool that installed the replacement ("pip"); empty if unknown.
        asked: whether the replacement was requested by name.
        order: whether the replacement's version is earlier or later than our stack's.
        unmet: requirements of installed distributions that the replacement meets and our stack does not ("imageio
            requires pillow>=14").
        broken: requirements of installed distributions that the replacement does not meet.
    """

    name: str
    version: str
    tool: str
    asked: InstallRequest
    order: VersionOrder
    unmet: tuple[str, ...] = ()
    broken: tuple[str, ...] = ()

    @property
    def is_kept(self) -> bool:
        """Whether a repair keeps the replacement's version.

        True if an installed distribution has a requirement that the replacement meets and our stack does not. Also true
        if the replacement is later than our version, unless it was installed only because another package requires it.
        """
        return bool(self.unmet) or (self.order is VersionOrder.LATER and self.asked is not InstallRequest.ALONG)

    @property
    def story(self) -> str:
        """A clause that says what replaced our stack, which tool installed it and why."""
        return f"{self.name} {self.version} was installed{f' by {self.tool}' if self.tool else ''}{self.asked}"


def intent_of(facts: Facts, receipt: Receipt) -> Intent | None:
    """Return the distribution or package that replaced our stack, and why it was installed.

    None if our stack was not replaced, if PIL is missing, or if the versions cannot be compared.

    Args:
        facts: facts of the environment.
        receipt: receipt of the setup whose stack may have been replaced.
    """
    core, package, owner = facts.stack.core, find_foreign_package(facts, receipt), find_foreign_owner(facts, receipt)
    if facts.stack.directory is None or (core is not None and core.sha256 == receipt.core.sha256):
        return None
    if package is not None:
        name, version, tool, asked = package.name, package.version, "conda", _find_conda_request(facts, package)
    elif owner is not None:
        found = owner.distribution
        name, version, tool, asked = found.name, found.version, found.installer, read_install_request(found)
    else:
        return None
    try:
        there, ours = base_version(version), base_version(receipt.source_version)
    except ValueError:
        return None
    broken = _list_unmet_requirements(facts, there)
    return Intent(
        name=name,
        version=there,
        tool=tool,
        asked=asked,
        order=_order(there, ours),
        unmet=tuple(reason for reason in _list_unmet_requirements(facts, ours) if reason not in broken),
        broken=broken,
    )


def read_install_request(distribution: Distribution) -> InstallRequest:
    """Return whether a distribution was requested by name; `UNTOLD` if its installer does not record that reliably."""
    if distribution.installer not in _WRITERS:
        return InstallRequest.UNTOLD
    return InstallRequest.BY_NAME if distribution.requested else InstallRequest.ALONG


def _list_unmet_requirements(facts: Facts, version: str) -> tuple[str, ...]:
    """Return the requirements of distributions and conda packages that a version of Pillow does not meet."""
    found = list_forbidding_dependants(version, facts.interpreter, dependants_of(facts))
    return tuple(dict.fromkeys(obstacle.reason for obstacle in found))


def _order(there: str, ours: str) -> VersionOrder:
    found, wanted = parse_version_number(there), parse_version_number(ours)
    if found == wanted:
        return VersionOrder.SAME
    return VersionOrder.LATER if found > wanted else VersionOrder.EARLIER


def _find_conda_request(facts: Facts, package: CondaPackage) -> InstallRequest:
    """Return whether a package was named in the conda command that installed it; `UNTOLD` if no command is known."""
    revisions = facts.conda.revisions if facts.conda is not None else ()
    brought = next((each for each in reversed(revisions) if package.dist in each.linked), None)
    if brought is None or not brought.command:
        return InstallRequest.UNTOLD
    words = (word for word in brought.command.split()[1:] if not word.startswith("-"))
    return InstallRequest.BY_NAME if package.name in {name_of_spec(word) for word in words} else InstallRequest.ALONG
