"""A part of the suite on unusual machines: the runs that `sh bootstrap.sh test --elsewhere` adds.

1. A root directory with a minimal Debian: its own Python, an empty HOME, no compiler, no headers, no git.
2. An ordinary user, with the newest supported Python of Debian's unstable packages.

Tests that need more are skipped there.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from run_unstable_python import NoUnstablePythonError, unpack_unstable_python
from support.index.settings import settings_of_person, shared_settings
from support.machine.debian_mirror import NoMirrorError, find_debian_mirror
from support.suite.run_counts import VARIABLE

from fastinstall.core.errors import FastinstallError
from fastinstall.observe.toolchain import find_package_manager
from fastinstall.wheelbuild.system_packages import install_packages, may_install

ROOT = Path(__file__).resolve().parents[1]
SYSTEM_PYTHON = Path("/usr/bin/python3")
SUITE = "trixie"
_INCLUDED = ("python3", "python3-venv", "ca-certificates")
_SIDE_BY_SIDE = ("--numprocesses", "3", "--dist", "loadfile", "--no-loadscope-reorder")
_BY_USER = ("tests/unit", "tests/integration/test_lazy_imports.py")
_USER = 65534
"""User id of an ordinary user who owns no files: "nobody" on Debian."""
_IN_DEBIAN = (
    *("tests/unit", "tests/repository"),
    *("tests/integration/test_binary_loader.py", "tests/integration/test_guard_trees.py"),
    *("tests/integration/test_archives.py", "tests/integration/test_levels_loaded.py"),
    *("tests/integration/test_libraries_real.py", "tests/integration/test_power_loss_setup.py"),
    *("tests/integration/test_interpreter_real.py", "tests/integration/test_history_verbs.py"),
    *("tests/integration/test_history_recovery.py", "tests/integration/test_output_directory.py"),
    *("tests/integration/test_journal_lock.py", "tests/integration/test_shared_memory.py"),
)
_PREFIXES = ("PIP_", "UV_", "SSL_", "REQUESTS_", "CURL_")
_ENDS = ("_proxy", "_PROXY")
_AS_IN_APT = ("Proxy", "CaInfo", "Verify", "Check-Valid")
_OLDEST = "import sys; sys.exit(sys.version_info < (3, 11))"
_IN_NAMESPACE = """
mount -t proc proc "$1/proc"
mount -t sysfs -o ro sysfs "$1/sys"
mount --rbind /dev "$1/dev"
exec chroot "$@"
"""
"""All mounts end with the namespace, even after a kill. As in many a chroot, `/` is no mount point inside."""


@dataclass(frozen=True, kw_only=True)
class Elsewhere:
    """Values that the runs share.

    Attributes:
        space: an empty directory.
        variables: environment variables of the suite's run.
    """

    space: Path
    variables: Mapping[str, str]

    @property
    def counts(self) -> tuple[Path, Path]:
        """The directories to which the runs write how many tests passed, failed and were skipped."""
        return self.space / "root" / "counts", self.space / "user" / "counts"


class NotHereError(Exception):
    """This machine cannot imitate another one; the message gives the reason."""


def in_bare_debian(here: Elsewhere) -> int:
    """Run a part of the suite in a new minimal Debian, and return the exit code."""
    root = here.space / "root"
    try:
        _make_debian(root, here.variables)
    except (NotHereError, NoMirrorError, FastinstallError, subprocess.CalledProcessError) as error:
        return _left_out(f"no minimal Debian: {error}", is_owed=bool(here.variables.get("CI")) and _is_debian_root())
    variables = {
        **{name: value for name, value in _network(here.variables).items() if _is_there(value, root)},
        "HOME": "/empty",
        "PATH": "/usr/bin:/bin",
        VARIABLE: "/counts",
    }
    inside = ("/usr/bin/env", "-i", *(f"{name}={value}" for name, value in variables.items()))
    suite = ("sh", "/checkout/bootstrap.sh", "test", *_SIDE_BY_SIDE, *_IN_DEBIAN, "--basetemp=/tmp/b")
    chroot = ("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec", _IN_NAMESPACE, "sh", root)
    return subprocess.run((*chroot, *inside, *suite), check=False).returncode


def by_ordinary_user(here: Elsewhere) -> int:
    """Run the unit tests, and tests that need CPython 3.15, as an ordinary user, and return the exit code.

    The user has the newest Python of Debian's unstable packages, or else the system's Python.
    """
    if not may_install() or shutil.which("setpriv") is None:
        return _left_out("only root with setpriv can run something as another user")
    home = here.space / "user"
    home.mkdir()
    python = _find_python_of_user(home / "python")
    if python is None:
        return _left_out(f"there is no Python for an ordinary user: {SYSTEM_PYTHON} is none from 3.11 on")
    _copy_checkout(home / "checkout")
    here.counts[1].mkdir()
    variables = {
        **_network(here.variables),
        **shared_settings(home / "xdg", *settings_of_person()),
        "HOME": str(home),
        "PATH": "/usr/bin:/bin",
        "FASTINSTALL_BOOTSTRAP_PYTHON": str(python),
        VARIABLE: str(here.counts[1]),
    }
    subprocess.run(("chown", "--recursive", f"{_USER}:{_USER}", home), check=True)
    for directory in (here.space, here.space.parent):  # root's temporary directories are closed to other users
        directory.chmod(0o711)
    user = ("setpriv", f"--reuid={_USER}", f"--regid={_USER}", "--clear-groups")
    suite = ("sh", home / "checkout/bootstrap.sh", "test", *_SIDE_BY_SIDE, *_BY_USER, f"--basetemp={home / 't'}")
    return subprocess.run((*user, *suite), cwd=home, env=variables, check=False).returncode


def _find_python_of_user(directory: Path) -> Path | None:
    try:
        return unpack_unstable_python(directory)
    except (NoUnstablePythonError, NoMirrorError, subprocess.CalledProcessError, OSError) as error:
        _left_out(f"no Python of Debian unstable, so {SYSTEM_PYTHON} is taken: {error}")
    return SYSTEM_PYTHON if _is_recent(SYSTEM_PYTHON) else None


def _is_recent(python: Path) -> bool:
    return python.exists() and subprocess.run((python, "-c", _OLDEST), check=False).returncode == 0


def _make_debian(root: Path, variables: Mapping[str, str]) -> None:
    if not _is_debian_root():
        raise NotHereError("it takes root on Debian")
    if shutil.which("debootstrap") is None:
        install_packages("apt", ("debootstrap",), os.environ, lambda _event: None)
    mirror = find_debian_mirror()
    words = ("debootstrap", "--variant=minbase", f"--include={','.join(_INCLUDED)}", SUITE, root, mirror)
    with (root.parent / "debootstrap.log").open("w+", encoding="utf-8") as log:
        made = subprocess.run(
            ("unshare", "--mount", *words), env=variables, stdout=log, stderr=subprocess.STDOUT, check=False
        )
        log.seek(0)
        if made.returncode != 0:
            raise NotHereError(f"debootstrap {SUITE} from {mirror}: {' / '.join(log.read().splitlines()[-3:])}")
    _furnish(root)


def _furnish(root: Path) -> None:
    """Copy the checkout, and this machine's network settings, into the root directory."""
    _copy_checkout(root / "checkout")
    for path in ("etc/resolv.conf", "etc/hosts", "etc/ssl/certs/ca-certificates.crt"):
        if Path("/", path).is_file():
            shutil.copyfile(Path("/", path), root / path)
    shared_settings(root / "etc" / "xdg", *settings_of_person())
    said = subprocess.run(("apt-config", "dump"), capture_output=True, text=True, check=True).stdout.splitlines()
    kept = [line for line in said if line.startswith("Acquire::") and any(word in line for word in _AS_IN_APT)]
    (root / "etc/apt/apt.conf.d/99host").write_text("\n".join([*kept, ""]), encoding="utf-8")
    for name in ("empty", "counts"):
        (root / name).mkdir()


def _copy_checkout(place: Path) -> None:
    caches = shutil.ignore_patterns("__pycache__", ".*_cache", "*.egg-info")
    shutil.copytree(ROOT, place, symlinks=True, ignore=caches)


def _is_debian_root() -> bool:
    system = Path("/etc/os-release")
    lines = system.read_text(encoding="utf-8").splitlines() if system.is_file() else []
    return may_install() and find_package_manager(os.environ) == "apt" and "ID=debian" in lines


def _network(variables: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that configure network access."""
    return {name: value for name, value in variables.items() if name.startswith(_PREFIXES) or name.endswith(_ENDS)}


def _is_there(value: str, root: Path) -> bool:
    """Return False if a variable's value is an absolute path that is missing below `root`, else True."""
    return not value.startswith("/") or root.joinpath(value.lstrip("/")).exists()


def _left_out(reason: str, *, is_owed: bool = False) -> int:
    print(f"{'error' if is_owed else 'left out'}: {reason}", flush=True)  # noqa: T201 (part of the test run)
    return int(is_owed)
