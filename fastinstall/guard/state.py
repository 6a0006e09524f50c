"""The guard's `state` file: what PIL looked like when we put it in place, in lines that a start-up hook can split.

Paths are relative to site-packages, so that an environment may be moved or copied with its guard.
"""

from pathlib import Path

from fastinstall.model.immutable import immutable
from fastinstall.model.receipt import BuiltCore

STATE_FORMAT = "1"
VERSION_FILE = "PIL/_version.py"
PREFIX = "../../.."
"""Of an environment, seen from its `lib/pythonX.Y/site-packages`."""

_HEADER = """\
# Put here by fastinstall: PIL as it was installed, compared by the guard at each start of Python.
# Remove with: fastinstall guard remove --prefix PREFIX
"""


@immutable
class GuardTarget:
    """What the guard watches.

    Attributes:
        core: the imaging core, relative to site-packages.
        core_size: in bytes.
        core_mtime_ns: nanoseconds since the epoch.
        core_sha256: hexadecimal.
        version_size: of `PIL/_version.py`, in bytes.
        version_mtime_ns: of `PIL/_version.py`.
        stack_version: what `PIL/_version.py` says.
        simd: whether the core has SIMD kernels; decides what the warning calls it.
        prefix: of the environment, relative to site-packages.
    """

    core: str
    core_size: int
    core_mtime_ns: int
    core_sha256: str
    version_size: int
    version_mtime_ns: int
    stack_version: str
    simd: bool
    prefix: str = PREFIX


def guard_target(tree: Path, core: BuiltCore, stack_version: str) -> GuardTarget:
    """Describe the PIL in `tree` (site-packages, or a stage that will be renamed into it).

    Raises:
        OSError: `PIL/_version.py` is not there.
    """
    version = (tree / VERSION_FILE).stat()
    return GuardTarget(
        core=core.path,
        core_size=core.size,
        core_mtime_ns=core.mtime_ns,
        core_sha256=core.sha256,
        version_size=version.st_size,
        version_mtime_ns=version.st_mtime_ns,
        stack_version=stack_version,
        simd=bool(core.simd_symbols),
    )


def render_state(target: GuardTarget) -> str:
    """The text of the `state` file."""
    kind = "simd" if target.simd else "plain"
    return (
        f"{_HEADER}{STATE_FORMAT}\n"
        f"core {target.core} {target.core_size} {target.core_mtime_ns} {target.core_sha256}\n"
        f"version {VERSION_FILE} {target.version_size} {target.version_mtime_ns}\n"
        f"stack {target.stack_version} {kind}\n"
        f"prefix {target.prefix}\n"
    )


def parse_state(text: str) -> GuardTarget | None:
    """Parse a `state` file, or return None if this version of the guard does not understand it."""
    lines = [line.split() for line in text.splitlines() if not line.startswith("#")]
    try:
        (number,), core, version, stack, prefix = lines
        target = GuardTarget(
            core=core[1],
            core_size=int(core[2]),
            core_mtime_ns=int(core[3]),
            core_sha256=core[4],
            version_size=int(version[2]),
            version_mtime_ns=int(version[3]),
            stack_version=stack[1],
            simd=stack[2] == "simd",
            prefix=prefix[1],
        )
    except (ValueError, IndexError):
        return None
    return target if number == STATE_FORMAT else None
