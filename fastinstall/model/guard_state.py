"""The start-up guard: whether it is in place, and what it reported."""

from fastinstall.core.values import immutable

OTHER_CORE = " describes "
"""In a problem: what the guard knows is another core than the one in place, as after a replacement."""


@immutable
class GuardEvent:
    """A report of the start-up guard.

    Attributes:
        at: time of the report, ISO 8601, UTC.
        change: the change of the stack ("was replaced with Pillow 13.0.0").
        tool: the tool that made it ("pip", "uv"); empty if unknown.
        stack: the version before ("12.1.1+simd.v3", as the guard knows it).
        found: the version found; empty if there is none.
    """

    at: str
    change: str
    tool: str = ""
    stack: str = ""
    found: str = ""


@immutable
class GuardState:
    """The start-up guard in site-packages.

    Attributes:
        installed: whether any of its files exists.
        version: of the hook; empty if unknown.
        problems: its problems (missing, altered, not compiled, outdated, state differs).
    """

    installed: bool
    version: str = ""
    problems: tuple[str, ...] = ()

    @property
    def own_problems(self) -> tuple[str, ...]:
        """Those that are not the mere consequence of a replaced core, of which the guard warns."""
        return tuple(problem for problem in self.problems if OTHER_CORE not in problem)
