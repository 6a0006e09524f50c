"""What a check may look at."""

from datetime import date

from fastinstall.model.facts import Facts
from fastinstall.model.immutable import immutable
from fastinstall.model.isa import Host
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe


@immutable
class CheckContext:
    """Everything that a verdict may depend on; two equal contexts give equal findings.

    Attributes:
        facts: what was observed.
        receipt: of our last setup, or None if fastinstall has set up nothing.
        recipe: the receipt's recipe, or the one that a setup would follow.
        today: the date, for the age of data.
        tool_version: of fastinstall.
        hosts: other machines that the code is judged for, beside this one.
    """

    facts: Facts
    receipt: Receipt | None
    recipe: Recipe
    today: date
    tool_version: str
    hosts: tuple[Host, ...] = ()

    @property
    def core_is_ours(self) -> bool:
        """Whether the core in place is the very one that the receipt speaks of."""
        core = self.facts.stack.core
        return self.receipt is not None and core is not None and core.sha256 == self.receipt.core.sha256
