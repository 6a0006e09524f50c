"""How much faster a build is than what it replaced, as measured on this machine."""

from fastinstall.core.values import immutable


@immutable
class SpeedRow:
    """One line of a speed table.

    Attributes:
        operation: name of the measured operation ("resize 500-800 RGB bicubic").
        before_ms: milliseconds with the replaced stack, the least of all rounds.
        after_ms: milliseconds with the fast build, likewise.
        low: the lowest ratio before/after of a round; None with a single round.
        high: the highest such ratio; None likewise.
    """

    operation: str
    before_ms: float
    after_ms: float
    low: float | None = None
    high: float | None = None


@immutable
class SpeedTable:
    """Before and after, measured interleaved on this machine.

    Attributes:
        baseline: what "before" is ("pillow 13.0.0 (wheel)").
        candidate: what "after" is ("pillow 12.1.1+simd.v3").
        cpu: name of the CPU.
        measured_at: when it was measured, ISO 8601 in UTC.
        geomean: geometric mean of before/after over all rows.
        rows: one for each operation that both can do.
        python: version of the interpreter that ran both; empty if an older fastinstall did not record it.
        prefix: the measured environment; empty likewise.
        reused: whether an earlier setup had measured the same two builds on the same CPU.
    """

    baseline: str
    candidate: str
    cpu: str
    measured_at: str
    geomean: float
    rows: tuple[SpeedRow, ...]
    python: str = ""
    prefix: str = ""
    reused: bool = False

    @property
    def occasion(self) -> str:
        """When and where it was measured, for people; an older fastinstall did not record everything."""
        day, _, time = self.measured_at.partition("T")
        when = f"{day} {time[:5]} UTC" if time else day
        python = f" with Python {self.python}" if self.python else ""
        place = f" for {self.prefix}" if self.prefix else ""
        return f"measured {when}{python}{place}, on {self.cpu}"
