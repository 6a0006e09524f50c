"""Find what an installed torch was built for, from its files alone; it is not imported or run.

torch's build writes `torch/version.py`, with the versions of CUDA, ROCm and XPU, or None. It is parsed, never run. If
it is missing, the version's local label, the required `nvidia-cuda-runtime` and the build string of a conda package
serve instead.
"""

import ast
import re
import warnings
from collections.abc import Sequence
from pathlib import Path

from fastinstall.core import foreign
from fastinstall.model.conda import CondaPackage
from fastinstall.model.facts import Distribution, FrameworkBuild
from fastinstall.observe.stack import read_head

_LABEL = re.compile(r"\+(?:cu|cuda)(\d{2,3})(?![\d.])")
_RUNTIME = re.compile(rb"^Requires-Dist:\s*nvidia-cuda-runtime(?:-cu\d+)?\s*\(?==\s*(\d+\.\d+)", re.MULTILINE)
_BUILD = re.compile(r"cuda_?(\d+)(?:\.(\d+))?")
_LARGEST = 1 << 16


def observe_frameworks(
    site_packages: Path, distributions: Sequence[Distribution], packages: Sequence[CondaPackage] = ()
) -> tuple[FrameworkBuild, ...]:
    """Return what an installed torch was built for; empty if there is none.

    Args:
        distributions: everything that is installed there.
        packages: conda's, in a conda environment.
    """
    distribution = next((each for each in distributions if each.name == "torch"), None)
    path = site_packages / "torch/version.py"
    written = _read_assigned_constants(path)
    if "cuda" in written:
        words = {name: value for name, value in written.items() if value}
        own = FrameworkBuild(
            name="torch",
            version=words.get("__version__") or (distribution.version if distribution else ""),
            cuda=words.get("cuda"),
            rocm=words.get("rocm") or words.get("hip"),
            xpu=words.get("xpu"),
            source=path,
        )
        return (own,)
    of_conda = tuple(_describe_conda_build(each) for each in packages if each.name == "pytorch")
    if distribution is None:
        return of_conda
    metadata, version = site_packages / distribution.metadata, distribution.version
    label, runtime = _LABEL.search(version), _RUNTIME.search(read_head(metadata))
    cuda = _insert_dot(label[1]) if label else (runtime[1].decode() if runtime else None)
    if cuda is None and "+" not in version and of_conda:
        return of_conda
    known = cuda is not None or "+cpu" in version
    return (FrameworkBuild(name="torch", version=version, cuda=cuda, known=known, source=metadata / "METADATA"),)


def _describe_conda_build(package: CondaPackage) -> FrameworkBuild:
    """Parse the build string: "py3.11_cuda12.1_cudnn8.9.2_0", "cuda126_generic_py311_h1234567_200", "cpu_generic_"."""
    found = _BUILD.search(package.build)
    cuda = (f"{found[1]}.{found[2]}" if found[2] else _insert_dot(found[1])) if found else None
    known = cuda is not None or "cpu" in package.build
    return FrameworkBuild(name="torch", version=package.version, cuda=cuda, known=known)


def _read_assigned_constants(path: Path) -> dict[str, str | None]:
    """Return names that a module assigns texts or None to, at its top level; empty if it cannot be read or parsed."""
    try:
        with foreign.open_foreign_file(path) as stream, warnings.catch_warnings(action="ignore"):
            statements = ast.parse(stream.read(_LARGEST)).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, str | None] = {}
    for statement in statements:
        if isinstance(statement, ast.Assign | ast.AnnAssign) and isinstance(statement.value, ast.Constant):
            targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
            if isinstance(value := statement.value.value, str | None):
                found |= {target.id: value for target in targets if isinstance(target, ast.Name)}
    return found


def _insert_dot(digits: str) -> str:
    """Put the dot before the last digit: 126 is 12.6, 92 is 9.2, 120 is 12.0."""
    return f"{digits[:-1]}.{digits[-1]}"
