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
from collections.abc import Iterator, Sequence
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
    if "cuda" in written:
        return FrameworkBuild(
            name="torch",
            version=_get_word(written.get("__version__")) or (distribution.version if distribution else ""),
            cuda=_get_word(written.get("cuda")),
            rocm=_get_word(written.get("rocm")) or _get_word(written.get("hip")),
            xpu=_get_word(written.get("xpu")),
            source=path,
        )
    if distribution is not None:
        return _observe_torch_by_metadata(site_packages / distribution.metadata, distribution.version, packages)
    return _observe_torch_of_conda(packages)


def _observe_torch_by_metadata(metadata: Path, version: str, packages: "Sequence[CondaPackage]") -> FrameworkBuild:
    label, runtime = _LABEL.search(version), _RUNTIME.search(read_head(metadata))
    cuda = _insert_dot(label[1]) if label else runtime[1].decode() if runtime else None
    if cuda is None and "+" not in version and (of_conda := _observe_torch_of_conda(packages)) is not None:
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
    wanted, label = _TORCH.search(read_head(metadata)), _LABEL.search(distribution.version)
    return FrameworkBuild(
        name="torchvision",
        version=distribution.version,
        cuda=_insert_dot(label[1]) if label else None,
        known=bool(label) or "+cpu" in distribution.version,
        wants_torch=wanted[1].decode().rstrip(".") if wanted else "",
        source=metadata / "METADATA",
    )


def _observe_tensorflow(site_packages: Path, installed: "dict[str, Distribution]") -> FrameworkBuild | None:
    names = ("tensorflow", "tensorflow-cpu", "tensorflow-gpu", "tf-nightly")
    distribution = next((installed[name] for name in names if name in installed), None)
    if distribution is None:
        return None
    path = site_packages / "tensorflow/python/platform/build_info.py"
    told = _read_assigned_constants(path).get("build_info")
    written = told if isinstance(told, dict) else {}
    cuda = _get_word(written.get("cuda_version")) if written.get("is_cuda_build") else None
    return FrameworkBuild(
        name=distribution.name,
        version=distribution.version,
        cuda=".".join(cuda.split(".")[:2]) if cuda else None,
        known=bool(written),
        architectures=tuple(_parse_architectures(written.get("cuda_compute_capabilities"))) if cuda else (),
        source=path,
    )


def _parse_architectures(listed: object) -> Iterator[str]:
    """Capabilities of tensorflow's list: "sm_86" has code for it, "compute_90" has PTX for it and later ones."""
    for word in listed if isinstance(listed, list) else ():
        kind, _, digits = str(word).partition("_")
        if digits.isdigit() and kind in ("sm", "compute"):
            yield f"{_insert_dot(digits)}{'+PTX' if kind == 'compute' else ''}"


def _observe_jax(installed: "dict[str, Distribution]") -> FrameworkBuild | None:
    library = installed.get("jaxlib")
    if library is None:
        return None
    label = re.search(r"\+cuda(\d+)", library.version)
    plugins = (name for name in installed if re.fullmatch(r"jax-cuda\d+-(?:plugin|pjrt)", name))
    plugin = next(plugins, "")
    cuda = label[1] if label else plugin.removeprefix("jax-cuda").partition("-")[0] or None
    return FrameworkBuild(name="jax", version=library.version, cuda=cuda)


def _read_assigned_constants(path: Path) -> dict[str, object]:
    """Names that a module assigns constants to, at its top level; empty if it cannot be read or parsed."""
    try:
        with foreign.open_foreign_file(path) as stream:
            content = stream.read(_LARGEST)
    except OSError:
        return {}

    return parse_assigned_constants(content)


def _get_word(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _insert_dot(digits: str) -> str:
    """Put the dot in front of the last digit: 126 is 12.6, 92 is 9.2, 120 is 12.0."""
    return f"{digits[:-1]}.{digits[-1]}"


def parse_assigned_constants(content: bytes) -> dict[str, object]:
    """Names that are assigned literals at the top level; empty if it is no Python.

    A call with one literal, as `OrderedDict([...])`, counts as that literal; a list of pairs is given as a dictionary.
    """
    try:
        with warnings.catch_warnings(action="ignore"):
            statements = ast.parse(content).body
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return {}
    return dict(pair for statement in statements for pair in _list_assignments(statement))


def _list_assignments(statement: ast.stmt) -> Iterator[tuple[str, object]]:
    if isinstance(statement, ast.Assign):
        targets: list[ast.expr] = statement.targets
    elif isinstance(statement, ast.AnnAssign):
        targets = [statement.target]
    else:
        return
    value = statement.value
    if isinstance(value, ast.Call) and len(value.args) == 1:
        value = value.args[0]
    try:
        literal = ast.literal_eval(value) if value is not None else None
    except (ValueError, TypeError, SyntaxError, RecursionError, MemoryError):
        return
    yield from ((target.id, _convert_pairs(literal)) for target in targets if isinstance(target, ast.Name))


def _convert_pairs(literal: object) -> object:
    """Pairs as a dictionary; anything else as it is."""
    if isinstance(literal, list) and literal and all(_is_pair(item) for item in literal):
        return dict(literal)
    return literal


def _is_pair(item: object) -> bool:
    return isinstance(item, tuple) and len(item) == 2 and isinstance(item[0], str)  # noqa: PLR2004 (a pair)
