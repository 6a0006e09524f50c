"""The record of a finished setup, read by doctor and rollback."""

from fastinstall.core.values import immutable
from fastinstall.elf.description import LoadedLibrary
from fastinstall.model.conda import CondaInstaller, CondaStack
from fastinstall.model.facts import Environment
from fastinstall.model.request import LinkMode, Request
from fastinstall.model.speed import SpeedTable


@immutable
class BuiltCore:
    """Pillow's C extension, as a setup installed it.

    Attributes:
        path: its path, relative to site-packages.
        size: its size in bytes.
        mtime_ns: its modification time, in nanoseconds since the epoch.
        sha256: its SHA-256, 64 hexadecimal digits.
        simd_symbols: the symbols, among those that the recipe expects, that this extension defines.
    """

    path: str
    size: int
    mtime_ns: int
    sha256: str
    simd_symbols: tuple[str, ...]


@immutable
class Receipt:
    """The record of a finished setup in an environment.

    Attributes:
        id: ID of its transaction (sortable by time).
        created_at: time of the setup, ISO 8601 in UTC ("2026-01-31T12:00:00Z").
        tool_version: version of the fastinstall that did the setup.
        environment: the environment: its prefix, manager and interpreter.
        request: the user's request, which a repair repeats.
        recipe: name of the recipe, as `--recipe` takes it.
        source_version: version of the source distribution ("12.1.1.post0").
        distribution: name of the installed distribution.
        version: version of the distribution, with the local label ("12.1.1+simd.v3").
        metadata: name of the distribution's `.dist-info` directory in site-packages.
        levels: CPU levels in the wheel, the baseline first.
        left_out: kernels that were left out because they failed the proof.
        link: which native libraries the core uses.
        wheel: file name of the wheel.
        wheel_sha256: SHA-256 of the wheel, 64 hexadecimal digits.
        python_version: version of the target's Python: "3.11.7".
        core: Pillow's C extension as installed, so that a replacement can be recognised.
        stack_version: Pillow's own version, from `PIL/_version.py`.
        features: features of `PIL.features`, name to version.
        jpeg: the libjpeg that the core loads; None if unknown.
        speed: the measured speed table; None if nothing was measured.
        previous: the distribution that the setup replaced, for messages ("pillow 13.0.0 (pip)"); empty if none.
        engine: the installer; "pip" also if fastinstall itself installed a wheel.
        conda: the installed conda packages; None for a wheel.
    """

    id: str
    created_at: str
    tool_version: str
    environment: Environment
    request: Request
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
