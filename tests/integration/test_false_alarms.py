"""Healthy environments made by other tools: doctor reports no warning and no error, and describes them correctly.

Environments with our stack, and environments linked to a separate libjpeg, are tested elsewhere: they are the undamaged
cases in the catalogue of damage.
"""

import ctypes
import os
import subprocess
from pathlib import Path

import pytest
from support.environments.real import Environments, succeeds
from support.environments.verdicts import alarms, examined, messages
from support.machine.needs import require_system
from support.sandbox import tree_hash

from fastinstall.observe.toolchain import find_package_manager

pytest_plugins = ("support.environments.fixtures",)

BESIDE = ("simplejpeg", "torchvision")
"""Packages with a libjpeg of their own: one linked statically, one in a file with the soname of conda's."""

DEBIAN = Path("/usr/bin/python3")


@pytest.mark.parametrize("kind", ["stock", "conda"])
def test_a_healthy_environment_gives_no_alarm(environments: Environments, kind: str) -> None:
    prefix = environments.copy(kind).prefix
    assert alarms(examined(environments.sandbox, "--quick", "--prefix", prefix)) == {}
    findings = examined(environments.sandbox, "--prefix", prefix)
    assert alarms(findings) == {}
    (jpeg,) = messages(findings, "jpeg-library", "ok")
    assert "libjpeg-turbo 3." in jpeg
    (duplicates,) = messages(findings, "jpeg-duplicates", "ok")
    assert duplicates.startswith("one libjpeg")
    (operations,) = messages(findings, "operations", "ok")
    assert operations.startswith("all ")


def test_zlib_ng_claimed_but_not_loaded_is_named_without_alarm(environments: Environments) -> None:
    if _zlib_version().endswith(".zlib-ng"):
        pytest.skip("the zlib of this system is zlib-ng")
    findings = examined(environments.sandbox, "--prefix", environments.copy("stock").prefix)
    (told,) = messages(findings, "features", "hint")
    assert "PIL.features says zlib_ng" in told
    assert "but zlib 1." in told


def test_packages_bundling_their_own_libjpeg_raise_no_alarm(environments: Environments) -> None:
    venv = environments.copy("stock")
    succeeds(venv.uv("install", "--no-deps", *BESIDE))
    assert list(venv.site_packages.glob("torchvision.libs/libjpeg*"))
    findings = examined(environments.sandbox, "--prefix", venv.prefix)
    assert alarms(findings) == {}
    (duplicates,) = messages(findings, "jpeg-duplicates", "ok")
    assert duplicates.startswith("one libjpeg")


def test_the_pillow_of_debians_python_is_no_alarm_and_untouched(environments: Environments) -> None:
    packages = _pillow_of_debian()
    before = tree_hash(packages)
    findings = examined(environments.sandbox, "--python", DEBIAN)
    assert alarms(findings) == {}
    assert "operating system" in messages(findings, "environment", "hint")[0]
    (jpeg,) = messages(findings, "jpeg-library", "ok")
    assert "libjpeg-turbo" in jpeg
    assert tree_hash(packages) == before


def _zlib_version() -> str:
    """Return the version of the system's zlib, which this machine's environments load."""
    zlib = ctypes.CDLL("libz.so.1")
    zlib.zlibVersion.restype = ctypes.c_char_p
    version: bytes = zlib.zlibVersion()
    return version.decode()


def _pillow_of_debian() -> Path:
    """Return the directory of Debian's package python3-pil."""
    if find_package_manager(os.environ) != "apt":
        pytest.skip("no system with apt")
    require_system(_has_pillow(), "python3-pil")
    return Path("/usr/lib/python3/dist-packages/PIL")


def _has_pillow() -> bool:
    if not DEBIAN.exists():
        return False
    return subprocess.run((DEBIAN, "-c", "import PIL.Image"), capture_output=True, check=False).returncode == 0
