"""A Debian root for aarch64, unpacked from packages and not configured; qemu-user runs its programs without chroot.

apt's state is in a directory of its own, so that this machine's list of architectures is not changed.
"""

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

from support.machine.debian_mirror import NoMirrorError, find_debian_mirror
from support.machine.needs import require_system
from support.made_once import key_of, made_once

from fastinstall.core.architecture import AARCH64

EMULATOR = shutil.which("qemu-aarch64") or ""
_DEBIAN_NAME = "arm64"
_TIMEOUT = 300


def arm_root(cache: Path, suite: str, packages: Sequence[str]) -> Path:
    """Return the root with packages of a Debian release and their dependencies; they are unpacked once.

    The test is skipped if that is impossible.

    Args:
        cache: cache of the tests.
        suite: name of the release: "bookworm".
        packages: names of packages.
    """
    require_system(EMULATOR, "qemu-aarch64")
    place = cache / "testbed" / f"{suite}-{_DEBIAN_NAME}-{key_of(*packages)}"
    try:
        return made_once(place, lambda directory: _unpack(directory, suite, packages))
    except (NoMirrorError, OSError, subprocess.SubprocessError) as error:
        require_system(None, f"an archive of Debian with packages for {_DEBIAN_NAME} ({error})")
        raise


def emulate(root: Path, program: Path | str, *, model: str = "max") -> tuple[str | Path, ...]:
    """Return a command that runs a program for aarch64 with the loader and libraries of a root.

    Args:
        root: a directory that the program sees as "/"; if a file is missing there, the program sees this machine's.
        program: its path on this machine.
        model: qemu's name of the CPU.
    """
    return EMULATOR, "-cpu", model, "-L", root, program


def loader_of(root: Path) -> Path:
    """Return the loader's path on this machine."""
    return root / AARCH64.loader.lstrip("/")


def _unpack(root: Path, suite: str, packages: Sequence[str]) -> None:
    state = root.with_name(f"{root.name}-apt")
    shutil.rmtree(state, ignore_errors=True)
    for name in ("lists/partial", "cache/archives/partial"):
        (state / name).mkdir(parents=True)
    (state / "sources.list").write_text(f"deb [arch={_DEBIAN_NAME}] {find_debian_mirror()} {suite} main\n")
    (state / "status").touch()
    settings = {
        "Dir::Etc::sourcelist": state / "sources.list",
        "Dir::Etc::sourceparts": "/dev/null",
        "Dir::State::lists": state / "lists",
        "Dir::State::status": state / "status",
        "Dir::Cache": state / "cache",
        "APT::Architecture": _DEBIAN_NAME,
        "APT::Architectures": _DEBIAN_NAME,
        "APT::Install-Recommends": "false",
        "APT::Sandbox::User": "root",
        "Acquire::Languages": "none",
        "Debug::NoLocking": "true",
    }
    apt = ("apt-get", *(word for name, value in settings.items() for word in ("-o", f"{name}={value}")))
    _run(*apt, "update")
    _run(*apt, "install", "-y", "--download-only", *packages)
    # The directories and links that the package base-files has.
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        if name != "lib64":
            (root / name).symlink_to(f"usr/{name}")
    for package in sorted((state / "cache" / "archives").glob("*.deb")):
        with subprocess.Popen(("dpkg-deb", "--fsys-tarfile", package), stdout=subprocess.PIPE) as content:
            unpack = ("tar", "-C", root, "-x", "--keep-directory-symlink", "--no-same-owner")
            subprocess.run(unpack, stdin=content.stdout, check=True, timeout=_TIMEOUT)
        if content.returncode != 0:
            raise subprocess.CalledProcessError(content.returncode, "dpkg-deb")
    shutil.rmtree(state)


def _run(*argv: str | Path) -> None:
    subprocess.run(argv, capture_output=True, text=True, timeout=_TIMEOUT, check=True)
