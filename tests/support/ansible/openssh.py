"""OpenSSH and iproute2 for tests: those of the system, else Debian's packages, unpacked and not installed.

Installing openssh-server would start a daemon on the machine of whoever runs the tests.
"""

import re
import subprocess
import time
from dataclasses import dataclass
from pathlib import Path

from support.machine.needs import require_system
from support.made_once import made_once

PACKAGES = ("openssh-client", "openssh-server", "iproute2")
_PAUSE = 5.0  # seconds
_PROGRAMS = ("ssh", "ssh-keygen", "sshd", "ip")
_DIRECTORIES = ("usr/local/sbin", "usr/local/bin", "usr/sbin", "usr/bin", "sbin", "bin")
_HELPERS = {"SshdSessionPath": "sshd-session", "SshdAuthPath": "sshd-auth"}
"""Programs that sshd starts by a path, by the option that says it; since OpenSSH 9.8 and 10.0."""


@dataclass(frozen=True, kw_only=True)
class OpenSsh:
    """Where the programs are.

    Attributes:
        root: what stands for "/" in the packages' paths.
    """

    root: Path

    def program(self, name: str) -> Path:
        """A program by its name."""
        return next(path for path in self._places(name) if path.is_file())

    @property
    def has_all(self) -> bool:
        """Whether all that the tests need is there."""
        return all(any(path.is_file() for path in self._places(name)) for name in _PROGRAMS)

    @property
    def variables(self) -> dict[str, str]:
        """What the programs need in their environment; empty for those of the system."""
        if self.root == Path("/"):
            return {}
        libraries = sorted({str(path.parent) for path in self.root.rglob("*.so.*")})
        return {"LD_LIBRARY_PATH": ":".join(libraries)}

    @property
    def server_options(self) -> list[str]:
        """Lines for sshd's configuration."""
        found = {option: self.root / "usr/lib/openssh" / name for option, name in _HELPERS.items()}
        return [f"{option} {path}" for option, path in found.items() if path.is_file()]

    def _places(self, name: str) -> list[Path]:
        return [self.root / directory / name for directory in _DIRECTORIES]


def open_ssh(cache: Path) -> OpenSsh:
    """OpenSSH and `ip`; the test is skipped where they are neither there nor to be had.

    Args:
        cache: of the tests; packages are unpacked there once.
    """
    system = OpenSsh(root=Path("/"))
    if system.has_all:
        return system
    try:
        root = made_once(cache / "testbed" / "openssh", _unpack)
    except (OSError, subprocess.CalledProcessError):
        root = cache / "testbed" / "no-openssh"  # no apt, or no network: another time it is tried again
    unpacked = OpenSsh(root=root)
    require_system(unpacked.has_all, " or ".join(PACKAGES))
    return unpacked


def _unpack(directory: Path) -> None:
    """Unpack the packages, those that the system has too, and of what they need all that it lacks."""
    try:
        _download(directory)
    except subprocess.CalledProcessError:
        time.sleep(_PAUSE)  # apt renews its lists, which may be read by another test at this moment
        _download(directory)
    for package in sorted(directory.glob("*.deb")):
        _text("dpkg-deb", "-x", str(package), str(directory), within=directory)
        package.unlink()


def _download(directory: Path) -> None:
    told = _text("apt-get", "install", "--simulate", "-y", "--no-install-recommends", *PACKAGES, within=directory)
    lacking = re.findall(r"^Inst (\S+)", told, re.MULTILINE)
    _text("apt-get", "download", *{*PACKAGES, *lacking}, within=directory)


def _text(*argv: str, within: Path) -> str:
    return subprocess.run(argv, cwd=within, capture_output=True, text=True, timeout=600, check=True).stdout
