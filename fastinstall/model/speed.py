"""The speed of a build compared with the stack that it replaced, as measured on this machine."""

import math

from fastinstall.core.values import immutable

HEADLINE = "decode-256-224 1080p"
"""The operation whose ratio represents a whole build: image loaders and thumbnail services do it with photos."""
HEADLINE_WORK = "decoding, resizing and cropping a 1080p photo"
_LEAST_NOISE = 0.05
"""Relative difference up to which two times count as equal, even on a quiet machine."""
_MOST_NOISE = 1.5
"""Largest ratio that can count as noise in the headline figure; without a limit, an outlier could hide a gain of 2.

When a wheel was compared with itself, 2 % of the tables exceeded this ratio (wall-clock time, 16 processes, two cores).
"""
_NO_DIFFERENCE = "as fast"


@immutable
class SpeedRow:
    """One line of a speed table.

    Attributes:
        operation: name of the measured operation ("resize 500-800 RGB bicubic").
        before_ms: median of all rounds with the replaced stack, in milliseconds.
        after_ms: median of all rounds with the fast build, in milliseconds.
        low: lowest before/after ratio in any round, with either of the two "before" processes; None if only one round
            was run.
        high: highest before/after ratio in any round, with either of the two "before" processes; None if only one round
            was run.
    """

    operation: str
    before_ms: float
    after_ms: float
    low: float | None = None
    high: float | None = None

    @property
    def ratio(self) -> float:
        """The ratio before/after: how many times as fast the fast build is."""
        return self.before_ms / self.after_ms if self.after_ms else math.inf

    @property
    def is_split(self) -> bool:
        """Whether the fast build is faster in some rounds and slower in others."""
        return self.low is not None and self.high is not None and self.low <= 1 <= self.high

    @property
    def range(self) -> str:
        """The ratio for messages, with the range of single rounds: "2.6x (2.4 to 2.7)"."""
        rounds = f" ({self.low:.1f} to {self.high:.1f})" if self.low is not None and self.high is not None else ""
        return f"{self.ratio:.1f}x{rounds}"


@immutable
class SpeedTable:
    """Times with the replaced stack ("before") and the fast build ("after"), measured alternately on this machine.

    Attributes:
        baseline: the stack measured as "before" ("pillow 13.0.0 (wheel)").
        candidate: the stack measured as "after" ("pillow 12.1.1+simd.v3").
        cpu: name of the CPU.
        measured_at: when it was measured, ISO 8601 in UTC.
        geomean: geometric mean of before/after over all rows.
        rows: one row for each operation that both stacks support.
        python: version of the interpreter that ran both stacks; empty if not recorded.
        prefix: the measured environment; empty if not recorded.
        reused: whether the table is from an earlier setup, of the same two builds on the same CPU.
        noise: relative difference between the medians of the two "before" processes, in the row where it is largest; 0
            if not measured.
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
        """The gain in speed as one figure, with the operation and the baseline, for messages."""
        headline = next((row for row in self.rows if row.operation == HEADLINE), None)
        if headline is None:  # a build without JPEG has no such row
            times = self._describe_times(self.geomean, is_split=False)
            return f"{times} as {self.baseline}, mean of {len(self.rows)} operations"
        times = self._describe_times(headline.ratio, is_split=headline.is_split)
        is_noise = times == _NO_DIFFERENCE and headline.range.partition("x")[0] != "1.0"
        noise = f", within this machine's noise: {headline.range}" if is_noise else ""
        return f"{times} as {self.baseline} at {HEADLINE_WORK}{noise}"

    @property
    def faster(self) -> tuple[SpeedRow, ...]:
        """Rows in which the build is faster by more than the machine's noise."""
        return tuple(row for row in self.rows if row.ratio > self._beyond_noise and (row.low is None or row.low > 1))

    @property
    def slower(self) -> tuple[SpeedRow, ...]:
        """Rows in which the build is slower by more than the machine's noise."""
        least = 1 / self._beyond_noise
        return tuple(row for row in self.rows if row.ratio < least and (row.high is None or row.high < 1))

    @property
    def occasion(self) -> str:
        """When and where the table was measured, for messages."""
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
        # Twice the noise: the official wheel was measured against itself, in ten runs, while ten processes used two
        # cores. Each run was evaluated in all six orders of its three processes. 7 % of these results had a row above
        # the noise; none had a row that was above twice the noise in all rounds.
        return 1 + max(2 * self.noise, _LEAST_NOISE)
