"""What frameworks in site-packages were built for, from their own files; nothing of them is imported or executed.

- torch writes `torch/version.py` when it is built, with the versions of CUDA, ROCm and XPU, or None. It is parsed,
  never run. If it is missing, the local label of the version, the required `nvidia-cuda-runtime` and the build string
  of a conda package serve instead.
- tensorflow writes `tensorflow/python/platform/build_info.py`, with the compute capabilities that it has code for.
- jax has its CUDA part in a distribution of its own, `jax-cuda12-plugin`.
- torchvision's metadata names the one torch that it was built against.
"""

import ast
import re
import warnings
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fastinstall.core import foreign
from fastinstall.model.machine import FrameworkBuild
from fastinstall.observe.stack import read_head

if TYPE_CHECKING:
    from fastinstall.model.conda import CondaPackage
    from fastinstall.model.facts import Distribution

_LABEL = re.compile(r"\+(?:cu|cuda)(\d{2,3})(?![\d.])")
_RUNTIME = re.compile(rb"^Requires-Dist:\s*nvidia-cuda-runtime(?:-cu\d+)?\s*\(?==\s*(\d+\.\d+)", re.MULTILINE)
_TORCH = re.compile(rb"^Requires-Dist:\s*torch\s*\(?==\s*([\d.]+)", re.MULTILINE)
_BUILD = re.compile(r"cuda_?(\d+)(?:\.(\d+))?")
_LARGEST = 1 << 16


def observe_frameworks(
    site_packages: Path, distributions: "Sequence[Distribution]", packages: "Sequence[CondaPackage]" = ()
) -> tuple[FrameworkBuild, ...]:
    """What torch, torchvision, tensorflow and jax were built for, of those that are installed.

    Args:
        site_packages: of the environment.
        distributions: everything installed there.
        packages: those of conda, where the environment is conda's.
    """
    installed = {distribution.name: distribution for distribution in distributions}
    found = (
        _observe_torch(site_packages, installed.get("torch"), packages),
        _observe_torchvision(site_packages, installed.get("torchvision")),
        _observe_tensorflow(site_packages, installed),
        _observe_jax(installed),
    )
    return tuple(build for build in found if build is not None)


def _observe_torch(
    site_packages: Path, distribution: "Distribution | None", packages: "Sequence[CondaPackage]"
) -> FrameworkBuild | None:
    path = site_packages / "torch/version.py"
    written = _read_assigned_constants(path)
    words = {name: value for name, value in written.items() if isinstance(value, str) and value}
    if "cuda" in written:
        return FrameworkBuild(
            name="torch",
            version=words.get("__version__") or (distribution.version if distribution else ""),
            cuda=words.get("cuda"),
            rocm=words.get("rocm") or words.get("hip"),
            xpu=words.get("xpu"),
            source=path,
        )
    of_conda = _observe_torch_of_conda(packages)
    if distribution is None:
        return of_conda
    metadata, version = site_packages / distribution.metadata, distribution.version
    runtime = _RUNTIME.search(read_head(metadata))
    cuda = _read_label(version) or (runtime[1].decode() if runtime else None)
    if cuda is None and "+" not in version and of_conda is not None:
        return of_conda
    known = cuda is not None or "+cpu" in version
    return FrameworkBuild(name="torch", version=version, cuda=cuda, known=known, source=metadata / "METADATA")


def _observe_torch_of_conda(packages: "Sequence[CondaPackage]") -> FrameworkBuild | None:
    """By the build string: "py3.11_cuda12.1_cudnn8.9.2_0", "cuda126_generic_py311_h1234567_200", "cpu_generic_..."."""
    for package in packages:
        if package.name == "pytorch":
            found = _BUILD.search(package.build)
            cuda = (f"{found[1]}.{found[2]}" if found[2] else _insert_dot(found[1])) if found else None
            known = cuda is not None or "cpu" in package.build
            return FrameworkBuild(name="torch", version=package.version, cuda=cuda, known=known)
    return None


def _observe_torchvision(site_packages: Path, distribution: "Distribution | None") -> FrameworkBuild | None:
    if distribution is None:
        return None
    metadata = site_packages / distribution.metadata
    wanted, cuda = _TORCH.search(read_head(metadata)), _read_label(distribution.version)
    return FrameworkBuild(
        name="torchvision",
        version=distribution.version,
        cuda=cuda,
        known=cuda is not None or "+cpu" in distribution.version,
        wants_torch=wanted[1].decode().rstrip(".") if wanted else "",
        source=metadata / "METADATA",
    )


def _observe_tensorflow(site_packages: Path, installed: "dict[str, Distribution]") -> FrameworkBuild | None:
    names = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly")
    distribution = next((installed[name] for name in names if name in installed), None)
    if distribution is None:
        return None
    path = site_packages / "tensorflow/python/platform/build_info.py"
    written = _read_assigned_constants(path).get("build_info")
    told = written if isinstance(written, dict) else {}
    cuda = str(told.get("cuda_version") or "") if told.get("is_cuda_build") else ""
    listed = told.get("cuda_compute_capabilities") if cuda else None
    architectures = [_parse_architecture(str(word)) for word in (listed if isinstance(listed, list) else ())]
    return FrameworkBuild(
        name=distribution.name,
        version=distribution.version,
        cuda=".".join(cuda.split(".")[:2]) or None,
        known=bool(told),
        architectures=tuple(filter(None, architectures)),
        source=path,
    )


def _parse_architecture(word: str) -> str:
    """A capability of tensorflow's list: "sm_86" has code for it, "compute_90" has PTX for it and later ones."""
    found = re.fullmatch(r"(sm|compute)_(\d+)", word)
    return f"{_insert_dot(found[2])}{'+PTX' if found[1] == 'compute' else ''}" if found else ""


def _observe_jax(installed: "dict[str, Distribution]") -> FrameworkBuild | None:
    library = installed.get("jaxlib")
    if library is None:
        return None
    names = (f"+{library.version.partition('+')[2]}", *installed)
    found = (re.match(r"(?:\+cuda(?=\d)|jax-cuda(?=\d+-(?:plugin|pjrt)$))(\d+)", name) for name in names)
    cuda = next((match[1] for match in found if match), None)
    return FrameworkBuild(name="jax", version=library.version, cuda=cuda)


def _read_assigned_constants(path: Path) -> dict[str, object]:
    """Names that a module assigns literals to, at its top level; empty if it cannot be read or parsed.

    A call with one literal, as `OrderedDict([...])`, counts as that literal; a list of pairs is given as a dictionary.
    """
    try:
        with foreign.open_foreign_file(path) as stream, warnings.catch_warnings(action="ignore"):
            statements = ast.parse(stream.read(_LARGEST)).body
    except (OSError, SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    found: dict[str, object] = {}
    for statement in statements:
        if not isinstance(statement, ast.Assign | ast.AnnAssign):
            continue
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        value = statement.value
        if isinstance(value, ast.Call) and len(value.args) == 1:
            value = value.args[0]
        with suppress(ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
            literal = ast.literal_eval(value) if value is not None else None
            if isinstance(literal, list) and literal:
                with suppress(TypeError, ValueError):  # these are no pairs
                    literal = dict(literal)
            found |= {target.id: literal for target in targets if isinstance(target, ast.Name)}
    return found


def _read_label(version: str) -> str | None:
    label = _LABEL.search(version)
    return _insert_dot(label[1]) if label else None


def _insert_dot(digits: str) -> str:
    """Put the dot in front of the last digit: 126 is 12.6, 92 is 9.2, 120 is 12.0."""
    return f"{digits[:-1]}.{digits[-1]}"
