"""Whether a Pillow that stands in the place of ours is there because somebody wanted it, and at which version. Pure.

REQUESTED (PEP 376) says so only by some tools, found out by running or reading them (2026-11-21): pip writes it for
what was named, in a requirement file too, and pdm for what the project itself depends on; uv writes it for whatever it
installs, and Poetry 2.5 for nothing. conda's packages bear what the pip of their build has left in them, and what tells
is the command in conda's history.
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
"""Tools whose REQUESTED, or lack of it, says something."""


class InstallRequest(StrEnum):
    """How a distribution came, in words that follow "was installed"."""

    BY_NAME = ", requested by name"
    ALONG = " along with another package"
    UNTOLD = ", and whether it was requested by name is unknown"


class VersionOrder(StrEnum):
    """What is in place, compared with ours."""

    EARLIER = "earlier"
    SAME = "same"
    LATER = "later"


@immutable
class Intent:
    """What took the place of ours, and what was meant by it.

    Attributes:
        name: of the distribution, or of conda's package.
        version: of Pillow, that it follows ("14.0.0").
        tool: who put it there ("pip"); empty if nothing tells.
        asked: whether it was asked for by name.
        order: whether it is earlier or later than ours.
        unmet: requirements of installed distributions that ours does not meet ("imageio requires pillow>=14").
        broken: such that it does not meet itself.
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
        """Whether a repair keeps its version: a later one, unless it only came along, and whatever is required."""
        return bool(self.unmet) or (self.order is VersionOrder.LATER and self.asked is not InstallRequest.ALONG)

    @property
    def story(self) -> str:
        """Who put it there and why, in a clause."""
        return f"{self.name} {self.version} was installed{f' by {self.tool}' if self.tool else ''}{self.asked}"


def intent_of(facts: Facts, receipt: Receipt) -> Intent | None:
    """Infer what replacing our stack was meant to do, or return None if it was not replaced.

    Args:
        facts: what was observed of the environment.
        receipt: of the setup that was replaced.
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
    """Read how a distribution came, as far as the tool that installed it tells."""
    if distribution.installer not in _WRITERS:
        return InstallRequest.UNTOLD
    return InstallRequest.BY_NAME if distribution.requested else InstallRequest.ALONG


def _list_unmet_requirements(facts: Facts, version: str) -> tuple[str, ...]:
    """List requirements on Pillow that a version does not meet, those of conda packages included."""
    found = list_forbidding_dependants(version, facts.interpreter, dependants_of(facts))
    return tuple(dict.fromkeys(obstacle.reason for obstacle in found))


def _order(there: str, ours: str) -> VersionOrder:
    found, wanted = parse_version_number(there), parse_version_number(ours)
    if found == wanted:
        return VersionOrder.SAME
    return VersionOrder.LATER if found > wanted else VersionOrder.EARLIER


def _find_conda_request(facts: Facts, package: CondaPackage) -> InstallRequest:
    """Tell from conda's history whether somebody asked for this package by name."""
    revisions = facts.conda.revisions if facts.conda is not None else ()
    brought = next((each for each in reversed(revisions) if package.dist in each.linked), None)
    if brought is None or not brought.command:
        return InstallRequest.UNTOLD
    words = (word for word in brought.command.split()[1:] if not word.startswith("-"))
    return InstallRequest.BY_NAME if package.name in {name_of_spec(word) for word in words} else InstallRequest.ALONG
