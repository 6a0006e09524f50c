"""Real pip and uv on a guarded environment: one warning if they replace PIL, none if they do not."""

import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from support.environments.guarded import SIMD_CORE, STACK, WARNING, Guarded, make_environment, make_wheel, warnings

UV = Path(sys.executable).with_name("uv")

BACKEND = """
import shutil
import subprocess

def build_wheel(directory, config_settings=None, metadata_directory=None):
    name = "pillow-14.0.0-py3-none-any.whl"
    shutil.copy(name, directory)
    return name
"""

INTERRUPTED = """
import os, signal, sys

moments = [signal.SIGINT]

def hear(event, arguments):
    if event == "open" and str(arguments[0]).endswith("/PIL/file_7.py") and moments:
        os.kill(os.getpid(), moments.pop())

sys.addaudithook(hear)
"""
"""sitecustomize.py for a pip that is interrupted after it has written a part of PIL."""

PYPROJECT = """
[build-system]
requires = ["pillow==13.0.0"]
build-backend = "backend"
backend-path = ["."]
"""


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a directory of wheels: our build, and two stock versions."""
    directory = tmp_path_factory.mktemp("wheels")
    make_wheel(directory, "12.1.1+simd.v3", stack=STACK, core=SIMD_CORE)
    make_wheel(directory, "12.0.0")
    make_wheel(directory, "13.0.0")
    return directory


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path, wheels: Path) -> Guarded:
    """Return a guarded environment with our PIL and the newest pip; `real` has the interpreter's own pip instead."""
    guarded = make_environment(tmp_path_factory.mktemp("template"), Path(sys.executable), pip_of=shared_cache)
    newest = guarded.execute((UV, "pip", "install", "--quiet", "--python", guarded.python, "-U", "pip"))
    assert newest.returncode == 0, newest.stderr
    assert pip(guarded, wheels, "install", "pillow==12.1.1+simd.v3").returncode == 0
    guarded.guard()
    return guarded


@pytest.fixture
def guarded(template: Guarded, tmp_path: Path) -> Guarded:
    shutil.copytree(template.prefix, tmp_path / "env", symlinks=True)
    (tmp_path / "tmp").mkdir()
    return Guarded(prefix=tmp_path / "env", temporary=tmp_path / "tmp")


Completed = subprocess.CompletedProcess[str]


def pip(guarded: Guarded, wheels: Path, *arguments: str | Path, isolated: bool = False) -> Completed:
    flags = ("-I",) if isolated else ()
    return guarded.run(*flags, "-m", "pip", *arguments, **offline(wheels))


def offline(wheels: Path) -> dict[str, str]:
    return {"PIP_NO_INDEX": "1", "PIP_FIND_LINKS": str(wheels), "PIP_DISABLE_PIP_VERSION_CHECK": "1"}


@pytest.mark.parametrize("isolated", [False, True])
@pytest.mark.parametrize(
    ("arguments", "story"),
    [
        (("install", "--force-reinstall", "pillow==13.0.0"), "was replaced with Pillow 13.0.0 by pip"),
        (("install", "-U", "pillow"), "was replaced with Pillow 13.0.0 by pip"),
        (("install", "pillow==12.0.0"), "was replaced with Pillow 12.0.0 by pip"),
        (("uninstall", "-y", "pillow"), "was removed by pip"),
    ],
)
def test_a_pip_that_replaces_it_says_so_once(
    guarded: Guarded, wheels: Path, arguments: tuple[str, ...], story: str, *, isolated: bool
) -> None:
    result = pip(guarded, wheels, *arguments, isolated=isolated)
    assert result.returncode == 0
    assert warnings(result) == [f"{WARNING}{guarded.prefix} {story}"]
    assert result.stderr.splitlines()[-1] == f"hint: fastinstall doctor --fix --prefix {guarded.prefix}"


@pytest.mark.parametrize(
    ("arguments", "exit_code"),
    [
        (("list",), 0),
        (("check",), 0),
        (("--version",), 0),
        (("install", "pillow>=12"), 0),
        (("install", "--dry-run", "-U", "pillow"), 0),
        (("download", "--no-deps", "pillow==13.0.0"), 0),
        (("install", "-U", "pillow", "no-such-distribution"), 1),
    ],
)
def test_a_pip_that_keeps_it_is_silent(
    guarded: Guarded, wheels: Path, arguments: tuple[str, ...], exit_code: int
) -> None:
    result = pip(guarded, wheels, *arguments)
    assert result.returncode == exit_code
    assert warnings(result) == []


def test_the_script_of_pip_says_it_once(guarded: Guarded, template: Guarded, wheels: Path) -> None:
    script = guarded.prefix / "bin" / "pip"
    script.write_text(script.read_text().replace(str(template.prefix), str(guarded.prefix)))
    assert len(warnings(guarded.execute((script, "install", "-U", "pillow"), offline(wheels)))) == 1


def test_a_pip_that_hands_over_to_another_interpreter_warns_once(
    guarded: Guarded, template: Guarded, wheels: Path
) -> None:
    for caller in (guarded, template):
        assert pip(guarded, wheels, "install", "--force-reinstall", "pillow==12.1.1+simd.v3").returncode == 0
        result = pip(caller, wheels, "--python", guarded.python, "install", "-U", "pillow")
        assert result.returncode == 0
        assert len(warnings(result)) == 1


def test_a_build_with_pips_inside_says_it_once(guarded: Guarded, wheels: Path, tmp_path: Path) -> None:
    source = tmp_path / "source"
    source.mkdir()
    (source / "backend.py").write_text(BACKEND)
    (source / "pyproject.toml").write_text(PYPROJECT)
    make_wheel(source, "14.0.0")
    result = pip(guarded, wheels, "install", source)
    assert result.returncode == 0
    (warning,) = warnings(result)
    assert warning.startswith(f"{WARNING}{guarded.prefix} ")
    assert warning.endswith(" Pillow 14.0.0 by pip")


@pytest.mark.parametrize("ending", ["raise KeyboardInterrupt", "raise SystemExit(1)", "raise RuntimeError"])
def test_a_pip_that_ends_badly_after_the_swap_says_it_once(guarded: Guarded, wheels: Path, ending: str) -> None:
    code = f"from pip._internal.cli.main import main; main(['install', '-q', '-U', 'pillow']); {ending}"
    result = guarded.run("-c", code, **offline(wheels))
    assert result.returncode != 0
    assert len(warnings(result)) == 1


def test_a_pip_that_fails_after_the_swap_says_it_once(guarded: Guarded, wheels: Path, tmp_path: Path) -> None:
    broken = tmp_path / "zzz-1.0-py3-none-any.whl"
    metadata = "Metadata-Version: 2.1\nName: zzz\nVersion: 1.0\nRequires-Dist: pillow\n"
    with zipfile.ZipFile(broken, "w") as archive:  # no RECORD in this wheel: pip notices only after installing pillow
        archive.writestr("zzz-1.0.dist-info/METADATA", metadata)
        archive.writestr("zzz-1.0.dist-info/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
    result = pip(guarded, wheels, "install", "-U", "pillow", broken)
    assert result.returncode != 0
    (warning,) = warnings(result)
    assert warning.startswith(f"{WARNING}{guarded.prefix} ")
    assert warning.endswith(" Pillow 13.0.0 by pip")


def test_a_pip_that_is_interrupted_in_the_middle_says_it_once(guarded: Guarded, wheels: Path, tmp_path: Path) -> None:
    (tmp_path / "large").mkdir()
    wheel = make_wheel(tmp_path / "large", "15.0.0", more=100)
    (tmp_path / "sitecustomize.py").write_text(INTERRUPTED)
    result = guarded.run("-m", "pip", "install", wheel, **offline(wheels), PYTHONPATH=str(tmp_path))
    assert result.returncode != 0
    assert (guarded.site / "PIL" / "file_6.py").exists()
    assert not (guarded.site / "PIL" / "file_99.py").exists()
    assert result.stderr.count("fastinstall: ") == 1, result.stderr
    assert result.stderr.splitlines()[-1] == f"hint: fastinstall doctor --fix --prefix {guarded.prefix}"


def test_a_later_pip_does_not_repeat_it_and_an_import_does(guarded: Guarded, wheels: Path) -> None:
    pip(guarded, wheels, "install", "-U", "pillow")
    assert warnings(pip(guarded, wheels, "list")) == []
    assert len(warnings(guarded.run("-c", "import PIL"))) == 1


def test_a_pip_that_restores_ours_and_the_next_import_are_silent(guarded: Guarded, wheels: Path) -> None:
    pip(guarded, wheels, "install", "-U", "pillow")
    assert warnings(pip(guarded, wheels, "install", "pillow==12.1.1+simd.v3")) == []
    assert guarded.run("-c", "import PIL").stderr == ""


def test_a_pip_keeps_the_guard(guarded: Guarded, wheels: Path) -> None:
    before = {file: file.read_bytes() for file in guarded.site.glob("*fastinstall_guard*/**/*") if file.is_file()}
    pip(guarded, wheels, "uninstall", "-y", "pillow")
    assert {file: file.read_bytes() for file in before} == before


@pytest.mark.skipif(not UV.exists(), reason="uv is not installed beside the Python that runs the tests")
@pytest.mark.parametrize("option", ["--upgrade", "--reinstall"])
def test_a_swap_by_uv_is_told_at_the_next_import(guarded: Guarded, wheels: Path, option: str) -> None:
    uv = (UV, "pip", "install", "--python", guarded.python, "--no-index", "--find-links", wheels)
    cache = {"UV_CACHE_DIR": str(guarded.temporary / "uv-cache")}
    result = guarded.execute((*uv, option, "pillow==13.0.0"), cache)
    assert (result.returncode, warnings(result)) == (0, [])
    (warning,) = warnings(guarded.run("-c", "import PIL"))
    assert warning.startswith(f"{WARNING}{guarded.prefix} ")
    assert " Pillow 13.0.0 by uv, " in warning


@pytest.fixture(scope="module")
def real(tmp_path_factory: pytest.TempPathFactory, shared_cache: Path) -> Guarded:
    """Return a guarded environment with a real, older Pillow from the index."""
    guarded = make_environment(tmp_path_factory.mktemp("real"), Path(sys.executable), pip_of=shared_cache)
    result = guarded.run("-m", "pip", "install", "--only-binary", ":all:", "pillow==12.1.1")
    assert result.returncode == 0, result.stderr
    (core,) = (guarded.site / "PIL").glob("_imaging.*.so")
    guarded.guard(core=os.fspath(core.relative_to(guarded.site)), stack="12.1.1")
    return guarded


def test_a_real_pillow_is_told_from_the_one_put_there(real: Guarded) -> None:
    code = "import PIL.Image; print(PIL.__version__)"
    healthy = real.run("-c", code)
    assert (healthy.stdout, healthy.stderr) == ("12.1.1\n", "")
    install = ("-m", "pip", "install", "--only-binary", ":all:", "--force-reinstall", "pillow>12.1.1")
    assert len(warnings(real.run(*install))) == 1
    swapped = real.run("-c", code)
    (warning,) = warnings(swapped)
    assert f" was replaced with Pillow {swapped.stdout.strip()} by pip, " in warning


@pytest.mark.skipif(not UV.exists(), reason="uv is not installed beside the Python that runs the tests")
def test_a_real_upgrade_by_uv_is_told_at_the_next_import(real: Guarded) -> None:
    cache = {"UV_CACHE_DIR": str(real.temporary / "uv-cache")}
    uv = (UV, "pip", "install", "--python", real.python)
    assert real.execute((*uv, "pillow==12.1.1"), cache).returncode == 0
    assert real.run("-c", "import PIL.Image").stderr == ""
    assert real.execute((*uv, "-U", "pillow"), cache).returncode == 0
    swapped = real.run("-c", "import PIL.Image; print(PIL.__version__)")
    (warning,) = warnings(swapped)
    assert f" was replaced with Pillow {swapped.stdout.strip()} by uv, " in warning
