"""The input of a check: facts, receipt, recipe, and today's date."""

from datetime import date

from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Host
from fastinstall.elf.description import ImagingCore, Linkage
from fastinstall.model.facts import Facts
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe, parse_labelled_levels


@immutable
class CheckContext:
    """Everything that a verdict may depend on; two equal contexts give equal findings.

    Attributes:
        facts: facts of the environment.
        receipt: receipt of the last setup, or None if fastinstall has set up nothing.
        recipe: the receipt's recipe; without a receipt, the recipe that a setup would follow.
        today: today's date, for the age of data.
        tool_version: version of the running fastinstall.
        hosts: other machines for which the code is judged too.
    """

    facts: Facts
    receipt: Receipt | None
    recipe: Recipe
    today: date
    tool_version: str
    hosts: tuple[Host, ...] = ()

    @property
    def own_receipt(self) -> Receipt | None:
        """The receipt, if there is one and it records the core on disk; otherwise None."""
        core, receipt = self.facts.stack.core, self.receipt
        return receipt if receipt is not None and core is not None and core.sha256 == receipt.core.sha256 else None

    @property
    def core_is_ours(self) -> bool:
        """Whether the core on disk is the one that the receipt records."""
        return self.own_receipt is not None

    @property
    def is_built_elsewhere(self) -> bool:
        """Whether a build with fastinstall's version label was installed by another tool, without a receipt."""
        versions = [owner.distribution.version for owner in self.facts.stack.owners]
        return self.receipt is None and any(parse_labelled_levels(self.recipe, version) for version in versions)

    @property
    def readable_core(self) -> ImagingCore | None:
        """The core, or None if it is missing or its file cannot be read."""
        core = self.facts.stack.core
        return core if core is not None and core.readable else None

    @property
    def linkage(self) -> Linkage:
        """The simulated process; empty if nothing was simulated, or if the simulation failed or has no PIL modules."""
        linkage = self.facts.linkage
        return linkage if linkage is not None and not linkage.problem and linkage.modules else Linkage()

    @property
    def own_levels(self) -> tuple[str, ...]:
        """The CPU levels that the core on disk was built for; empty if the receipt does not record this core."""
        return self.own_receipt.levels if self.own_receipt is not None else ()
