"""What torch was built for, from files like those in public wheels. Nothing is imported."""

from pathlib import Path

import pytest

from fastinstall.model.conda import CondaPackage
from fastinstall.model.facts import Distribution
from fastinstall.model.machine import FrameworkBuild
from fastinstall.observe.stack import observe_frameworks

LATER = "from typing import Optional\n\n__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'xpu']\n"


def written(
    version: str, cuda: str | None, *, hip: str | None = None, rest: str = "xpu: Optional[str] = None\n"
) -> str:
    """Return the text of torch/version.py, in the form that torch 2.6 and later have."""
    head = f"{LATER}__version__ = {version!r}\ndebug = False\ncuda: Optional[str] = {cuda!r}\n"
    return f"{head}git_version = '{'0' * 40}'\nhip: Optional[str] = {hip!r}\n{rest}"


def distribution(name: str, version: str) -> Distribution:
    return Distribution(name=name, version=version, metadata=f"{name.replace('-', '_')}-{version}.dist-info")


def put(site_packages: Path, name: str, text: str) -> None:
    path = site_packages / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")


def observed(
    site_packages: Path, *installed: tuple[str, str], packages: tuple[CondaPackage, ...] = ()
) -> FrameworkBuild:
    (build,) = observe_frameworks(site_packages, [distribution(*each) for each in installed], packages)
    return build


@pytest.mark.parametrize(
    ("version", "cuda"),
    [("2.2.1+cu121", "12.1"), ("2.4.0+cu118", "11.8"), ("2.7.1+cu126", "12.6"), ("2.8.0+cu128", "12.8")],
)
def test_torch_says_itself_what_it_was_built_for(version: str, cuda: str, tmp_path: Path) -> None:
    put(tmp_path, "torch/version.py", written(version, cuda))
    build = observed(tmp_path, ("torch", version.partition("+")[0]))
    assert (build.name, build.version, build.cuda, build.known) == ("torch", version, cuda, True)
    assert build.source == tmp_path / "torch/version.py"


@pytest.mark.parametrize("version", ["2.6.0+cpu", "2.13.0+cpu", "2.9.1"])
def test_a_build_for_the_cpu_has_no_cuda(version: str, tmp_path: Path) -> None:
    put(tmp_path, "torch/version.py", written(version, None))
    build = observed(tmp_path, ("torch", version))
    assert (build.cuda, build.rocm, build.known) == (None, None, True)


def test_the_form_of_early_releases_is_read_too(tmp_path: Path) -> None:
    text = "__version__ = '1.4.0'\ndebug = False\ncuda = '10.1'\ngit_version = '0'\n"
    put(tmp_path, "torch/version.py", text)
    assert observed(tmp_path, ("torch", "1.4.0")).cuda == "10.1"


def test_a_build_for_amd_or_intel_is_told(tmp_path: Path) -> None:
    put(tmp_path, "torch/version.py", written("2.9.1+rocm6.4", None, hip="6.4.43484"))
    assert observed(tmp_path, ("torch", "2.9.1+rocm6.4")).rocm == "6.4.43484"
    put(tmp_path, "torch/version.py", written("2.9.1+xpu", None, rest="xpu: Optional[str] = '20250301'\n"))
    assert observed(tmp_path, ("torch", "2.9.1+xpu")).xpu == "20250301"


@pytest.mark.parametrize("text", ["cuda = (", "\0", "import os\nos.abort()\ncuda = os.environ['X']\n", "(" * 5000])
def test_an_invalid_version_file_is_not_run_and_decides_nothing(text: str, tmp_path: Path) -> None:
    put(tmp_path, "torch/version.py", text)
    build = observed(tmp_path, ("torch", "2.9.1"))
    assert (build.cuda, build.known) == (None, False)


def test_without_a_version_file_the_label_or_runtime_decides(tmp_path: Path) -> None:
    assert observed(tmp_path, ("torch", "2.5.1+cu124")).cuda == "12.4"
    assert observed(tmp_path, ("torch", "1.7.1+cu92")).cuda == "9.2"
    head = "Metadata-Version: 2.1\nName: torch\nVersion: 2.8.0\n"
    needed = 'Requires-Dist: nvidia-cuda-runtime-cu12==12.8.90; platform_system == "Linux"\n'
    put(tmp_path, "torch-2.8.0.dist-info/METADATA", f"{head}{needed}\ntext")
    assert observed(tmp_path, ("torch", "2.8.0")).cuda == "12.8"


@pytest.mark.parametrize(
    ("build", "cuda", "known"),
    [
        ("py3.11_cuda12.1_cudnn8.9.2_0", "12.1", True),
        ("cuda126_generic_py311_h1234567_200", "12.6", True),
        ("cpu_generic_py311_h7654321_0", None, True),
        ("py311h1234567_0", None, False),
    ],
)
def test_a_package_of_condas_tells_by_its_build_string(build: str, cuda: str, known: object, tmp_path: Path) -> None:
    package = CondaPackage(name="pytorch", version="2.5.1", build=build)
    told = observed(tmp_path, packages=(package,))
    assert (told.version, told.cuda, told.known) == ("2.5.1", cuda, known)


def test_without_frameworks_nothing_is_told(tmp_path: Path) -> None:
    assert observe_frameworks(tmp_path, [distribution("numpy", "2.3.5")]) == ()
