"""Checks that other distributions bring by the entry points `fastinstall.checks`.

Whatever is wrong with one of them is told by a finding that names its distribution; doctor goes on.
"""

from collections.abc import Collection, Iterator
from functools import cache

from fastinstall.core.extensions import CHECKS, Extension, Ignored, choose, find_installed_extensions
from fastinstall.doctor.check_context import CheckContext
from fastinstall.model.finding import Finding

LAST = 1000
"""The place in reports of a check that declares none: after all of ours."""


class ForeignCheck:
    """A check of another distribution, as doctor runs it; see `Check`. What the module does not declare is usual here.

    Attributes:
        distribution: name and version of what brings it.
    """

    NEEDS_RUNTIME = False
    ORDER = LAST
    VERIFIES_SETUP = False
    SETUP_REPAIRS = False

    def __init__(self, extension: Extension) -> None:
        self.NAME = extension.name
        self.SUMMARY = f"Cannot be imported; it comes with {extension.distribution}."
        self.distribution = extension.distribution
        self._problem: ImportError | None = None
        try:
            self._module = extension.load()
        except ImportError as error:
            self._problem = error
            return
        declared = vars(self._module)
        self.SUMMARY = str(declared.get("SUMMARY", f"A check of {extension.distribution}."))
        self.NEEDS_RUNTIME = declared.get("NEEDS_RUNTIME") is True
        self.VERIFIES_SETUP = declared.get("VERIFIES_SETUP") is True
        self.SETUP_REPAIRS = declared.get("SETUP_REPAIRS") is True
        order = declared.get("ORDER")
        self.ORDER = order if isinstance(order, int) else LAST

    def check(self, context: CheckContext, /) -> Iterator[Finding]:
        """Give the findings of the module.

        Raises:
            ImportError: the module could not be imported.
            TypeError: it gave something else than findings of its own name.
            RuntimeError: it tried to end the program.
        """
        if self._problem is not None:
            raise self._problem
        try:
            for finding in self._module.check(context):
                if not isinstance(finding, Finding) or finding.check != self.NAME:
                    raise TypeError(f"it gave {finding!r:.80}, which is no finding of {self.NAME!r}")
                yield finding
        except SystemExit as error:
            raise RuntimeError(f"it called sys.exit({error.code!r})") from error


def foreign_checks(own: Collection[str]) -> dict[str, ForeignCheck]:
    """All that are installed and whose names are free, by name.

    Args:
        own: the names of fastinstall's checks.
    """
    chosen, _ = choose(find_installed_extensions(CHECKS), own)
    return {extension.name: _load_check(extension) for extension in chosen}


def ignored_checks(own: Collection[str]) -> tuple[Ignored, ...]:
    """Those that are installed and whose names are taken; argument as of `foreign_checks`."""
    return choose(find_installed_extensions(CHECKS), own)[1]


@cache
def _load_check(extension: Extension) -> ForeignCheck:
    return ForeignCheck(extension)
