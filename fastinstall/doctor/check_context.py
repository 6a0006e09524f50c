"""What a check may look at.

How a check words its findings: its name and its page are filled in.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import date
from typing import TypedDict, Unpack

from fastinstall.core.values import immutable
from fastinstall.elf.cpu import Host
from fastinstall.elf.description import ImagingCore, Linkage
from fastinstall.model.facts import Facts
from fastinstall.model.finding import Finding, Remedy, Status
from fastinstall.model.receipt import Receipt
from fastinstall.model.recipe import Recipe, parse_labelled_levels


@immutable
class CheckContext:
    """Everything that a verdict may depend on; two equal contexts give equal findings.

    Attributes:
        facts: what was observed of the environment.
        receipt: of our last setup, or None if fastinstall has set up nothing.
        recipe: the receipt's recipe, or the one that a setup would follow.
        today: the date, for the age of data.
        tool_version: version of the fastinstall that runs.
        hosts: other machines that the code is judged for, beside this one.
    """

    facts: Facts
    receipt: Receipt | None
    recipe: Recipe
    today: date
    tool_version: str
    hosts: tuple[Host, ...] = ()

    @property
    def own_receipt(self) -> Receipt | None:
        """The receipt, where the core in place is the very one that it speaks of."""
        core, receipt = self.facts.stack.core, self.receipt
        return receipt if receipt is not None and core is not None and core.sha256 == receipt.core.sha256 else None

    @property
    def core_is_ours(self) -> bool:
        """Whether the core in place is the very one that the receipt speaks of."""
        return self.own_receipt is not None

    @property
    def is_built_elsewhere(self) -> bool:
        """Whether PIL is a build of fastinstall that another tool installed: by its version, and without a receipt."""
        versions = [owner.distribution.version for owner in self.facts.stack.owners]
        return self.receipt is None and any(parse_labelled_levels(self.recipe, version) for version in versions)

    @property
    def readable_core(self) -> ImagingCore | None:
        """The core, where its contents can be judged."""
        core = self.facts.stack.core
        return core if core is not None and core.readable else None

    @property
    def linkage(self) -> Linkage:
        """The simulated process; an empty one where there is none, or where it never reached PIL's modules."""
        linkage = self.facts.linkage
        return linkage if linkage is not None and not linkage.problem and linkage.modules else Linkage()

    @property
    def own_levels(self) -> tuple[str, ...]:
        """The CPU levels that the core in place was built for, where it is ours; empty otherwise."""
        return self.own_receipt.levels if self.own_receipt is not None else ()


_PAGE = "docs/reference/checks.md"

_SHOWN = 6


class Details(TypedDict, total=False):
    """What a finding may say beside its message; see `Finding`."""

    evidence: tuple[str, ...]
    expected: str
    observed: str
    remedy: Remedy | None
    verify: str


@dataclass(frozen=True, slots=True)
class FindingFactory:
    """Speaks for one check.

    Attributes:
        check: the name of the check, which its findings bear.
    """

    check: str

    def ok(self, message: str, **details: Unpack[Details]) -> Finding:
        """Report that all is as it should be."""
        return self.say(Status.OK, message, **details)

    def hint(self, message: str, **details: Unpack[Details]) -> Finding:
        """Report that nothing is wrong, but there is something to know or to gain."""
        return self.say(Status.HINT, message, **details)

    def warning(self, message: str, **details: Unpack[Details]) -> Finding:
        """Report that it works, but worse than it should, or that it may fail later."""
        return self.say(Status.WARNING, message, **details)

    def error(self, message: str, **details: Unpack[Details]) -> Finding:
        """Report that it does not work, or is not what it is taken for."""
        return self.say(Status.ERROR, message, **details)

    def skipped(self, message: str, **details: Unpack[Details]) -> Finding:
        """Report that there was nothing to judge."""
        return self.say(Status.SKIPPED, message, **details)

    def unknown(self, message: str, **details: Unpack[Details]) -> Finding:
        """Report that it could not be determined."""
        return self.say(Status.UNKNOWN, message, **details)

    def say(self, status: Status, message: str, **details: Unpack[Details]) -> Finding:
        """Word a verdict that was reached elsewhere."""
        return Finding(check=self.check, status=status, message=message, link=f"{_PAGE}#{self.check}", **details)


def shorten_evidence(lines: Iterable[str]) -> tuple[str, ...]:
    """Shorten a long list of evidence to its first lines and a count of the rest."""
    told = tuple(lines)
    return told if len(told) <= _SHOWN else (*told[:_SHOWN], f"and {len(told) - _SHOWN} more")
