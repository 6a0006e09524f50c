"""Who claims PIL's files: a distribution, a package of conda's, or one that is both."""

from fastinstall.model.conda import CondaClaim, CondaPackage
from fastinstall.model.facts import Facts, Owner
from fastinstall.model.immutable import immutable
from fastinstall.rules.checks._conda import described, packages_of_pil, relative_to_prefix
from fastinstall.rules.checks._stack import brought, describe

_WRITTEN_BY_INSTALLERS = ("METADATA", "RECORD", "INSTALLER")


@immutable
class Claimant:
    """One who claims PIL's files; at least one of the two sides is there.

    Attributes:
        owner: its metadata in site-packages.
        package: what conda has installed.
        claim: what that package claims.
    """

    owner: Owner | None = None
    package: CondaPackage | None = None
    claim: CondaClaim | None = None

    @property
    def name(self) -> str:
        """Of the distribution, or of the package where that is all there is."""
        if self.owner is not None:
            return self.owner.distribution.name
        return self.package.name if self.package is not None else ""

    @property
    def title(self) -> str:
        """For a sentence: "pillow 12.1.1", "conda's pillow 12.1.1"."""
        if self.package is not None:
            return f"conda's {self.package.name} {self.package.version}"
        return f"{self.name} {self.owner.distribution.version}" if self.owner is not None else ""

    @property
    def description(self) -> str:
        """Which it is, and who installed it."""
        if self.package is not None:
            return f"conda's {described(self.package)}"
        return describe(self.owner) if self.owner is not None else ""

    @property
    def place(self) -> str:
        """What says that it is installed: a metadata directory, or a record of conda's."""
        if self.package is not None:
            return f"conda-meta/{self.package.record}"
        return self.owner.distribution.metadata if self.owner is not None else ""


def claimants(facts: Facts) -> tuple[Claimant, ...]:
    """Give all who claim PIL's files: distributions first, then packages of conda's that left no metadata.

    A distribution is a package's own where that claims its metadata, and what lies there is what it put there: an
    installer that replaces one writes a directory of the same name where the version is the same.
    """
    packages = tuple(packages_of_pil(facts))
    found = tuple(_of_owner(facts, owner, packages) for owner in facts.stack.owners)
    taken = {claimant.package.dist for claimant in found if claimant.package is not None}
    alone = (Claimant(package=package, claim=claim) for package, claim in packages if package.dist not in taken)
    return (*found, *alone)


def claimant_of(facts: Facts, owner: Owner) -> Claimant:
    """Give the claimant that a distribution is."""
    return _of_owner(facts, owner, tuple(packages_of_pil(facts)))


def holds_core(claimant: Claimant, facts: Facts) -> bool:
    """Whether the core on disk is the one that a claimant brought."""
    core, claim = facts.stack.core, claimant.claim
    if claim is None or core is None:
        return claimant.owner is not None and brought(claimant.owner, core)
    name = relative_to_prefix(facts, core.path)
    return name in claim.files and name not in (*claim.altered, *claim.missing)


def _of_owner(facts: Facts, owner: Owner, packages: tuple[tuple[CondaPackage, CondaClaim], ...]) -> Claimant:
    mine = (each for each in packages if _is_of(facts, owner, each[1]))
    package, claim = next(mine, (None, None))
    return Claimant(owner=owner, package=package, claim=claim)


def _is_of(facts: Facts, owner: Owner, claim: CondaClaim) -> bool:
    directory = f"{relative_to_prefix(facts, facts.interpreter.site_packages)}/{owner.distribution.metadata}"
    written = {f"{directory}/{name}" for name in _WRITTEN_BY_INSTALLERS}
    return bool(written & set(claim.files)) and not written & {*claim.altered, *claim.missing}
