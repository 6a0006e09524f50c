"""The record of a finished setup, read by doctor and rollback; and the journal of a running one."""

from enum import StrEnum

from fastinstall.core.values import immutable, keyed
from fastinstall.elf.description import LoadedLibrary
from fastinstall.model.conda import CondaInstaller, CondaStack
from fastinstall.model.request import Environment, LinkMode, Request


@immutable
class BuiltCore:
    """The C extension of Pillow that we installed.

    Attributes:
        path: relative to site-packages.
        size: in bytes.
        mtime_ns: nanoseconds since the epoch.
        sha256: hexadecimal.
        simd_symbols: the recipe's symbols that it defines.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str
    simd_symbols: tuple[str, ...]


@immutable
class SpeedRow:
    """One line of a speed table.

    Attributes:
        operation: the measured operation.
        before_ms: milliseconds with the replaced stack, the least of all rounds.
        after_ms: milliseconds with the fast build, likewise.
        low: the lowest ratio before/after of a round; None with a single round.
        high: the highest.
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
        measured_at: ISO 8601, UTC.
        geomean: geometric mean of before/after over all rows.
        rows: each operation.
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


@immutable
class Receipt:
    """The record of a finished setup in an environment.

    Attributes:
        id: of its transaction (sortable by time).
        created_at: ISO 8601, UTC.
        tool_version: of fastinstall.
        environment: the target.
        request: the request, so that a repair requests the same.
        recipe: name.
        source_version: of the source distribution ("12.1.1.post0").
        distribution: name of the installed distribution.
        version: its version.
        metadata: its `.dist-info` directory.
        levels: CPU levels in the wheel, the baseline first.
        left_out: kernels that were left out, because they failed the proof.
        link: which native libraries the core uses.
        wheel: file name of the wheel.
        wheel_sha256: hexadecimal.
        python_version: of the target, "3.11.7".
        core: Pillow's C extension.
        stack_version: from `PIL/_version.py`.
        features: of `PIL.features`, name to version.
        jpeg: the libjpeg that the core resolves to.
        speed: the table measured, if it was.
        previous: the replaced distribution, for people ("pillow 13.0.0 (pip)"); empty if there was none.
        engine: the installer; pip also stands for our own installation of a wheel.
        conda: its conda packages; None if it is a wheel.
    """

    id: str
    created_at: str
    tool_version: str
    environment: Environment
    request: Request = keyed("wish")
    recipe: str
    source_version: str
    distribution: str
    version: str
    metadata: str
    levels: tuple[str, ...]
    link: LinkMode
    wheel: str
    wheel_sha256: str
    python_version: str
    core: BuiltCore
    stack_version: str
    features: dict[str, str]
    left_out: tuple[str, ...] = ()
    jpeg: LoadedLibrary | None = None
    speed: SpeedTable | None = None
    previous: str = ""
    engine: CondaInstaller = CondaInstaller.PIP
    conda: CondaStack | None = None


class MoveKind(StrEnum):
    """How one entry moves."""

    OUT = "out"
    IN = "in"
    EXCHANGE = "exchange"


@immutable
class Move:
    """One rename of a transaction, inside one filesystem.

    OUT moves `live` to `kept`; IN moves `kept` to `live`; EXCHANGE swaps the two.

    Attributes:
        kind: the kind of move.
        live: path relative to the environment's prefix, where Python searches.
        kept: path relative to the transaction's directory, where we keep the other side.
    """

    kind: MoveKind
    live: str
    kept: str
