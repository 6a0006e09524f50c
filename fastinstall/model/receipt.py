"""The record of a finished setup, read by doctor and rollback."""

from fastinstall.core.values import immutable
from fastinstall.elf.description import LoadedLibrary
from fastinstall.model.conda import CondaInstaller, CondaStack
from fastinstall.model.facts import Environment
from fastinstall.model.request import LinkMode, Request
from fastinstall.model.speed import SpeedTable


@immutable
class BuiltCore:
    """The C extension of Pillow that we installed.

    Attributes:
        path: of its file, relative to site-packages.
        size: of its file, in bytes.
        mtime_ns: nanoseconds since the epoch.
        sha256: of its file, 64 hexadecimal digits.
        simd_symbols: the recipe's symbols that it defines.
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
        id: of its transaction (sortable by time).
        created_at: time of the setup, ISO 8601 in UTC ("2026-01-31T12:00:00Z").
        tool_version: of the fastinstall that did the setup.
        environment: what was set up: its prefix, manager and interpreter.
        request: the request, so that a repair requests the same.
        recipe: its name, as `--recipe` takes it.
        source_version: of the source distribution ("12.1.1.post0").
        distribution: name of the installed distribution.
        version: of that distribution, with the local label ("12.1.1+simd.v3").
        metadata: name of its `.dist-info` directory in site-packages.
        levels: CPU levels in the wheel, the baseline first.
        left_out: kernels that were left out, because they failed the proof.
        link: which native libraries the core uses.
        wheel: file name of the wheel.
        wheel_sha256: of that wheel, 64 hexadecimal digits.
        python_version: of the target, "3.11.7".
        core: Pillow's C extension as it was installed, to tell whether it was replaced.
        stack_version: Pillow's own version, from `PIL/_version.py`.
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
