"""How much faster a build is than what it replaced, as measured on this machine."""

import math

from fastinstall.core.values import immutable

HEADLINE = "decode-256-224 1080p"
"""The operation whose ratio stands for a whole build: what image loaders and thumbnail services do with a photo."""
HEADLINE_WORK = "decoding, resizing and cropping a 1080p photo"
_LEAST_NOISE = 0.05
"""Two ratios that differ by less count as equal on the quietest machine."""
_MOST_NOISE = 1.5
"""A higher ratio is no noise in the one figure of a build: one wild operation or round would hide a gain of 2.

By the clock on the wall, 16 processes on two cores, it was exceeded in 2 % of the tables of a wheel against itself.
"""
_NO_DIFFERENCE = "as fast"


@immutable
class SpeedRow:
    """One line of a speed table.

    Attributes:
        operation: name of the measured operation ("resize 500-800 RGB bicubic").
        before_ms: milliseconds with the replaced stack, the median of all rounds.
        after_ms: milliseconds with the fast build, likewise.
        low: the lowest ratio before/after of a round, with either process of "before"; None with a single round.
        high: the highest such ratio; None likewise.
    """

    operation: str
    before_ms: float
    after_ms: float
    low: float | None = None
    high: float | None = None

    @property
    def ratio(self) -> float:
        """How many times as fast after as before."""
        return self.before_ms / self.after_ms if self.after_ms else math.inf

    @property
    def is_split(self) -> bool:
        """Whether some rounds say that it is faster after, and some before."""
        return self.low is not None and self.high is not None and self.low <= 1 <= self.high

    @property
    def range(self) -> str:
        """The ratio for people, with those of single rounds: "2.6x (2.4 to 2.7)"."""
        rounds = f" ({self.low:.1f} to {self.high:.1f})" if self.low is not None and self.high is not None else ""
        return f"{self.ratio:.1f}x{rounds}"


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
        python: version of the interpreter that ran both; empty if not recorded.
        prefix: the measured environment; empty likewise.
        reused: whether an earlier setup had measured the same two builds on the same CPU.
        noise: by what share the median of "before" differs from that of "before" in a second process, in the row
            where it differs most; 0 if not measured.
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
    noise: float = 0.0

    @property
    def gain(self) -> str:
        """How many times as fast the build is, in one figure, at what, and compared with what."""
        headline = next((row for row in self.rows if row.operation == HEADLINE), None)
        if headline is None:  # a build without JPEG
            times = self._describe_times(self.geomean, is_split=False)
            return f"{times} as {self.baseline}, mean of {len(self.rows)} operations"
        times = self._describe_times(headline.ratio, is_split=headline.is_split)
        is_noise = times == _NO_DIFFERENCE and headline.range.partition("x")[0] != "1.0"
        noise = f", within this machine's noise: {headline.range}" if is_noise else ""
        return f"{times} as {self.baseline} at {HEADLINE_WORK}{noise}"

    @property
    def faster(self) -> tuple[SpeedRow, ...]:
        """The rows that are faster after than before, beyond what the machine's noise explains."""
        return tuple(row for row in self.rows if row.ratio > self._beyond_noise and (row.low is None or row.low > 1))

    @property
    def slower(self) -> tuple[SpeedRow, ...]:
        """The rows that are slower, likewise."""
        least = 1 / self._beyond_noise
        return tuple(row for row in self.rows if row.ratio < least and (row.high is None or row.high < 1))

    @property
    def occasion(self) -> str:
        """When and where it was measured, for people."""
        day, _, time = self.measured_at.partition("T")
        when = f"{day} {time[:5]} UTC" if time else day
        python = f" with Python {self.python}" if self.python else ""
        place = f" for {self.prefix}" if self.prefix else ""
        return f"measured {when}{python}{place}, on {self.cpu}"

    def _describe_times(self, ratio: float, *, is_split: bool) -> str:
        most = max(ratio, 1 / ratio)
        is_noise = most <= _MOST_NOISE and (is_split or most <= self._beyond_noise)
        return _NO_DIFFERENCE if is_noise else f"{ratio:.1f} times as fast"

    @property
    def _beyond_noise(self) -> float:
        # The official wheel against itself, beside ten processes on two cores: ten runs, each read in the six orders of
        # its three processes. None had a row beyond twice the noise in all rounds, 7 % had one beyond the noise.
        return 1 + max(2 * self.noise, _LEAST_NOISE)
