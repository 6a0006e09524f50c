"""fastinstall and an environment with official Pillow on aarch64, under qemu, without changes to the machine.

A binfmt_misc handler runs the programs and their child processes. It exists only in a user namespace (since Linux 6.7),
and disappears with that namespace.
"""

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from support.machine.arm_root import EMULATOR, arm_root, emulate
from support.machine.needs import require_system
from support.made_once import key_of, made_once

from fastinstall.core.architecture import AARCH64

REPOSITORY = Path(__file__).resolve().parents[3]
LOCKED = REPOSITORY / "requirements" / "tool.txt"
SUITE, VERSION = "bookworm", "3.11"
PACKAGES = ("libc6", "libc-bin", f"python{VERSION}", f"libpython{VERSION}", "ca-certificates", "zlib1g", "libstdc++6")
_MAGIC = r"\x7fELF\x02\x01\x01" + r"\x00" * 9 + r"\x02\x00\xb7\x00"
_MASK = r"\xff" * 7 + r"\x00" + r"\xff" * 8 + r"\xfe\xff\xff\xff"
_IN_NAMESPACE = """
mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
printf '%s' "$1" > /proc/sys/fs/binfmt_misc/register
shift
exec "$@"
"""


@dataclass(frozen=True, kw_only=True)
class ArmPython:
    """A Python for aarch64.

    Attributes:
        root: root directory of its Debian.
        libraries: directory with the installed dependencies of fastinstall.
    """

    root: Path
    libraries: Path

    @property
    def program(self) -> Path:
        return self.root / "usr" / "bin" / f"python{VERSION}"

    def run(
        self,
        *words: str | Path,
        python: Path | None = None,
        timeout: float = 900,
        changes: Mapping[str, str] | None = None,
    ) -> "subprocess.CompletedProcess[str]":
        """Run this Python, or an environment's interpreter; both can import fastinstall from the checkout.

        Args:
            words: the arguments.
            python: the interpreter of an environment for aarch64; None for the root's own.
            timeout: in seconds.
            changes: variables, added to those of this process.
        """
        rule = f":arm:M::{_MAGIC}:{_MASK}:{EMULATOR}:"
        inside = ("unshare", "-Urm", "--map-root-user", "sh", "-ec", _IN_NAMESPACE, "sh", rule)
        variables = {
            **os.environ,
            "QEMU_LD_PREFIX": str(self.root),
            "PYTHONPATH": f"{REPOSITORY}{os.pathsep}{self.libraries}",
            "PYTHONDONTWRITEBYTECODE": "1",
            **(changes or {}),
        }
        argv = (*inside, python or self.program, *words)
        return subprocess.run(argv, env=variables, capture_output=True, text=True, timeout=timeout, check=False)

    def write_starter(self, place: Path, *, model: str = "max") -> Path:
        """Write a program that starts this Python without binfmt_misc; `model` is qemu's name of the CPU."""
        words = shlex.join(str(word) for word in emulate(self.root, self.program, model=model))
        place.write_text(f'#!/bin/sh\nexec {words} "$@"\n')
        place.chmod(0o755)
        return place

    def make_environment(self, place: Path, *requirements: str) -> Path:
        """Create a virtual environment for aarch64 with distributions of the index, and return its interpreter."""
        done = self.run("-m", "venv", "--without-pip", place)
        assert done.returncode == 0, done.stderr
        install_for_arm(place / "lib" / f"python{VERSION}" / "site-packages", "--no-deps", *requirements)
        return place / "bin" / "python"


def arm_python(cache: Path) -> ArmPython:
    """Return a Python for aarch64 with fastinstall's dependencies, or skip the test if it cannot be provided."""
    root = arm_root(cache, SUITE, PACKAGES)
    try:
        place = cache / "testbed" / f"arm-libraries-{key_of(LOCKED)}"
        libraries = made_once(place, _install_locked)
    except subprocess.CalledProcessError as error:
        require_system(None, f"a package index with wheels for aarch64 ({error.stderr[-300:]})")
        raise
    python = ArmPython(root=root, libraries=libraries)
    done = python.run("-c", "import subprocess, sys; subprocess.run([sys.executable, '-c', ''], check=True)")
    require_system(done.returncode == 0, f"a user namespace with binfmt_misc ({done.stderr.strip()[-300:]})")
    return python


def _install_locked(directory: Path) -> None:
    """Install the locked dependencies except those with `platform_machine`, which pip evaluates for this machine."""
    locked = re.split(r"\n(?=\w)", LOCKED.read_text(encoding="utf-8"))
    kept = directory.with_name(f"{directory.name}.txt")
    kept.write_text("\n".join(each for each in locked if "platform_machine" not in each), encoding="utf-8")
    install_for_arm(directory, "-r", kept)


def install_for_arm(directory: Path, *what: str | Path) -> None:
    """Install wheels for aarch64 into a directory."""
    platforms = (f"manylinux_2_{minor}_{AARCH64.machine}" for minor in (28, 17))
    pip = (sys.executable, "-m", "pip", "install", "-q", "--target", directory, "--upgrade")
    words = (word for platform in platforms for word in ("--platform", platform))
    told = (*words, "--python-version", VERSION, "--implementation", "cp", "--only-binary", ":all:")
    subprocess.run((*pip, *told, *what), capture_output=True, text=True, timeout=900, check=True)


if __name__ == "__main__":
    sys.stdout.write(f"{arm_python(Path(os.environ['FASTINSTALL_TEST_CACHE'])).program}\n")
