"""Certify: what auditwheel says of the oldest system that a wheel runs on, and the platform tags that follow."""

import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from fastinstall.build.chassis import Chassis
from fastinstall.build.reach import reached_libraries
from fastinstall.build.wheel import metadata_directory, pack_wheel, tags_of
from fastinstall.errors import FailedError
from fastinstall.system.process import run

_SECONDS = 120.0
_VERDICT = re.compile(r'following\s+platform\s+tag:\s+"([^"]+)"')
_MANYLINUX = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)")


def auditwheel(*words: str) -> tuple[str, ...]:
    """The words that run the tool's own auditwheel."""
    return (sys.executable, "-P", "-m", "auditwheel", *words)


def certified_platform(wheel: Path, variables: Mapping[str, str]) -> str:
    """The platform tag that auditwheel finds a wheel consistent with ("linux_x86_64" if no other).

    The CPU level is left out of it: tags cannot express one, and the loader's note does.

    Raises:
        FailedError: it gives no verdict.
    """
    argv = auditwheel("show", "--disable-isa-ext-check", str(wheel))
    output = run(argv, environment=variables, timeout=_SECONDS).stdout
    match = _VERDICT.search(output)
    if match is None:
        raise FailedError(f"auditwheel gives no verdict on {wheel.name}", details=tuple(output.splitlines()))
    return match[1]


def certified_chassis(chassis: Chassis, variables: Mapping[str, str], directory: Path) -> tuple[str, ...]:
    """Platform tags for a chassis whose core was replaced.

    Only the core and the libraries that it reaches are looked at: everything else is what upstream
    certified. Where the core is no worse than that, the official tags stay.
    """
    stem = metadata_directory(chassis.root).name.removesuffix(".dist-info")
    excerpt = directory / "excerpt"
    _copy_core(chassis, excerpt)
    tags = tags_of(chassis.root)
    wheel = directory / f"{stem}-{tags.python}-{tags.abi}-{'.'.join(tags.platforms)}.whl"
    pack_wheel(excerpt, wheel, compress=False)
    return platforms(certified_platform(wheel, variables), chassis.platforms)


def platforms(certified: str, official: tuple[str, ...]) -> tuple[str, ...]:
    """The official tags where the certified one promises at least as much, else the certified one alone."""
    limits = [_libc(tag) for tag in official]
    own = _libc(certified)
    if own is not None and all(limit is not None and limit[0] == own[0] and own[1] <= limit[1] for limit in limits):
        return official
    return (certified,)


def _libc(tag: str) -> tuple[str, tuple[int, int]] | None:
    match = _MANYLINUX.fullmatch(tag)
    return (f"{match[1]} {match[4]}", (int(match[2]), int(match[3]))) if match else None


def _copy_core(chassis: Chassis, target: Path) -> None:
    metadata = metadata_directory(chassis.root)
    libraries = reached_libraries((chassis.core,), chassis.libraries).values()
    levels = chassis.libraries.glob("glibc-hwcaps/*/*") if chassis.libraries is not None else ()
    wanted = [chassis.core, *libraries, *levels, metadata / "WHEEL", metadata / "METADATA"]
    for path in wanted:
        copy = target / path.relative_to(chassis.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
